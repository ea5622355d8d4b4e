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

// fortyEnv makes the test's own program what test/fortypaths.c is, in Go; it has the arguments.
const fortyEnv = "LIBSPMI_TEST_FORTY"

func TestMain(m *testing.M) {
	if args := os.Getenv(fortyEnv); args != "" {
		fortyPaths(args)
		return
	}
	if os.Getenv(casesEnv) != "" {
		obeyCases()
		return
	}
	os.Exit(m.Run())
}

func fortyPaths(args string) {
	var s *spmi.Supplier
	var order string
	var first, last int
	if _, err := fmt.Sscan(args, &order, &first, &last); err != nil {
		fmt.Println(err)
		return
	}
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
		for i := first; i <= last; i++ {
			i := i
			if order == "down" {
				i = first + last - i
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

// fortyPrograms returns what starts the program in C and in Go with arguments.
func fortyPrograms(t *testing.T) (inC, inGo func(args string) *exec.Cmd) {
	t.Helper()
	lib := t.TempDir()
	run(t, "make", "-s", "BUILD="+lib, "CC=gcc", "all")
	program := filepath.Join(lib, "fortypaths")
	run(t, "gcc", "-Wall", "-Wextra", "-Werror", "-Iinclude", "-o", program, "test/fortypaths.c", filepath.Join(lib, "libSpmi.a"), "-pthread")
	return func(args string) *exec.Cmd { return exec.Command(program, strings.Fields(args)...) },
		func(args string) *exec.Cmd {
			c := exec.Command("/proc/self/exe")
			c.Env = []string{fortyEnv + "=" + args}
			return c
		}
}

// claimsDir makes a directory of segments.
func claimsDir(t *testing.T) string {
	t.Helper()
	dir := t.TempDir()
	if err := os.Mkdir(filepath.Join(dir, layout.ClaimsDir), 0o777); err != nil {
		t.Fatal(err)
	}
	return dir
}

// heldForAMoment: a supplier is refused only because of a path that another one keeps, not
// because of one that another program of its user locks for a moment, since that does not get
// all that it wants. One program wants forty paths, two others want half of them each: either
// the first gets its paths, or both of the others theirs.
func heldForAMoment(t *testing.T, inC, inGo func(args string) *exec.Cmd) {
	for name, three := range map[string][3]*exec.Cmd{
		"C among Go": {inC("up 0 39"), inGo("down 0 19"), inGo("up 20 39")},
		"Go among C": {inGo("up 0 39"), inC("down 0 19"), inC("up 20 39")},
		"mixed":      {inC("up 0 39"), inGo("down 0 19"), inC("up 20 39")},
	} {
		t.Run(name, func(t *testing.T) {
			dir := claimsDir(t)
			var rivals []*rival
			for _, c := range three {
				rivals = append(rivals, startRival(t, dir, c))
			}
			for round := range 300 {
				for i := range rivals { // another one is first each time
					rivals[(round+i)%3].tell()
				}
				var got []string
				for _, r := range rivals {
					got = append(got, r.hear())
				}
				if s := strings.Join(got, " "); s != "0 193 193" && s != "193 0 0" {
					t.Fatalf("round %d: %s", round, s)
				}
				for _, r := range rivals {
					r.tell()
				}
				for _, r := range rivals {
					r.hear()
				}
			}
		})
	}
}

// TestFortyPaths: of two suppliers of one user that claim forty paths in opposite order at the
// same moment one gets them all, each time, whatever languages they are written in.
func TestFortyPaths(t *testing.T) {
	inC, inGo := fortyPrograms(t)
	t.Run("held for a moment", func(t *testing.T) { heldForAMoment(t, inC, inGo) })
	for name, pair := range map[string][2]*exec.Cmd{
		"C and Go": {inC("up 0 39"), inGo("down 0 39")}, "Go and C": {inGo("up 0 39"), inC("down 0 39")},
		"Go and Go": {inGo("up 0 39"), inGo("down 0 39")}, "C and C": {inC("up 0 39"), inC("down 0 39")},
	} {
		t.Run(name, func(t *testing.T) {
			dir := claimsDir(t)
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
