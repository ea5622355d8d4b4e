package agent

import (
	"fmt"
	"testing"
)

// TestFetchAllocatesNothing: a client that asks again and again costs no
// allocation, for fixed and for volatile contexts.
func TestFetchAllocatesNothing(t *testing.T) {
	l := newLab(t)
	s := supl(t)
	s.Publish(l.dir, -1)
	const n = 20
	for i := range uint32(n) {
		s.Put64(s.Add(i, bingo, fmt.Sprintf("DDS/IBM/Moretest/b%d", i), ""), uint64(i))
	}
	l.is("dds.IBM.Test.gadgets", "=0")
	done := make(chan struct{})
	l.srv.Do(func() {
		defer close(done)
		tr := l.a.tree
		fixed, volatile := tr.groups["DDS/IBM/Test"], tr.groups["DDS/IBM/Moretest/*"]
		var list []place
		for p := range volatile.lives {
			list = append(list, place(p))
		}
		r := l.a.requestFor(l.srv, "dds.IBM.Test.gadgets", "dds.IBM.Moretest.problems", "dds.IBM.Moretest.solutions")
		sum := uint64(0)
		once := func() {
			l.a.refresh(r)
			volatile.collect(tr, list)
			fixed.collect(tr, []place{fixed.live.at})
			sum = 0
			for _, p := range list {
				v, _ := volatile.columns[0].value(tr, p)
				sum += v
			}
		}
		once()
		if got := testing.AllocsPerRun(1000, once); got > 0 {
			t.Errorf("%v allocations in a fetch", got)
		}
		if len(list) != n || sum != n*(n-1)/2 {
			t.Errorf("%d contexts, sum %d", len(list), sum)
		}
	})
	<-done
}
