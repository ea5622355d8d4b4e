//go:build linux && !race

// The race detector takes address space while a program runs. So the counts of this
// test mean nothing in a program built with it.

package spmi_test

import (
	"fmt"
	"os"
	"runtime"
	"testing"
	"time"

	"github.com/pcp-rtime/rtime/spmi"
)

// TestUnmapped: closed suppliers give their address space back when their handles are
// gone, and not before.
func TestUnmapped(t *testing.T) {
	const each = 1000 // contexts of at least 704 bytes
	dir := segments(t)
	before := space(t)
	for range 300 {
		v := &bingo{}
		s, err := spmi.Open(spmi.Options{Dir: dir, Vendor: "DDS/V", Volatile: []*spmi.Context{{Path: "Moretest/X", Values: v}}},
			context("Moretest"))
		must(t, err)
		for i := range each {
			must(t, s.Add(&spmi.Context{Path: fmt.Sprintf("Moretest/c%d", i), Values: v}))
		}
		must(t, s.Close())
		runtime.GC()
		v.Problems.Add(7)
		if v.Problems.Value() != 7 {
			t.Fatal("a handle of a closed supplier does not work")
		}
	}
	const grown = 300 * each * 704 / 2
	for deadline := time.Now().Add(2 * time.Minute); space(t) > before+grown; time.Sleep(time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatalf("%d bytes of address space, at first %d", space(t), before)
		}
		runtime.GC()
	}
}

// space returns the size of the address space in use.
func space(t *testing.T) int {
	t.Helper()
	b, err := os.ReadFile("/proc/self/statm")
	must(t, err)
	var pages int
	fmt.Sscan(string(b), &pages)
	return pages * os.Getpagesize()
}
