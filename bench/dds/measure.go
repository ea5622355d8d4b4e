package main

import (
	"fmt"
	"runtime"
	"slices"
	"strconv"
	"sync/atomic"

	"golang.org/x/sys/unix"

	"github.com/pcp-rtime/rtime/spmi"
)

func median(v []float64) float64 {
	v = slices.Sorted(slices.Values(v))
	return (v[(len(v)-1)/2] + v[len(v)/2]) / 2
}

// each returns the nanoseconds of CPU that each of n times takes. The function has its own
// loop, so that no function call is measured with it.
func each(n int, f func(n int)) float64 {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	f(n / 10)
	begin := threadTime()
	f(n)
	return float64(threadTime()-begin) / float64(n)
}

// threadTime is the processor time of the calling thread in nanoseconds. Other load on the
// machine does not count.
func threadTime() int64 {
	var t unix.Timespec
	_ = unix.ClockGettime(unix.CLOCK_THREAD_CPUTIME_ID, &t)
	return t.Nano()
}

// stores measures the ways to publish a value. inC is what they cost by libSpmi.
func (p *programs) stores(t *table, inC []float64) error {
	var v struct {
		N spmi.Counter
		F spmi.Float
		Q [10]spmi.Quantity `spmi:"-"`
	}
	ten := &spmi.Context{Path: "DDS/Bench/Ten"}
	for i := range v.Q {
		ten.Stats = append(ten.Stats, spmi.Stat{Name: "s" + strconv.Itoa(i), To: &v.Q[i]})
	}
	s, err := spmi.Open(spmi.Options{Dir: p.dir}, &spmi.Context{Path: "DDS/Bench/Values", Values: &v}, ten)
	if err == nil {
		defer s.Close()
		err = s.Err()
	}
	if err != nil {
		return err
	}
	const n = 10000000
	words := make([]uint64, 8)
	t.add("a plain store", each(n, func(n int) { plainStore(&words[0], n) }))
	t.add("a plain addition", each(n, func(n int) { plainAdd(&words[0], n) }))
	t.add("an atomic addition", each(n, func(n int) { atomicAdd(&words[0], n) }))
	t.add("spmi Set", each(n, func(n int) {
		for i := range n {
			v.N.Set(uint64(i))
		}
	}))
	t.add("spmi Add", each(n, func(n int) {
		for range n {
			v.N.Add(1)
		}
	}))
	t.add("spmi Float Add", each(n, func(n int) {
		for range n {
			v.F.Add(1)
		}
	}))
	t.add("spmi Update of 10", each(n/10, func(n int) {
		for i := range n {
			ten.Update(func() {
				for j := range v.Q {
					v.Q[j].Set(int64(i))
				}
			})
		}
	}))
	for i, row := range []string{"libSpmi, a store", "libSpmi, an atomic addition", "libSpmi, an update of 10"} {
		t.add(row, inC[i])
	}
	return p.others(t)
}

// others measures the same with what programs use today.
func (p *programs) others(t *table) error {
	c, err := p.figures(4, p.mmv, "inc")
	if err != nil {
		return err
	}
	for i, row := range []string{"a plain store in C", "a plain addition in C", "mmv_inc", "mmv_inc_value"} {
		t.add(row, c[i])
	}
	g, err := p.figures(1, p.speed)
	if err != nil {
		return err
	}
	t.add("speed counter", g[0])
	return nil
}

//go:noinline
func plainStore(p *uint64, n int) {
	for i := range n {
		*p = uint64(i)
	}
}

//go:noinline
func plainAdd(p *uint64, n int) {
	for range n {
		*p++
	}
}

//go:noinline
func atomicAdd(p *uint64, n int) {
	for range n {
		atomic.AddUint64(p, 1)
	}
}

type instance struct {
	Problems  spmi.Counter `spmi:"problems"`
	Solutions spmi.Counter `spmi:"solutions"`
}

// sizes are how many contexts, or instances in an MMV file, there are besides.
var sizes = []int{10, 1000, 100000}

// changes measures adding and removing a context while others are there. inC is what it
// costs by libSpmi.
func (p *programs) changes(t *table, inC []float64) error {
	for _, present := range sizes {
		ns, err := p.change(present)
		if err != nil {
			return err
		}
		t.add(fmt.Sprintf("at %d present", present), ns)
	}
	for i, present := range sizes {
		t.add(fmt.Sprintf("libSpmi, at %d present", present), inC[i])
	}
	for i, present := range sizes {
		ns, err := p.figures(1, p.mmv, "rewrite", strconv.Itoa(present), []string{"1000", "300", "5"}[i])
		if err != nil {
			return err
		}
		t.add(fmt.Sprintf("MMV file of %d", present), ns[0])
	}
	return nil
}

func (p *programs) change(present int) (float64, error) {
	s, err := p.fill(present)
	if err != nil {
		return 0, err
	}
	defer s.Close()
	one := &spmi.Context{Path: "DDS/Bench/All/one", Values: &instance{}}
	ns := each(100000, func(n int) {
		for range n {
			if err == nil {
				err = s.Add(one)
			}
			if err == nil {
				err = s.Remove(one)
			}
		}
	})
	return ns, err
}

// fill opens a supplier with so many volatile contexts.
func (p *programs) fill(present int) (*spmi.Supplier, error) {
	s, err := spmi.Open(spmi.Options{Dir: p.dir, Volatile: []*spmi.Context{{Path: "DDS/Bench/All/ONE", Values: (*instance)(nil)}}},
		&spmi.Context{Path: "DDS/Bench/All"})
	if err != nil {
		return nil, err
	}
	err = s.Err()
	for i := range present {
		if err == nil {
			err = s.Add(&spmi.Context{Path: "DDS/Bench/All/c" + strconv.Itoa(i), Values: &instance{}})
		}
	}
	runtime.GC() // now, and not while something is measured
	return s, err
}
