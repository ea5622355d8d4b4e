package agent

import (
	"fmt"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/pcp-rtime/rtime/internal/ddsseg/layout"
	"github.com/pcp-rtime/rtime/internal/ddsseg/writer"
	"github.com/pcp-rtime/rtime/pcp"
	"github.com/pcp-rtime/rtime/spmi"
)

// pair are values that are equal to each other after each update.
type pair struct{ A, B spmi.Gauge }

// busy runs a supplier whose values change all the time. Each of its volatile contexts
// has a value of its own once it has one, and another context replaces it at once.
func busy(t *testing.T, dir string) {
	t.Helper()
	values := new(pair)
	fixed := &spmi.Context{Path: "DDS/v/fixed", Values: values}
	s, err := spmi.Open(spmi.Options{Dir: dir, Volatile: []*spmi.Context{{Path: "DDS/v/I", Values: (*pair)(nil)}}}, &spmi.Context{Path: "DDS/v"},
		&spmi.Context{Path: "DDS/v/many"}, fixed)
	if err != nil || s.Err() != nil {
		t.Fatal(err, s.Err())
	}
	var stop atomic.Bool
	var wg sync.WaitGroup
	wg.Add(2)
	set := func(c *spmi.Context, v *pair, n int64) {
		c.Update(func() {
			v.A.Set(n)
			v.B.Set(n)
		})
	}
	go func() {
		defer wg.Done()
		for n := int64(1); !stop.Load(); n++ {
			set(fixed, values, n)
		}
	}()
	go func() {
		defer wg.Done()
		for n := int64(0); !stop.Load(); n++ {
			v := new(pair)
			c := &spmi.Context{Path: fmt.Sprintf("DDS/v/many/i%d", n%7), Values: v}
			if err := s.Add(c); err != nil {
				t.Error(err)
				return
			}
			set(c, v, n%7+1)
			if err := s.Remove(c); err != nil {
				t.Error(err)
				return
			}
		}
	}()
	t.Cleanup(func() {
		stop.Store(true)
		wg.Wait()
		s.Close()
	})
}

// TestWholeUpdates: clients get a state that existed at some moment. Values that are
// updated together belong together, counts only grow, and no context has the values of
// another one that had its room before.
func TestWholeUpdates(t *testing.T) {
	l := newLab(t)
	busy(t, l.dir)
	var ids []pcp.PMID
	for _, m := range []string{"dds.v.fixed.a", "dds.v.fixed.b", "dds.v.many.a", "dds.v.many.b"} {
		var d pcp.Desc
		err := error(pcp.ErrName)
		for range 1000000 { // until a volatile context was there when the agent looked
			if d, err = l.Desc(m); err == nil {
				break
			}
		}
		must(t, err)
		ids = append(ids, d.PMID)
	}
	fixed, volatile, last, own := 0, 0, int64(0), make(map[int32]int64)
	for range 1000000 {
		if fixed >= 500 && volatile >= 50 {
			return
		}
		sets := l.Fetch(ids...)
		for _, two := range [][2]int{{0, 1}, {2, 3}} {
			a, b := sets[two[0]].Values, sets[two[1]].Values
			if fmt.Sprint(a) != fmt.Sprint(b) {
				t.Fatalf("half an update: %v %v", a, b)
			}
		}
		for _, v := range sets[0].Values {
			n, err := v.Value.Int64()
			if fixed++; err != nil || n < last {
				t.Fatalf("%v after %d, %v", v, last, err)
			}
			last = n
		}
		for _, v := range sets[2].Values {
			n, err := v.Value.Int64()
			if n == 0 || err != nil {
				continue
			}
			volatile++
			if old := own[v.Inst]; old != 0 && old != n {
				t.Fatalf("instance %d had %d and has %d", v.Inst, old, n)
			}
			own[v.Inst] = n
		}
	}
	t.Errorf("%d values, %d of volatile contexts", fixed, volatile)
}

// churn runs a supplier that makes no updates. Most of its volatile contexts stay; one is
// replaced all the time by another, which takes its room at once.
func churn(t *testing.T, dir string) {
	t.Helper()
	const stay = 200
	stats := []writer.StatDecl{{Name: "a", Type: layout.ULong, DataType: layout.ULong, ValueType: layout.Quantity, Size: 8}}
	w, err := writer.Create(dir, writer.Program{Name: "churn"}, []writer.ContextDecl{{Path: "DDS/v"}, {Path: "DDS/v/many"},
		{Path: "DDS/v/many/any", Template: true, Stats: stats, DataLen: 8}}, nil, nil)
	must(t, err)
	add := func(path string, n int, value uint64) *writer.Slot {
		slot, err := w.Add(2, writer.ContextDecl{Path: fmt.Sprintf("DDS/v/many/%s%d", path, n)})
		if err != nil {
			t.Error(err)
			return nil
		}
		atomic.StoreUint64(&slot.Words[0], value)
		return slot
	}
	for n := range stay {
		add("s", n, uint64(n)+100)
	}
	var stop atomic.Bool
	var wg sync.WaitGroup
	wg.Add(1)
	go func() {
		defer wg.Done()
		for n := 0; !stop.Load(); n++ {
			slot := add("i", n%9, uint64(n%9+1))
			if slot == nil {
				return
			}
			for range n % 1000 { // sometimes long enough for the agent to find the supplier quiet
				atomic.StoreUint64(&slot.Words[0], uint64(n%9+1))
			}
			w.Remove(slot)
			w.Free(slot)
		}
	}()
	t.Cleanup(func() {
		stop.Store(true)
		wg.Wait()
		w.Unmap()
	})
}

// TestOwnValues: no context has the values of one that got its room while the agent was
// reading many contexts.
func TestOwnValues(t *testing.T) {
	l := newLab(t)
	churn(t, l.dir)
	d, err := l.Desc("dds.v.many.a")
	must(t, err)
	coming, own := 0, make(map[int32]int64)
	for range 1000000 {
		if coming >= 300 {
			return
		}
		stayed := 0
		for _, v := range l.Fetch(d.PMID)[0].Values {
			n, err := v.Value.Int64()
			must(t, err)
			switch {
			case n >= 100:
				stayed++
			case n > 0:
				coming++
			}
			if old := own[v.Inst]; n != 0 && old != 0 && old != n {
				t.Fatalf("instance %d had %d and has %d", v.Inst, old, n)
			}
			if n != 0 {
				own[v.Inst] = n
			}
		}
		if stayed != 200 {
			t.Fatalf("%d of 200", stayed)
		}
	}
	t.Errorf("%d values of contexts that come and go", coming)
}
