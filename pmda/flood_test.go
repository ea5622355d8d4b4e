package pmda_test

import (
	"errors"
	"fmt"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"github.com/pcp-rtime/rtime/pcp"
	"github.com/pcp-rtime/rtime/pdu"
	"github.com/pcp-rtime/rtime/pmda"
	"github.com/pcp-rtime/rtime/pmda/pmdatest"
)

// flood asks without reading, until nobody takes it or limit bytes are written.
func flood(write func([]byte) error, id pcp.PMID, limit int) (written int, err error) {
	one := (&pdu.Fetch{PMIDs: []pcp.PMID{id}}).Append(nil, 0)
	var b []byte
	for len(b) < 64<<10 {
		b = append(b, one...)
	}
	for written < limit {
		if err := write(b); err != nil {
			return written, err
		}
		written += len(b)
	}
	return written, nil
}

// TestFloodOnPipe: if the far end asks and does not read, the agent ends without having
// grown.
func TestFloodOnPipe(t *testing.T) {
	p := start(t, build(t, "../examples/hello"), "-l", "-")
	pmdatest.Connect(t, p)
	peak := uint64(0)
	n, err := flood(func(b []byte) error {
		_, err := p.in.Write(b)
		if err == nil {
			peak = max(peak, resident(t, p.cmd.Process.Pid))
		}
		return err
	}, pcp.MakePMID(500, 0, 1), 1<<30)
	if err == nil {
		t.Errorf("the agent has taken %d bytes of requests", n)
	}
	if code := p.exit(); code != 1 || !strings.Contains(p.err.String(), "16 MiB wait") {
		t.Errorf("status %d after %d bytes, %v: %s", code, n, err, &p.err)
	}
	if peak > 100<<20 {
		t.Errorf("the agent had %d MiB", peak>>20)
	}
}

// resident is how much memory a process has, in bytes; 0 if it has ended.
func resident(t *testing.T, pid int) uint64 {
	t.Helper()
	status := readStatus(t, fmt.Sprintf("/proc/%d/status", pid))
	kib, _, _ := strings.Cut(status["VmRSS"], " ")
	n, _ := strconv.ParseUint(kib, 10, 64)
	return n << 10
}

// TestFloodOnSocket: the agent closes the connection and serves the next one.
func TestFloodOnSocket(t *testing.T) {
	l, err := pmda.ListenUnix(filepath.Join(t.TempDir(), "socket"), 0, 0)
	if err != nil {
		t.Fatal(err)
	}
	z := newZoo()
	listen(t, z.agent, l)
	bad := dial(t, "unix", l.Addr().String())
	n, err := flood(func(b []byte) error { _, err := bad.Write(b); return err }, zooID(itemBlob), 1<<30)
	if !errors.Is(err, syscall.EPIPE) && !errors.Is(err, syscall.ECONNRESET) {
		t.Errorf("after %d bytes of requests: %v", n, err)
	}
	bad.Close()
	c := pmdatest.Connect(t, dial(t, "unix", l.Addr().String()))
	if v, err := c.Value("zoo.blob", ""); err != nil {
		t.Errorf("the next connection: %v, %v", v, err)
	}
	c.Close()
}

// TestStopWhileNobodyReads: SIGTERM ends an agent that waits for its far end to read.
func TestStopWhileNobodyReads(t *testing.T) {
	exe := build(t, "../examples/hello")
	p := start(t, exe, "-l", "-")
	pmdatest.Connect(t, p)
	// More than its pipe holds, and less than what makes it close the connection.
	if n, err := flood(func(b []byte) error { _, err := p.in.Write(b); return err }, pcp.MakePMID(500, 0, 1), 2<<20); err != nil {
		t.Fatalf("after %d bytes: %v", n, err)
	}
	p.cmd.Process.Signal(syscall.SIGTERM)
	if code := p.exit(); strings.Contains(p.err.String(), "giving up") || !strings.Contains(p.err.String(), "shutting down") {
		t.Errorf("status %d: %s", code, &p.err)
	}

	path := filepath.Join(filepath.Dir(exe), "socket")
	p = start(t, exe, "-l", "-", "-u", path)
	c := dial(t, "unix", path)
	if n, err := flood(func(b []byte) error { _, err := c.Write(b); return err }, pcp.MakePMID(500, 0, 1), 2<<20); err != nil {
		t.Fatalf("on a socket, after %d bytes: %v", n, err)
	}
	p.cmd.Process.Signal(syscall.SIGTERM)
	if code := p.exit(); code != 0 || strings.Contains(p.err.String(), "giving up") {
		t.Errorf("on a socket: status %d: %s", code, &p.err)
	}
}
