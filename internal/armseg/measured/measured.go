// Package measured lets tests read what they and the processes that they started have
// counted.
package measured

import (
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"testing"

	"github.com/pcp-rtime/rtime/internal/armseg/layout"
	"github.com/pcp-rtime/rtime/internal/armseg/reader"
)

// Ended is how executions of a transaction have ended, and how often their data was bad.
type Ended struct{ Good, Aborted, Failed, BadData uint64 }

// Names returns the transactions of this process's user by their numbers.
func Names(t testing.TB, dir string) map[uint32]reader.Tran {
	t.Helper()
	trans := map[uint32]reader.Tran{}
	update(t, dir, func(uint32, *reader.App) {}, func(id uint32, i *reader.Tran) { trans[id] = *i })
	return trans
}

func update(t testing.TB, dir string, app func(uint32, *reader.App), tran func(uint32, *reader.Tran)) {
	t.Helper()
	uid := uint32(os.Geteuid())
	n, err := reader.OpenNames(filepath.Join(dir, fmt.Sprint(uid)+layout.NamesSuffix), uid)
	if err != nil {
		t.Fatal(err)
	}
	defer n.Close()
	if err := n.Update(app, tran); err != nil {
		t.Fatal(err)
	}
}

// Counts returns how executions have ended, by the transactions' keys.
func Counts(t testing.TB, dir string) map[string]Ended {
	t.Helper()
	return count(t, dir, Names(t, dir))
}

// CountsOf is Counts for one application, given by its key.
func CountsOf(t testing.TB, dir, app string) map[string]Ended {
	t.Helper()
	apps, all := map[string]uint32{}, map[uint32]reader.Tran{}
	update(t, dir, func(id uint32, a *reader.App) { apps[a.Key] = id }, func(id uint32, i *reader.Tran) { all[id] = *i })
	maps.DeleteFunc(all, func(_ uint32, i reader.Tran) bool { return i.App != apps[app] })
	return count(t, dir, all)
}

// count leaves out transactions that are not in names.
func count(t testing.TB, dir string, names map[uint32]reader.Tran) map[string]Ended {
	t.Helper()
	all := map[string]Ended{}
	processes(t, dir, func(p *reader.Proc) error {
		return p.Changed(true, 0, func(d *reader.CellDelta) {
			if tran, ok := names[d.Tran]; ok {
				was := all[tran.Key]
				all[tran.Key] = Ended{was.Good + d.Count, was.Aborted + d.Aborted, was.Failed + d.Failed, was.BadData + d.BadData}
			}
		})
	})
	return all
}

// Metrics returns the metrics of transactions by their keys. If several processes have
// counted a transaction, it returns the metrics of one of them.
func Metrics(t testing.TB, dir string) map[string][layout.Metrics + 1]reader.MetricTotals {
	t.Helper()
	names, all := Names(t, dir), map[string][layout.Metrics + 1]reader.MetricTotals{}
	processes(t, dir, func(p *reader.Proc) error {
		err := p.Changed(true, 0, func(*reader.CellDelta) {})
		p.Totals(func(tran uint32, _ *reader.Totals, metrics *[layout.Metrics + 1]reader.MetricTotals) {
			if metrics != nil {
				all[names[tran].Key] = *metrics
			}
		})
		return err
	})
	return all
}

// Pairs returns how many good children each pair has. Its keys are "PARENT > CHILD".
func Pairs(t testing.TB, dir string) map[string]uint64 {
	t.Helper()
	names, all := Names(t, dir), map[string]uint64{}
	processes(t, dir, func(p *reader.Proc) error {
		return p.Pairs(func(_ int, k *reader.PairKey, a reader.PairTotals) {
			all[names[k.Class].Key+" > "+names[k.Tran].Key] += a.Count
		})
	})
	return all
}

// processes reads the files of all processes. It leaves them open, because closing this
// process's file would drop the lock that says that the process lives.
func processes(t testing.TB, dir string, read func(*reader.Proc) error) {
	t.Helper()
	paths, err := filepath.Glob(filepath.Join(dir, "*"+layout.ProcSuffix))
	if err != nil || len(paths) == 0 {
		t.Fatalf("nothing was measured in %s: %v", dir, err)
	}
	for _, path := range paths {
		p, err := reader.OpenProc(path, uint32(os.Geteuid()), reader.Limits{Bytes: 1 << 30, Cells: 1 << 16})
		if err == nil {
			err = read(p)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
}

// Running returns how many executions are running.
func Running(t testing.TB, dir string) (n int) {
	t.Helper()
	processes(t, dir, func(p *reader.Proc) error { return p.Running(func(uint32, int64) { n++ }) })
	return n
}
