package agent

import (
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"github.com/pcp-rtime/rtime/internal/ddsseg/layout"
	"github.com/pcp-rtime/rtime/pmdas/dds/internal/supply"
)

// looked has the agent look once and returns how many names and files it dealt with.
func (l *lab) looked() (names, visits int) {
	done := make(chan struct{})
	l.srv.Do(func() {
		counts := &l.a.supply.Counts
		n, v := counts.Names, counts.Visits
		l.a.second()
		names, visits = int(counts.Names-n), int(counts.Visits-v)
		close(done)
	})
	<-done
	return names, visits
}

// TestManyFiles: 20,000 files are no segments, and the kernel drops the events about them.
// Each look deals with only a few of them. A supplier among them is found and has its
// values. Files beyond the limit of their owner are removed, but a file that its supplier
// holds stays.
func TestManyFiles(t *testing.T) {
	const many, limit = 20000, 50
	l := newLab(t, func(a *Agent) { a.conf.Suppliers, a.conf.Timeout = limit, 0 })
	held := ""
	garbage := func(from, to int) {
		for i := from; i < to; i++ {
			path := filepath.Join(l.dir, fmt.Sprintf("65534-%d-x.dds", i))
			must(t, os.WriteFile(path, []byte("garbage"), 0o660))
			must(t, os.Chown(path, 65534, -1))
			held = path
		}
	}
	garbage(0, many/2)
	s := supl(t)
	s.Put64(s.Data[1], 22)
	s.Publish(l.dir, -1)
	garbage(many/2, many)
	hold(t, held)
	const heard = 4 * 16384 / 32 // events that one look reads
	found := false
	for range 100 {
		names, visits := l.looked()
		if names > supply.NamesAtOnce+heard || visits > supply.VisitsAtOnce {
			t.Fatalf("%d names and %d files in one look", names, visits)
		}
		if !found && len(l.Names("dds")) > 0 {
			found = true
			later := supl(t) // reported by an event, not found in the list
			later.Publish(l.dir, 1)
		}
		if found {
			l.is("dds.IBM.Test.gadgets", "=22")
		}
	}
	list, err := os.ReadDir(l.dir)
	must(t, err)
	if len(list) > limit+5 { // the one that is held, two suppliers, claims, notices
		t.Errorf("%d files are left", len(list))
	}
	if _, err := os.Stat(held); err != nil {
		t.Error(err)
	}
	l.is("rtime.dds.agent.suppliers", "=2")
	for range 3 { // files that are left are not looked at again
		l.ahead += supply.ListEvery
		if _, visits := l.looked(); visits > 2 {
			t.Errorf("%d files", visits)
		}
	}
	if _, err := os.Stat(filepath.Join(l.dir, layout.ClaimsDir)); err != nil {
		t.Error(err)
	}
}
