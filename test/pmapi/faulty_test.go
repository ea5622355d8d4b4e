package pmapi

import (
	"context"
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/pcp-rtime/rtime/pmapi"
	"github.com/pcp-rtime/rtime/test/pcptest"
)

// faulty is a connection to the real pmcd that breaks after so many bytes, or brings them
// one by one, or changed.
type faulty struct {
	net.Conn
	in, out atomic.Int64 // bytes until it breaks
	single  bool
	flips   *rand.Rand // nil for none
}

func (f *faulty) Read(b []byte) (int, error) {
	left := f.in.Load()
	if left <= 0 {
		f.Conn.Close()
		return 0, io.EOF
	}
	if f.single {
		left = 1
	}
	n, err := f.Conn.Read(b[:min(len(b), int(left))])
	f.in.Add(-int64(n))
	if f.flips != nil && n > 0 && f.flips.IntN(4) == 0 {
		b[f.flips.IntN(n)] ^= 1 << f.flips.IntN(8)
	}
	return n, err
}

func (f *faulty) Write(b []byte) (int, error) {
	left := int(f.out.Add(-int64(len(b)))) + len(b)
	if left >= len(b) {
		return f.Conn.Write(b)
	}
	n, _ := f.Conn.Write(b[:max(left, 0)])
	f.Conn.Close()
	return n, syscall.EPIPE
}

const endless = 1 << 40

// faultyClient returns a client whose first connection is faulty.
func faultyClient(t *testing.T, p *pcptest.PCP, f *faulty) *pmapi.Client {
	t.Helper()
	o := limits
	first := true
	o.Dial = func(ctx context.Context, network, address string) (net.Conn, error) {
		c, err := new(net.Dialer).DialContext(ctx, network, address)
		if err != nil || !first {
			return c, err
		}
		first = false
		f.Conn = c
		return f, nil
	}
	c, err := pmapi.NewClient("unix:"+p.Socket(), &o)
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// TestCut: the connection breaks after each byte that goes one way or the other. The client
// goes on by itself or says that it may be asked again, and then what it brings is right.
func TestCut(t *testing.T) {
	t.Parallel()
	p := start(t)
	f := sound()
	f.single = true
	asked := cut(t, p, f)
	received, sent := endless-f.in.Load(), endless-f.out.Load()
	if asked != 1 || received < 100 || sent < 100 {
		t.Fatalf("asked %d times over a connection that does not break, %d bytes received, %d sent", asked, received, sent)
	}
	for n := range received {
		f := sound()
		f.in.Store(n)
		cut(t, p, f)
	}
	for n := range sent {
		f := sound()
		f.out.Store(n)
		cut(t, p, f)
	}
}

// cut reads over a faulty connection until it succeeds, and returns how often it had to ask.
func cut(t *testing.T, p *pcptest.PCP, f *faulty) (asked int) {
	t.Helper()
	received, sent := f.in.Load(), f.out.Load()
	c := faultyClient(t, p, f)
	defer c.Close()
	for end := time.Now().Add(pcptest.Deadline); ; time.Sleep(time.Millisecond) {
		asked++
		list, err := c.Read(context.Background(), "test.color", "pmcd.version")
		if err == nil {
			if got, want := fmt.Sprint(list[0].Values), "[{{0 red} 5} {{1 green} 5}]"; got != want || len(list[1].Values) != 1 {
				t.Errorf("after %d bytes in, %d out: %s, want %s", received, sent, got, want)
			}
			return asked
		}
		if !pmapi.MayRetry(err) || time.Now().After(end) {
			t.Errorf("after %d bytes in, %d out: %v, MayRetry %v", received, sent, err, pmapi.MayRetry(err))
			return asked
		}
	}
}

// TestFlips: bits change on the way. Whatever that makes of the answers, each request ends.
func TestFlips(t *testing.T) {
	t.Parallel()
	p := start(t)
	for seed := range uint64(200) {
		f := sound()
		f.flips = rand.New(rand.NewPCG(seed, 1))
		c := faultyClient(t, p, f)
		// A length that has become longer is waited for, but not for ever.
		ctx, cancel := context.WithTimeout(context.Background(), 20*time.Millisecond)
		list, err := c.Read(ctx, "test.color", "pmcd.version")
		if err == nil && len(list) != 2 {
			t.Errorf("seed %d: %d readings", seed, len(list))
		}
		_, _ = c.Traverse(ctx, "")
		cancel()
		c.Close()
	}
	if asked := cut(t, p, sound()); asked != 1 {
		t.Errorf("a client without faults had to ask %d times afterwards", asked)
	}
}

// sound returns what does not break.
func sound() *faulty {
	f := new(faulty)
	f.in.Store(endless)
	f.out.Store(endless)
	return f
}
