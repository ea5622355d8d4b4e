// Gotest runs go test and shows its summary lines and the output of what failed. It
// ends with a line for each test that failed, which begins with FAILED, and with a line
// that counts every test and subtest. It fails if a test failed or was skipped, because
// what a machine cannot test must not look tested, and if there was no test at all.
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
	"slices"
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
	for _, name := range t.bad {
		fmt.Println("FAILED", name)
	}
	for _, name := range t.left {
		fmt.Println("FAILED", name, "(skipped)")
	}
	fmt.Printf("%d passed, %d failed, %d skipped\n", t.passed, t.failed, t.skipped)
	for _, e := range []error{readErr, err} {
		if e != nil {
			fmt.Fprintln(os.Stderr, "gotest: go test:", e)
		}
	}
	if t.passed == 0 {
		fmt.Fprintln(os.Stderr, "gotest: no test passed")
	}
	if readErr != nil || err != nil || t.failed+t.skipped > 0 || t.passed == 0 {
		os.Exit(1)
	}
}

// tally counts tests, and keeps the output of each until its end is known.
type tally struct {
	out                     io.Writer
	output                  map[string][]string
	bad                     []string // packages and tests that failed, without those above them
	left                    []string // tests that were skipped
	passed, failed, skipped int
}

func (t *tally) read(r io.Reader) error {
	lines := bufio.NewScanner(r)
	lines.Buffer(nil, 16<<20)
	for lines.Scan() {
		var e event
		if err := json.Unmarshal(lines.Bytes(), &e); err != nil {
			// The line does not come from go test itself, so it is for people.
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
		if e.Test != "" {
			t.passed++
		}
	case "fail":
		// The last event of a package is that of the package itself.
		if e.Test != "" || !t.within(e) {
			t.failed++
		}
		if !t.within(e) {
			t.bad = append(t.bad, name(e))
		}
		t.show(key)
	case "skip":
		if e.Test != "" {
			t.skipped++
			t.left = append(t.left, name(e))
		}
		t.show(key)
	default:
		return
	}
	delete(t.output, key)
}

// within reports whether something that failed is a part of what e is about. A package
// without such a part could not be built, or ended outside of its tests.
func (t *tally) within(e event) bool {
	prefix := e.Package + " "
	if e.Test != "" {
		prefix += e.Test + "/"
	}
	return slices.ContainsFunc(t.bad, func(s string) bool { return strings.HasPrefix(s, prefix) })
}

func name(e event) string { return strings.TrimSpace(e.Package + " " + e.Test) }

func (t *tally) show(key string) {
	for _, line := range t.output[key] {
		fmt.Fprint(t.out, line)
	}
}
