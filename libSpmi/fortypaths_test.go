package libspmi_test

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/pcp-rtime/rtime/internal/ddsseg/layout"
	"github.com/pcp-rtime/rtime/spmi"
)

// fortyEnv makes the test's own program what test/fortypaths.c is, in Go; it has the order.
const fortyEnv = "LIBSPMI_TEST_FORTY"

func TestMain(m *testing.M) {
	if order := os.Getenv(fortyEnv); order != "" {
		fortyPaths(order)
		return
	}
	if os.Getenv(casesEnv) != "" {
		obeyCases()
		return
	}
	os.Exit(m.Run())
}

func fortyPaths(order string) {
	var s *spmi.Supplier
	on := false
	for in := bufio.NewScanner(os.Stdin); in.Scan(); on = !on {
		if on {
			if s != nil {
				s.Close()
			}
			fmt.Println("off")
			continue
		}
		cx := []*spmi.Context{{Path: "DDS/V"}}
		for i := range 40 {
			if order == "down" {
				i = 39 - i
			}
			cx = append(cx, &spmi.Context{Path: fmt.Sprintf("DDS/V/p%d", i)})
		}
		var err error
		s, err = spmi.Open(spmi.Options{}, cx...)
		var code *spmi.Error
		switch {
		case err == nil && s.Err() == nil:
			fmt.Println(0)
		case errors.As(err, &code):
			fmt.Println(int(code.Code))
		default:
			fmt.Println("neither published nor refused:", err)
		}
	}
}

// rival is one of the processes that want the same forty paths.
type rival struct {
	t   *testing.T
	in  io.Writer
	out *bufio.Scanner
}

func startRival(t *testing.T, dir string, c *exec.Cmd) *rival {
	t.Helper()
	c.Env = append(os.Environ(), append(c.Env, layout.DirEnv+"="+dir)...)
	c.Stderr = os.Stderr
	in, err := c.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	out, err := c.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := c.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		in.Close()
		c.Wait()
	})
	return &rival{t, in, bufio.NewScanner(out)}
}

func (r *rival) tell() {
	if _, err := io.WriteString(r.in, "\n"); err != nil {
		r.t.Fatal(err)
	}
}

func (r *rival) hear() string {
	if !r.out.Scan() {
		r.t.Fatal("a rival is gone")
	}
	return r.out.Text()
}

// TestFortyPaths: of two suppliers of one user that claim forty paths in opposite order at the
// same moment one gets them all, each time, whatever languages they are written in.
func TestFortyPaths(t *testing.T) {
	lib := t.TempDir()
	run(t, "make", "-s", "BUILD="+lib, "CC=gcc", "all")
	program := filepath.Join(lib, "fortypaths")
	run(t, "gcc", "-Wall", "-Wextra", "-Werror", "-Iinclude", "-o", program, "test/fortypaths.c", filepath.Join(lib, "libSpmi.a"), "-pthread")
	inC := func(order string) *exec.Cmd { return exec.Command(program, order) }
	inGo := func(order string) *exec.Cmd {
		c := exec.Command("/proc/self/exe")
		c.Env = []string{fortyEnv + "=" + order}
		return c
	}
	for name, pair := range map[string][2]*exec.Cmd{
		"C and Go": {inC("up"), inGo("down")}, "Go and C": {inGo("up"), inC("down")},
		"Go and Go": {inGo("up"), inGo("down")}, "C and C": {inC("up"), inC("down")},
	} {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			if err := os.Mkdir(filepath.Join(dir, layout.ClaimsDir), 0o777); err != nil {
				t.Fatal(err)
			}
			a, b := startRival(t, dir, pair[0]), startRival(t, dir, pair[1])
			for round := range 300 {
				a.tell()
				b.tell()
				got := []string{a.hear(), b.hear()}
				if s := strings.Join(got, " "); s != "0 193" && s != "193 0" {
					t.Fatalf("round %d: %s", round, s)
				}
				a.tell()
				b.tell()
				a.hear()
				b.hear()
			}
		})
	}
}
