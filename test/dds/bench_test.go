package dds

import (
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/pcp-rtime/rtime/pdu"
	"github.com/pcp-rtime/rtime/spmi"
	"github.com/pcp-rtime/rtime/test/pcptest"
)

// ask speaks to an agent as pmcd does.
type ask struct {
	b testing.TB
	w io.Writer
	r *pdu.Reader
}

// do returns the answer. pmcd may send news before it, such as that names have
// changed: a positive code in place of an error.
func (a *ask) do(p pdu.PDU) pdu.PDU {
	if _, err := a.w.Write(p.Append(nil, 0)); err != nil {
		a.b.Fatal(err)
	}
	for {
		raw, err := a.r.Next()
		if err != nil {
			a.b.Fatal(err)
		}
		got, err := pdu.Decode(raw)
		if err != nil {
			a.b.Fatal(err)
		}
		if news, is := got.(*pdu.Error); !is || news.Code <= 0 {
			return got
		}
	}
}

// BenchmarkFetch measures the agent's processor time for a fetch of 8 metrics over so
// many volatile contexts.
func BenchmarkFetch(b *testing.B) {
	for _, n := range []int{10, 1000, 10000} {
		b.Run(fmt.Sprintf("8x%d", n), func(b *testing.B) { benchFetch(b, n) })
	}
}

type eight struct{ A, B, C, D, E, F, G, H spmi.Counter }

func benchFetch(b *testing.B, n int) {
	dir := b.TempDir()
	segments := filepath.Join(dir, "dds")
	agent := exec.Command(pcptest.Build(b, name, "pmdas/dds"), "--dir", segments, "--state", dir, "--config", "", "-l", filepath.Join(dir, "log"), "-U", "root")
	theirs, in, err := os.Pipe()
	if err != nil {
		b.Fatal(err)
	}
	out, theirOut, err := os.Pipe()
	if err != nil {
		b.Fatal(err)
	}
	agent.Stdin, agent.Stdout = theirs, theirOut
	if err := agent.Start(); err != nil {
		b.Fatal(err)
	}
	theirs.Close()
	theirOut.Close()
	// The descriptors are blocking, so that the kernel alone wakes the requester.
	to, from := blocking(in.Fd()), blocking(out.Fd())
	defer func() {
		in.Close()
		out.Close()
		_ = agent.Wait()
	}()
	pin(b, agent.Process.Pid, 0)
	pin(b, os.Getpid(), 0)
	a := &ask{b: b, w: to, r: pdu.NewReader(from, 0)}
	if _, err := a.r.Next(); err != nil { // CREDS
		b.Fatal(err)
	}
	_, _ = to.Write((&pdu.Creds{Version: 2}).Append(nil, 0))
	s, err := spmi.Open(spmi.Options{Dir: segments, Name: "bench", Volatile: []*spmi.Context{{Path: "DDS/v/bench/I", Values: (*eight)(nil)}}},
		&spmi.Context{Path: "DDS/v"}, &spmi.Context{Path: "DDS/v/bench"})
	if err != nil || s.Err() != nil {
		b.Fatal(err, s.Err())
	}
	defer s.Close()
	for i := range n {
		if err := s.Add(&spmi.Context{Path: fmt.Sprintf("DDS/v/bench/i%d", i), Values: new(eight)}); err != nil {
			b.Fatal(err)
		}
	}
	names := a.do(&pdu.Traverse{Name: "dds"}).(*pdu.Names).Names
	ids := a.do(&pdu.Names{Names: names}).(*pdu.IDs).PMIDs
	if len(ids) != 8 {
		b.Fatalf("%d metrics, not 8: %v", len(ids), names)
	}
	for _, set := range a.do(&pdu.Fetch{PMIDs: ids}).(*pdu.Result).Sets {
		if len(set.Values) != n {
			b.Fatalf("%d values, not %d", len(set.Values), n)
		}
	}
	request := (&pdu.Fetch{PMIDs: ids}).Append(nil, 0)
	before := cpu(b, agent.Process.Pid)
	b.ResetTimer()
	for range b.N {
		if _, err := to.Write(request); err != nil {
			b.Fatal(err)
		}
		if _, err := a.r.Next(); err != nil {
			b.Fatal(err)
		}
	}
	b.StopTimer()
	used := float64(cpu(b, agent.Process.Pid) - before)
	b.ReportMetric(used/float64(b.N), "agent-ns/fetch")
	b.ReportMetric(used/float64(b.N)/float64(8*n), "agent-ns/value")
}

// cpu is the processor time of a process, by the clock that clock_getcpuclockid(3) names.
func cpu(b *testing.B, pid int) time.Duration {
	var ts unix.Timespec
	if err := unix.ClockGettime(int32(^pid<<3|2), &ts); err != nil {
		b.Fatal(err)
	}
	return time.Duration(ts.Nano())
}

// pin keeps all threads of a process on one processor. The two sides take turns anyway, and
// waking another processor costs more than the answer.
func pin(b *testing.B, pid, processor int) {
	var set unix.CPUSet
	set.Set(processor)
	tasks, _ := filepath.Glob(fmt.Sprintf("/proc/%d/task/*", pid))
	for _, t := range tasks {
		tid, err := strconv.Atoi(filepath.Base(t))
		if err == nil {
			_ = unix.SchedSetaffinity(tid, &set) // a thread may have ended
		}
	}
}

// blocking reads and writes a descriptor without Go's poller.
type blocking int

func (f blocking) Read(p []byte) (int, error)  { return unix.Read(int(f), p) }
func (f blocking) Write(p []byte) (int, error) { return unix.Write(int(f), p) }
