// Gotest runs go test and shows its summary lines and the output of what failed. It
// ends with a line that counts every test and subtest, and fails if one failed or was
// skipped: what a machine cannot test must not look tested.
//
//	go run ./scripts/gotest [flags and packages of go test]
package main

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strings"
)

// event is what go test -json prints: see go doc test2json.
type event struct {
	Action  string
	Package string
	Test    string
	Output  string
}

func main() {
	cmd := exec.Command("go", append([]string{"test", "-json"}, os.Args[1:]...)...)
	cmd.Stderr = os.Stderr
	out, err := cmd.StdoutPipe()
	if err == nil {
		err = cmd.Start()
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "gotest:", err)
		os.Exit(1)
	}
	t := tally{out: os.Stdout, output: make(map[string][]string)}
	readErr := t.read(out)
	err = cmd.Wait()
	fmt.Printf("%d passed, %d failed, %d skipped\n", t.passed, t.failed, t.skipped)
	for _, e := range []error{readErr, err} {
		if e != nil {
			fmt.Fprintln(os.Stderr, "gotest: go test:", e)
		}
	}
	if readErr != nil || err != nil || t.failed+t.skipped > 0 {
		os.Exit(1)
	}
}

// tally counts tests, and keeps the output of each until its end is known.
type tally struct {
	out                     io.Writer
	output                  map[string][]string
	passed, failed, skipped int
}

func (t *tally) read(r io.Reader) error {
	lines := bufio.NewScanner(r)
	lines.Buffer(nil, 16<<20)
	for lines.Scan() {
		var e event
		if err := json.Unmarshal(lines.Bytes(), &e); err != nil {
			// Not from go test's machinery, so for people.
			fmt.Fprintln(t.out, lines.Text())
			continue
		}
		t.event(e)
	}
	return lines.Err()
}

func (t *tally) event(e event) {
	key := e.Package + " " + e.Test
	switch e.Action {
	case "output", "build-output":
		if e.Test != "" {
			t.output[key] = append(t.output[key], e.Output)
		} else if e.Output != "PASS\n" && !strings.HasPrefix(e.Output, "coverage:") {
			fmt.Fprint(t.out, e.Output)
		}
		return
	case "pass":
		t.passed += count(e)
	case "fail":
		// A package fails without a failing test if it does not build or panics.
		t.failed += count(e)
		t.show(key)
	case "skip":
		t.skipped += count(e)
		t.show(key)
	default:
		return
	}
	delete(t.output, key)
}

func (t *tally) show(key string) {
	for _, line := range t.output[key] {
		fmt.Fprint(t.out, line)
	}
}

func count(e event) int {
	if e.Test == "" {
		return 0
	}
	return 1
}
