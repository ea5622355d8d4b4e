package libspmi_test

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/pcp-rtime/rtime/spmi"
)

// casesEnv makes the test's own program what test/cases.c is, in Go.
const casesEnv = "LIBSPMI_TEST_CASES"

// caseOf is a case of test/cases.txt: its lines, and where they stand.
type caseOf struct {
	name  string
	lines []string
	first int // the number of the first line
}

func cases(t *testing.T) []*caseOf {
	b, err := os.ReadFile("test/cases.txt")
	if err != nil {
		t.Fatal(err)
	}
	var all []*caseOf
	for i, line := range strings.Split(string(b), "\n") {
		if name, ok := strings.CutPrefix(line, "case "); ok {
			all = append(all, &caseOf{name: name, first: i + 2})
			continue
		}
		if len(all) > 0 {
			last := all[len(all)-1]
			last.lines = append(last.lines, line)
		}
	}
	return all
}

// TestCases: libSpmi and package spmi give the same answers, alone and to each other.
func TestCases(t *testing.T) {
	dir := t.TempDir()
	run(t, "make", "-s", "BUILD="+dir, "CC=gcc", "all")
	program := filepath.Join(dir, "cases")
	run(t, "gcc", "-std=gnu11", "-D_GNU_SOURCE", "-Wall", "-Wextra", "-Werror", "-Iinclude", "-o", program,
		"test/cases.c", filepath.Join(dir, "libSpmi.a"), "-pthread")
	all := cases(t)
	for _, languages := range [][]string{{"c", "c"}, {"go", "go"}, {"c", "go"}, {"go", "c"}} {
		t.Run(strings.Join(languages, " and "), func(t *testing.T) {
			for _, c := range all {
				t.Run(c.name, func(t *testing.T) { c.run(t, program, languages) })
			}
		})
	}
}

func (c *caseOf) run(t *testing.T, program string, languages []string) {
	dir := segments(t)
	programs := make([]*rival, len(languages))
	asked := 0
	for i, line := range c.lines {
		line, _, _ = strings.Cut(line, "#")
		line, n := strings.TrimSpace(line), 0
		if rest, ok := strings.CutPrefix(line, "2 "); ok {
			line, n = rest, 1
		}
		if language, rest, _ := strings.Cut(line, " "); language == "c" || language == "go" {
			if language != languages[n] {
				continue
			}
			line = rest
		}
		if line == "" {
			continue
		}
		if programs[n] == nil {
			command := exec.Command(program, filepath.Join(dir, "hook"+strconv.Itoa(n)))
			if languages[n] == "go" {
				command = exec.Command("/proc/self/exe")
				command.Env = []string{casesEnv + "=1"}
			}
			programs[n] = startRival(t, dir, command)
		}
		line, want, answered := strings.Cut(line, " = ")
		if _, err := io.WriteString(programs[n].in, line+"\n"); err != nil {
			t.Fatal(err)
		}
		if !answered {
			continue
		}
		asked++
		if got := programs[n].hear(); got != want {
			t.Errorf("test/cases.txt:%d: %s in %s: %s, want %s", c.first+i, line, languages[n], got, want)
		}
	}
	if asked == 0 {
		t.Error("nothing was asked")
	}
}

// goCases is the program.
type goCases struct {
	s        *spmi.Supplier
	fixed    []*spmi.Context
	volatile []*spmi.Context
	added    map[string]*spmi.Context
}

func obeyCases() {
	g := goCases{added: map[string]*spmi.Context{}}
	for in := bufio.NewScanner(os.Stdin); in.Scan(); {
		words := strings.Fields(in.Text())
		for i, w := range words {
			if w == `""` {
				words[i] = ""
			}
		}
		switch words[0] {
		case "fixed":
			g.fixed = append(g.fixed, declared(words[1], words[2], words[3:]))
		case "kind":
			g.volatile = append(g.volatile, declared("DDS/V/kind", "0", words[1:]))
		default:
			fmt.Println(code(g.obey(words)))
		}
	}
}

func declared(path, asn string, stats []string) *spmi.Context {
	c := &spmi.Context{Path: path, ASN: number(asn)}
	for _, s := range stats {
		name, n, _ := strings.Cut(s, ":")
		c.Stats = append(c.Stats, spmi.Stat{Name: name, ASN: number("0" + n), To: new(spmi.Quantity)})
	}
	return c
}

func number(s string) uint32 {
	n, err := strconv.ParseUint(s, 10, 32)
	if err != nil {
		panic(err)
	}
	return uint32(n)
}

func (g *goCases) obey(words []string) error {
	switch words[0] {
	case "open":
		s, err := spmi.Open(spmi.Options{Volatile: g.volatile}, g.fixed...)
		if err != nil {
			return err
		}
		g.s = s
		return s.Err()
	case "add":
		stats := []string{"undeclared"}
		if kind := int(number(words[1])); kind < len(g.volatile) {
			stats = nil
			for _, s := range g.volatile[kind].Stats {
				stats = append(stats, s.Name)
			}
		}
		c := declared(words[2], words[3], stats)
		err := g.s.Add(c)
		if err == nil {
			g.added[words[2]] = c
		}
		return err
	case "del":
		return g.s.Remove(g.added[words[1]])
	case "exit":
		return g.s.Close()
	}
	return fmt.Errorf("what is %q?", words)
}

func code(err error) string {
	var e *spmi.Error
	switch {
	case err == nil:
		return "0"
	case errors.As(err, &e):
		return strconv.Itoa(int(e.Code))
	}
	return err.Error()
}
