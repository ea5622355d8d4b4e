package main

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/pcp-rtime/rtime/arm"
	"github.com/pcp-rtime/rtime/internal/armseg/layout"
	"github.com/pcp-rtime/rtime/internal/armseg/reader"
	"github.com/pcp-rtime/rtime/test/pcptest"
)

func TestMain(m *testing.M) { os.Exit(pcptest.Main(m)) }

// TestPeek asks a real pmcd. Its questions have been measured.
func TestPeek(t *testing.T) {
	p := pcptest.Start(t, pcptest.Options{})
	t.Setenv("PMCD_PORT", strconv.Itoa(p.Port()))
	dir := t.TempDir()
	app := arm.NewApplication("armpeek", arm.Dir(dir))
	t.Cleanup(func() { app.Close() })
	if err := app.Err(); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		host string
		q    question
		want string
	}{
		{"", plain, "pmcd of localhost answers"}, {"127.0.0.1", dashL, "pmcd"}, {"127.0.0.1", dashA, "pmcd.numagents"},
	} {
		var out bytes.Buffer
		if err := peek(app, c.host, c.q, &out); err != nil {
			t.Error(err)
		}
		if lines := strings.Split(out.String(), "\n"); !slices.Contains(lines, c.want) {
			t.Errorf("%s%s: no %q in %q", c.host, c.q.flag, c.want, lines)
		}
	}
	t.Setenv("PMCD_PORT", strconv.Itoa(pcptest.FreePort(t)))
	if err := peek(app, "localhost", dashL, new(bytes.Buffer)); err == nil {
		t.Error("nobody is there, and answers")
	}
	want := []string{"localhost: 1 good", "127.0.0.1-l: 1 good", "127.0.0.1-a: 1 good", "localhost-l: 1 aborted"}
	if got := measured(t, dir); !slices.Equal(got, want) {
		t.Errorf("%q, want %q", got, want)
	}
}

// measured returns what was counted, in the order of the transactions' numbers.
func measured(t *testing.T, dir string) []string {
	t.Helper()
	uid := uint32(os.Geteuid())
	n, err := reader.OpenNames(filepath.Join(dir, fmt.Sprint(uid)+layout.NamesSuffix), uid)
	if err != nil {
		t.Fatal(err)
	}
	defer n.Close()
	paths, err := filepath.Glob(filepath.Join(dir, "*"+layout.ProcSuffix))
	if err != nil || len(paths) != 1 {
		t.Fatal(paths, err)
	}
	r, err := reader.OpenProc(paths[0], uid, reader.Limits{Bytes: 1 << 30, Cells: 1 << 10})
	if err != nil {
		t.Fatal(err)
	}
	counts := map[uint32]string{}
	if err := r.Changed(true, 0, func(d *reader.CellDelta) {
		for status, n := range map[string]uint64{"good": d.Count, "aborted": d.Aborted, "failed": d.Failed} {
			if n > 0 {
				counts[d.Tran] += fmt.Sprintf(": %d %s", n, status)
			}
		}
	}); err != nil {
		t.Fatal(err)
	}
	var all []string
	err = n.Update(func(uint32, *reader.App) {}, func(id uint32, i *reader.Tran) { all = append(all, i.Key+counts[id]) })
	if err != nil {
		t.Fatal(err)
	}
	return all
}
