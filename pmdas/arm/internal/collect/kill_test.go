package collect

import (
	"fmt"
	"testing"
	"time"

	"github.com/pcp-rtime/rtime/internal/armseg/layout"
	"github.com/pcp-rtime/rtime/test/arm/armkill"
)

// killing is a collector with processes that are killed while it looks.
type killing struct {
	t      *testing.T
	dir    string
	c      *Collector
	d      *armkill.Driver
	was    [armkill.Batch]armkill.Counted // before this batch
	last   [armkill.Batch + 1]armkill.Counted
	starts int
}

func startKilling(t *testing.T, p armkill.Programs) *killing {
	k := &killing{t: t, dir: t.TempDir()}
	k.collector()
	k.d = armkill.Start(t, p, k.dir)
	t.Cleanup(func() { k.c.close() })
	return k
}

// collector starts a collector in place of the one before, as if that had been killed.
func (k *killing) collector() {
	k.t.Helper()
	if k.c != nil {
		k.c.close()
	}
	conf := DefaultConfig()
	conf.Interval, conf.Timeout = 100*time.Millisecond, 0 // names stay
	c, err := newCollector(conf, Options{Dir: k.dir}, host{now: clocks, alive: processes().alive, step: func(string) {}})
	if err != nil {
		k.t.Fatal(err)
	}
	k.c = c
	k.starts++
}

// look makes the collector look, and compares the counts with those before.
func (k *killing) look() {
	k.t.Helper()
	k.c.dir.changed = true
	k.c.look()
	for i := range k.last {
		now := k.row(i)
		was := k.last[i]
		if now.Count < was.Count || now.Aborted < was.Aborted || now.Failed < was.Failed || now.Abandoned < was.Abandoned || now.Updates < was.Updates {
			k.t.Fatalf("%s went from %+v to %+v", armkill.Name(i), was, now)
		}
		k.last[i] = now
	}
}

// row returns what is counted of the i-th transaction; it is zero for one without a row.
func (k *killing) row(i int) (c armkill.Counted) {
	if t := k.c.counts.rows.tran[armkill.Name(i)]; t != nil {
		c = armkill.Counted{Count: t.Count, Aborted: t.Aborted, Failed: t.Failed, Abandoned: t.Abandoned, Updates: t.Updates}
	}
	return c
}

// batch kills processes while the collector looks, and compares the counts.
func (k *killing) batch(order string, args ...any) (over int) {
	k.t.Helper()
	copy(k.was[:], k.last[:])
	over = k.d.Do(func() {
		k.look()
		time.Sleep(5 * time.Millisecond) // the others need the processors
	}, order, args...)
	k.drain()
	for i := range armkill.Batch {
		if err := k.d.Check(i, k.last[i].Sub(k.was[i])); err != nil {
			k.t.Fatalf("%s: %v", fmt.Sprintf(order, args...), err)
		}
	}
	k.d.Do(nil, "newcomer")
	return over
}

// drain looks until only the witness is left. All others have ended, so two looks are
// enough; the first finds them.
func (k *killing) drain() {
	k.t.Helper()
	for range 2 {
		k.look()
	}
	s := k.c.Snapshot()
	if s.Health.Processes != 1 || s.Health.Errors != 0 || s.Health.RefusedEver != 0 || s.Health.Damaged != 0 {
		k.t.Fatalf("%+v", s.Health)
	}
	for _, t := range allRows(s) {
		if t.Name != armkill.Name(armkill.Batch) && t.Active != 0 {
			k.t.Fatalf("%s: %d active", t.Name, t.Active)
		}
	}
}

// end ends the witness. Its count is exact, because nothing that happened has touched it.
func (k *killing) end() {
	k.t.Helper()
	k.d.Do(nil, "end")
	k.look()
	k.look()
	if n := len(k.files()); n != 0 {
		k.t.Errorf("%d files are left", n)
	}
	want := armkill.Counted{Count: k.d.Completed(armkill.Batch)}
	if c := k.row(armkill.Batch); c != want || want.Count == 0 {
		k.t.Errorf("the witness: %+v, want %+v", c, want)
	}
	if err := k.d.Check(armkill.Batch, k.row(armkill.Batch)); err != nil {
		k.t.Error(err)
	}
	// A process that was killed in arm_init or arm_end may have left a use behind.
	waitFor(k.t, func() bool {
		k.look()
		a := k.c.Snapshot().Apps[0]
		return !a.Active && a.Processes == 0
	})
	k.d.Quit()
}

// files returns the segments of processes that are left.
func (k *killing) files() []string {
	k.t.Helper()
	return (&world{t: k.t, dir: k.dir}).files(layout.ProcSuffix)
}

// TestKilled kills processes in C and in Go, at random points and after each instruction,
// while a collector reads. All that they had completed is counted, and counted once.
func TestKilled(t *testing.T) {
	p := armkill.Build(t, t.TempDir())
	t.Run("C", func(t *testing.T) {
		k := startKilling(t, p)
		for i := range 32 {
			if i%4 == 3 {
				k.collector()
			}
			k.batch("random %d", 1+i)
		}
		if n := k.c.Snapshot().Health.Folds; n == 0 || len(k.c.Snapshot().Pairs) == 0 {
			t.Errorf("%d taken over, pairs %v", n, k.c.Snapshot().Pairs)
		}
		k.end()
	})
	t.Run("Go", func(t *testing.T) {
		k := startKilling(t, p)
		for i := range 4 {
			k.batch("random %d %s", 1+i, p.Go)
		}
		k.end()
	})
	for _, s := range []struct {
		order, what string
		stride      int
	}{
		{"step", "pair", 1}, {"step", "first", 23}, {"step", "start", 61}, {"step", "update", 61}, {"step", "stop", 61},
		{"step", "end", 1}, {"step", "getid", 7}, {"calls", "init", 1}, {"both", "init", 1}, {"calls", "getid", 1},
		{"calls", "create", 1}, {"both", "create", 1},
	} {
		t.Run(s.order+" "+s.what, func(t *testing.T) {
			k := startKilling(t, p)
			k.steps(s.order, s.what, s.stride)
			k.end()
		})
	}
}

// steps kills processes after each stride of instructions, or of entries into the kernel,
// until they end before they are killed.
func (k *killing) steps(order, what string, stride int) {
	k.t.Helper()
	kills := 0
	for from := 0; ; from += armkill.Batch * stride {
		over := k.batch("%s %s %d %d", order, what, from, stride)
		kills += armkill.Batch - over
		if over > 0 {
			break
		}
	}
	k.t.Logf("%d killed on the way", kills)
	if kills < 8 {
		k.t.Errorf("only %d killed on the way", kills)
	}
}
