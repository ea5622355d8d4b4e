package main

import (
	"fmt"
	"path/filepath"
)

const (
	clockPair  = "clock_gettime twice"
	armPair    = "arm_start and arm_stop"
	noTSCPair  = "these without the processor's counter"
	asyncPair  = "pmtracebegin and -end, asynchronous"
	syncPair   = "pmtracebegin and -end, synchronous"
	oneThread  = "one thread"
	twoThreads = "two threads"
)

// c measures libarm beside the clock and PCP's trace library.
func (b *bench) c() error {
	if err := b.library(whole, ""); err != nil {
		return err
	}
	if err := b.library(noTSC, "-DRT_TSC_UNSOUND"); err != nil {
		return err
	}
	tr, err := b.startTrace()
	if err != nil {
		return err
	}
	defer tr.stop()
	var calls, rates, slow table
	for range b.rounds {
		if err := b.calls(&calls, &rates, &slow); err != nil {
			return err
		}
		if err := tr.calls(&calls); err != nil {
			return err
		}
	}
	calls.print("A transaction in C, ns", clockPair)
	rates.print("Pairs per microsecond on one transaction", oneThread)
	slow.print("Without the processor's counter", oneThread)
	fmt.Println()
	calls.atMost(1, armPair, clockPair)
	calls.atMost(1.6, noTSCPair, clockPair)
	rates.atLeast(1.6, twoThreads, oneThread)
	slow.atLeast(1.6, twoThreads, oneThread)
	for _, pair := range []string{armPair, noTSCPair} {
		calls.atLeast(150, syncPair, pair)
		calls.atLeast(30, asyncPair, pair)
	}
	return nil
}

// calls measures both variants of the library once.
func (b *bench) calls(calls, rates, slow *table) error {
	_, env, err := b.segments("c")
	if err != nil {
		return err
	}
	bin, err := b.program("calls", "-larm")
	if err != nil {
		return err
	}
	for _, v := range []struct {
		variant, pair string
		rates         *table
	}{{whole, armPair, rates}, {noTSC, noTSCPair, slow}} {
		f, err := figures(4, []string{env, "LD_LIBRARY_PATH=" + filepath.Join(b.dir, v.variant)}, bin)
		if err != nil {
			return err
		}
		if v.variant == whole {
			calls.add(clockPair, f[0])
		}
		calls.add(v.pair, f[1])
		v.rates.add(oneThread, f[2])
		v.rates.add(twoThreads, f[3])
	}
	return nil
}
