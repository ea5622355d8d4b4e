//go:build linux

package arm_test

import (
	"fmt"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/pcp-rtime/rtime/arm"
	"github.com/pcp-rtime/rtime/internal/armseg/layout"
	"github.com/pcp-rtime/rtime/internal/armseg/reader"
)

// TestShared: programs in Go and in C that give the same names get the same numbers,
// whichever comes first. Each can be the parent of the other's transactions.
func TestShared(t *testing.T) {
	for _, cc := range []string{"gcc", "gcc -m32"} {
		program := shareC(t, cc)
		for _, goFirst := range []bool{true, false} {
			dir := t.TempDir()
			var app *arm.Application
			inGo := func() string {
				app = open(t, dir, "SharedApplication", arm.User("*"))
				for _, name := range []string{"Go first", "shared", "C first"} {
					if !app.Transaction(name).Start(ctx).Stop(arm.Good) {
						t.Error("not measured")
					}
				}
				inside, _ := app.Transaction("shared").StartContext(ctx)
				return arm.CorrelatorFromContext(inside).String()
			}
			inC := func(parent string) []string {
				cmd := exec.Command(program, parent, traceparent)
				cmd.Env = append(os.Environ(), layout.DirEnv+"="+dir)
				out, err := cmd.CombinedOutput()
				if err != nil {
					t.Fatalf("%v: %s", err, out)
				}
				return strings.Split(strings.TrimSpace(string(out)), "\n")
			}
			want, said := []string{"1 1 0", "1 2 0", "1 3 0"}, []string(nil)
			if goFirst {
				slices.Reverse(want)
				said = inC(inGo())
			} else {
				said = inC("")
				inGo()
			}
			c, err := arm.CorrelatorFromTraceparent(traceparent)
			if want = append(want, c.String()); err != nil || !slices.Equal(said, want) {
				t.Errorf("%s, Go first %v: %q, want %q", cc, goFirst, said, want)
			}
			for id := range uint32(3) {
				if got := read(t, dir, id+1); got.good != 2 {
					t.Errorf("%s, Go first %v: transaction %d: %+v", cc, goFirst, id+1, got)
				}
			}
			if pairs := pairsIn(t, dir); goFirst && !maps.Equal(pairs, map[string]uint64{"2 > 1": 1, "2 > 2": 1, "2 > 3": 1}) {
				t.Errorf("%s: pairs %v", cc, pairs)
			}
		}
	}
}

// shareC builds the program in testdata with a libarm of its own.
func shareC(t *testing.T, cc string) string {
	t.Helper()
	build := t.TempDir()
	run := func(dir, name string, args ...string) {
		t.Helper()
		cmd := exec.Command(name, args...)
		cmd.Dir = dir
		if out, err := cmd.CombinedOutput(); err != nil {
			t.Fatalf("%s %q: %v\n%s", name, args, err, out)
		}
	}
	run("../libarm", "make", "-s", "-j4", "BUILD="+build, "CC="+cc, "CFLAGS=-O0", build+"/libarm.a")
	program := filepath.Join(build, "share")
	args := append(strings.Fields(cc), "-o", program, "testdata/share.c", "-I../libarm/include", build+"/libarm.a", "-pthread")
	run(".", args[0], args[1:]...)
	return program
}

// pairsIn counts good children by the numbers of parent and child.
func pairsIn(t *testing.T, dir string) map[string]uint64 {
	t.Helper()
	all := map[string]uint64{}
	for _, path := range procFiles(t, dir) {
		r, err := reader.OpenProc(path, uint32(os.Geteuid()), reader.Limits{Bytes: 1 << 30, Cells: 1 << 10})
		if err != nil {
			t.Fatal(err)
		}
		err = r.Pairs(func(_ int, k *reader.PairKey, a reader.PairTotals) {
			all[fmt.Sprint(k.Class, " > ", k.Tran)] += a.Count
		})
		if err != nil {
			t.Fatal(err)
		}
		r.Close()
	}
	return all
}
