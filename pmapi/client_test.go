package pmapi

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/pcp-rtime/rtime/pcp"
	"github.com/pcp-rtime/rtime/pdu"
)

// hangUp closes the connection at the end of a script.
func hangUp(m *mockConn) error { return m.Close() }

// TestReconnect: a request that finds its connection broken is sent again on a new one, with
// its profile. The changes count the new connection.
func TestReconnect(t *testing.T) {
	only := Only(7, 3)
	only.Context = 99 // is ignored
	wire := pdu.Profile{InDoms: only.InDoms}
	c := clientMock(t,
		after(features, expect(&wire), expect(fetchLoad), send(loadIs5), expect(fetchLoad), send(&pdu.Error{Code: 3}), send(loadIs5), hangUp),
		after(features, expect(&wire), expect(fetchLoad), send(loadIs5)))
	var s Sample
	for i, want := range []Changes{{}, {Agents: 1}, {Agents: 2, Names: 1, Labels: 1}} {
		if err := c.Fetch(context.Background(), &s, only, load); err != nil {
			t.Fatal(err)
		}
		if s.Changes != want || len(s.Sets) != 1 || fmt.Sprint(s.Sets[0].Values) != "[{3 5}]" || !s.Time.Equal(time.Unix(1000, 5)) {
			t.Errorf("fetch %d: %+v at %v, changes %+v, want %+v", i, s.Sets, s.Time, s.Changes, want)
		}
	}
}

// TestSendOnce: a store whose answer is lost is not sent again. The next request gets a new
// connection.
func TestSendOnce(t *testing.T) {
	var value pdu.Result
	value.Sets = []pdu.ValueSet{{PMID: 100, Values: []pdu.InstValue{{Inst: 3, Value: pcp.Num(uint32(1))}}}}
	c := clientMock(t, after(features, expect(descReq), send(desc), expect(&value), hangUp),
		after(features, expect(descReq), send(desc)))
	ctx := context.Background()
	if _, err := c.Desc(ctx, 100); err != nil {
		t.Fatal(err)
	}
	if err := c.Store(ctx, load, 3, pcp.Num(uint32(1))); !errors.Is(err, io.ErrUnexpectedEOF) || MayRetry(err) {
		t.Errorf("store: %v, MayRetry %v", err, MayRetry(err))
	}
	if _, err := c.Desc(ctx, 100); err != nil {
		t.Error(err)
	}
}

// TestSecondBreak: a request that also breaks a new connection is not sent a third time.
func TestSecondBreak(t *testing.T) {
	c := clientMock(t, after(features, expect(descReq), send(desc), hangUp), after(features, expect(descReq), hangUp))
	if _, err := c.Desc(context.Background(), 100); err != nil {
		t.Fatal(err)
	}
	if _, err := c.Desc(context.Background(), 100); !errors.Is(err, io.ErrUnexpectedEOF) || !MayRetry(err) {
		t.Errorf("%v, MayRetry %v", err, MayRetry(err))
	}
}

// TestPause: while no connection can be made, few attempts are made, and each request says
// why.
func TestPause(t *testing.T) {
	var attempts atomic.Int32
	var up atomic.Bool
	good := mock(t, after(features, expect(descReq), send(desc)))
	c, err := NewClient("mock", &Options{Dial: func(ctx context.Context, network, address string) (net.Conn, error) {
		attempts.Add(1)
		if up.Load() {
			return good.Dial(ctx, network, address)
		}
		return nil, syscall.ECONNREFUSED
	}})
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	for range 10000 {
		if _, err := c.Desc(context.Background(), 100); !errors.Is(err, syscall.ECONNREFUSED) || !MayRetry(err) {
			t.Fatalf("%v, MayRetry %v", err, MayRetry(err))
		}
	}
	c.until = time.Now().Add(time.Hour)
	before := attempts.Load()
	if _, err := c.Desc(context.Background(), 100); err == nil || attempts.Load() != before {
		t.Errorf("%d attempts during the pause; %v", attempts.Load()-before, err)
	}
	c.until = time.Now()
	up.Store(true)
	for end := time.Now().Add(patience); ; time.Sleep(10 * time.Millisecond) {
		if _, err = c.Desc(context.Background(), 100); err == nil {
			break
		}
		if time.Now().After(end) {
			t.Fatal(err)
		}
	}
	if c.pause != 0 || c.failed != nil {
		t.Errorf("after the connection the pause is %v, %v", c.pause, c.failed)
	}
}

// TestTurns: goroutines take turns, and one that waits stops when its context ends.
func TestTurns(t *testing.T) {
	var c *Client
	c = clientMock(t, after(features, expect(descReq), func(*mockConn) error {
		ctx, cancel := context.WithTimeout(context.Background(), 10*time.Millisecond)
		defer cancel()
		if _, err := c.Desc(ctx, 100); !errors.Is(err, context.DeadlineExceeded) || !MayRetry(err) {
			return fmt.Errorf("a request that waits for its turn: %v", err)
		}
		return nil
	}, send(desc), expect(descReq), send(desc), expect(descReq), send(desc)))
	if err := c.Connect(context.Background()); err != nil {
		t.Fatal(err)
	}
	var all sync.WaitGroup
	for range 3 {
		all.Go(func() {
			if _, err := c.Desc(context.Background(), 100); err != nil {
				t.Error(err)
			}
		})
	}
	all.Wait()
}

// TestCloseClient: Close ends a request or an attempt to connect that is under way. Later
// requests fail, too.
func TestCloseClient(t *testing.T) {
	var c *Client
	c = clientMock(t, after(features, expect(descReq), func(*mockConn) error { return c.Close() }, silence))
	for range 2 {
		if _, err := c.Desc(context.Background(), 100); !errors.Is(err, ErrClosed) {
			t.Error(err)
		}
	}
	c, err := NewClient("mock", &Options{ConnectTimeout: patience, Dial: func(ctx context.Context, _, _ string) (net.Conn, error) {
		c.Close()
		<-ctx.Done()
		return nil, ctx.Err()
	}})
	if err != nil {
		t.Fatal(err)
	}
	if err := c.Connect(context.Background()); !errors.Is(err, ErrClosed) || MayRetry(err) {
		t.Errorf("Close while connecting: %v", err)
	}
}
