package main

import (
	"fmt"
	"path/filepath"
)

const (
	pyClock = "time.perf_counter_ns twice"
	pyEmpty = "two calls of libarmnull"
	pyPair  = "start and stop"
	pyWith  = "with measure"
	pyAdded = "start and stop, less the calls"
)

// python measures arm.py beside the interpreter's clock and two calls that do nothing.
func (b *bench) python() error {
	build := filepath.Join(b.dir, whole)
	if err := b.library(whole, ""); err != nil {
		return err
	}
	null := filepath.Join(build, "null", "libarm.so.2")
	if _, err := command("libarm", nil, "make", "-s", "BUILD="+build, "CFLAGS=-O2 -g -Wno-error", null); err != nil {
		return err
	}
	_, env, err := b.segments("python")
	if err != nil {
		return err
	}
	var calls table
	for range b.rounds {
		f, err := figures(4, []string{env, "LD_LIBRARY_PATH=" + build, "PYTHONPATH=python", "PYTHONDONTWRITEBYTECODE=1"},
			"/usr/bin/python3", "bench/arm/testdata/calls.py", null)
		if err != nil {
			return err
		}
		for i, row := range []string{pyClock, pyEmpty, pyPair, pyWith} {
			calls.add(row, f[i])
		}
		calls.add(pyAdded, f[2]-f[1])
	}
	calls.print("A transaction in Python, ns", pyClock)
	fmt.Println()
	verdict("start and stop less the calls, ns, at most 1000", median(calls.all[pyAdded]), median(calls.all[pyAdded]) <= 1000)
	return nil
}
