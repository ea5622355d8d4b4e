//go:build linux

package armhttp_test

import (
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"github.com/pcp-rtime/rtime/arm"
	"github.com/pcp-rtime/rtime/internal/armseg/layout"
	"github.com/pcp-rtime/rtime/internal/armseg/reader"
)

// measured is an application and what is read of it.
type measured struct {
	t   *testing.T
	dir string
	app *arm.Application
}

func measure(t *testing.T) *measured {
	t.Helper()
	dir := t.TempDir()
	app := arm.NewApplication("web", arm.Dir(dir))
	t.Cleanup(func() { app.Close() })
	if err := app.Err(); err != nil {
		t.Fatal(err)
	}
	return &measured{t, dir, app}
}

func (m *measured) names() map[uint32]reader.Tran {
	m.t.Helper()
	n, err := reader.OpenNames(filepath.Join(m.dir, fmt.Sprint(os.Geteuid(), layout.NamesSuffix)), uint32(os.Geteuid()))
	if err != nil {
		m.t.Fatal(err)
	}
	defer n.Close()
	trans := map[uint32]reader.Tran{}
	if err := n.Update(func(uint32, *reader.App) {}, func(id uint32, i *reader.Tran) { trans[id] = *i }); err != nil {
		m.t.Fatal(err)
	}
	return trans
}

// counts returns the good, failed and aborted ones by the transactions' keys.
func (m *measured) counts() map[string][3]uint64 {
	m.t.Helper()
	names, all := m.names(), map[string][3]uint64{}
	m.proc(func(p *reader.Proc) {
		err := p.Changed(true, 0, func(d *reader.CellDelta) {
			key := names[d.Tran].Key
			was := all[key]
			all[key] = [3]uint64{was[0] + d.Count, was[1] + d.Failed, was[2] + d.Aborted}
		})
		if err != nil {
			m.t.Fatal(err)
		}
	})
	return all
}

// pairs returns how many good children each pair has, by the keys of both.
func (m *measured) pairs() map[string]uint64 {
	m.t.Helper()
	names, all := m.names(), map[string]uint64{}
	m.proc(func(p *reader.Proc) {
		err := p.Pairs(func(_ int, k *reader.PairKey, a reader.PairTotals) {
			all[names[k.Class].Key+" > "+names[k.Tran].Key] += a.Count
		})
		if err != nil {
			m.t.Fatal(err)
		}
	})
	return all
}

// proc reads the file of this process. It is left open: closing it would drop the lock
// that says that the process lives.
func (m *measured) proc(f func(*reader.Proc)) {
	m.t.Helper()
	paths, err := filepath.Glob(filepath.Join(m.dir, "*"+layout.ProcSuffix))
	if err != nil || len(paths) != 1 {
		m.t.Fatal(paths, err)
	}
	p, err := reader.OpenProc(paths[0], uint32(os.Geteuid()), reader.Limits{Bytes: 1 << 30, Cells: 1 << 16})
	if err != nil {
		m.t.Fatal(err)
	}
	f(p)
}
