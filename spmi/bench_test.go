//go:build linux

package spmi_test

import (
	"fmt"
	"runtime"
	"testing"

	"github.com/pcp-rtime/rtime/spmi"
)

func BenchmarkAdd(b *testing.B) {
	var n spmi.Counter
	open(b, spmi.Options{Dir: segments(b)}, context("DDS/V/a", spmi.Stat{Name: "n", To: &n}))
	for b.Loop() {
		n.Add(1)
	}
}

func BenchmarkSet(b *testing.B) {
	var n spmi.Gauge
	open(b, spmi.Options{Dir: segments(b)}, context("DDS/V/a", spmi.Stat{Name: "n", To: &n}))
	for b.Loop() {
		n.Set(1)
	}
}

func BenchmarkUpdate10(b *testing.B) {
	var q [10]spmi.Gauge
	c := context("DDS/V/a")
	for i := range q {
		c.Stats = append(c.Stats, spmi.Stat{Name: fmt.Sprint("s", i), To: &q[i]})
	}
	open(b, spmi.Options{Dir: segments(b)}, c)
	for b.Loop() {
		c.Update(func() {
			for i := range q {
				q[i].Set(1)
			}
		})
	}
}

func BenchmarkAddRemove(b *testing.B) {
	for _, present := range []int{10, 1000, 100000} {
		b.Run(fmt.Sprint(present), func(b *testing.B) {
			s := moretest(b, segments(b))
			keep := make([]*spmi.Context, present)
			for i := range keep {
				keep[i] = &spmi.Context{Path: fmt.Sprintf("Moretest/c%d", i), Values: &bingo{}}
				must(b, s.Add(keep[i]))
			}
			runtime.GC()
			v := &bingo{}
			c := &spmi.Context{Path: "Moretest/Bingo", Values: v}
			for b.Loop() {
				must(b, s.Add(c))
				must(b, s.Remove(c))
			}
			runtime.KeepAlive(keep)
		})
	}
}
