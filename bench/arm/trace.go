package main

import (
	"fmt"
	"net"
	"os"
	"path/filepath"
	"strconv"
	"time"

	"github.com/pcp-rtime/rtime/pcp"
)

const traceDomain = 10

// tracer is a pmdatrace of our own, and the program that uses it.
type tracer struct {
	*agent
	bin string
	env []string
}

// startTrace starts pmdatrace on a free port. It shares a processor with the program that
// talks to it, because every message costs more across processors.
func (b *bench) startTrace() (*tracer, error) {
	bin, err := b.program("trace", "-l:libpcp_trace.so.2")
	if err != nil {
		return nil, err
	}
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return nil, err
	}
	port := strconv.Itoa(l.Addr().(*net.TCPAddr).Port)
	l.Close()
	dir := os.Getenv("PCP_PMDAS_DIR")
	if dir == "" {
		dir = "/var/lib/pcp/pmdas"
	}
	a, err := b.start(filepath.Join(dir, "trace", "pmdatrace"), "-d", strconv.Itoa(traceDomain),
		"-l", filepath.Join(b.dir, "trace.log"), "-I", port, "-M", "root")
	if err != nil {
		return nil, fmt.Errorf("%w (is PCP's trace agent installed?)", err)
	}
	t := &tracer{a, bin, []string{"PCP_TRACE_HOST=localhost", "PCP_TRACE_PORT=" + port, "PCP_TRACE_TIMEOUT=30"}}
	if err := t.ready(); err != nil {
		a.stop()
		return nil, err
	}
	return t, nil
}

// ready waits until the agent answers: it listens by then.
func (t *tracer) ready() error {
	_, _, err := t.fetch(pcp.MakePMID(traceDomain, 0, 11))
	return err
}

func (t *tracer) run(want int, args ...string) ([]float64, error) {
	return figures(want, t.env, append([]string{"taskset", "-c", lastCPU(), t.bin}, args...)...)
}

// calls measures both modes of the trace library once.
func (t *tracer) calls(calls *table) error {
	for _, mode := range []struct{ name, row string }{{"async", asyncPair}, {"sync", syncPair}} {
		f, err := t.run(1, mode.name)
		if err != nil {
			return err
		}
		calls.add(mode.row, f[0])
	}
	return nil
}

// fill makes so many tags known, and waits until they are in a buffer that is exported.
func (t *tracer) fill(tags int) error {
	if _, err := t.run(0, "tags", strconv.Itoa(tags)); err != nil {
		return err
	}
	for deadline := time.Now().Add(30 * time.Second); ; time.Sleep(100 * time.Millisecond) {
		_, n, err := t.fetch(t.metrics()...)
		if err != nil || n == tags*len(t.metrics()) {
			return err
		}
		if time.Now().After(deadline) {
			return fmt.Errorf("pmdatrace has %d values of %d tags", n, tags)
		}
	}
}

// metrics are those of transactions.
func (t *tracer) metrics() (ids []pcp.PMID) {
	for item := range 6 {
		ids = append(ids, pcp.MakePMID(traceDomain, 0, item))
	}
	return ids
}
