package pmapi

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/pcp-rtime/rtime/pcp"
	"github.com/pcp-rtime/rtime/pdu"
)

// patience limits how long a test waits for something that should come at once.
const patience = time.Minute

// features are those that pmcd 6 offers.
const features = pcp.FeatureDescs | pcp.FeatureHighres | pcp.FeatureLabels | pcp.FeatureContainer | pcp.FeatureAuth

// step is a step of a scripted pmcd.
type step func(m *mockConn) error

// mockConn is the script's end of a connection.
type mockConn struct {
	net.Conn
	r *pdu.Reader
}

// expect reads a message, which must be p.
func expect(p pdu.PDU) step {
	return func(m *mockConn) error {
		b, err := m.r.Next()
		if err != nil {
			return fmt.Errorf("expecting %v: %w", p.Type(), err)
		}
		if want := p.Append(nil, 0); !bytes.Equal(b, want) {
			return fmt.Errorf("the client sends\n%x, want\n%x", b, want)
		}
		return nil
	}
}

// send writes a message.
func send(p pdu.PDU) step { return raw(p.Append(nil, 0)) }

// raw writes bytes.
func raw(b []byte) step {
	return func(m *mockConn) error {
		_, err := m.Write(b)
		return err
	}
}

// silence waits until the client has closed the connection. It fails if the client sends
// anything.
func silence(m *mockConn) error {
	b, err := m.r.Next()
	if err == nil {
		return fmt.Errorf("the client sends %x, want nothing", b)
	}
	if err != io.EOF && !errors.Is(err, syscall.ECONNRESET) {
		return fmt.Errorf("want nothing of the client: %w", err)
	}
	return nil
}

// do calls a function.
func do(f func()) step {
	return func(*mockConn) error { f(); return nil }
}

// The beginning of each connection, with the features f.
func greeting(f uint16) []step {
	return []step{send(&pdu.Greeting{Version: 2, Features: f}), expect(&pdu.Creds{Version: 2})}
}

func after(f uint16, steps ...step) []step { return append(greeting(f), steps...) }

// mock returns options whose connections are each served by one script, in order. If there
// are no more scripts, the connection is refused. The test fails if a step fails or is never
// reached. A script closes the connection after its last step.
func mock(t testing.TB, scripts ...[]step) *Options {
	t.Helper()
	var mu sync.Mutex
	var running sync.WaitGroup
	t.Cleanup(func() {
		running.Wait()
		mu.Lock()
		defer mu.Unlock()
		if len(scripts) > 0 {
			t.Errorf("%d more connections were expected", len(scripts))
		}
	})
	return &Options{ConnectTimeout: patience, RequestTimeout: patience,
		Dial: func(context.Context, string, string) (net.Conn, error) {
			mu.Lock()
			defer mu.Unlock()
			if len(scripts) == 0 {
				return nil, syscall.ECONNREFUSED
			}
			near, far := pair(t)
			m := &mockConn{far, pdu.NewReader(far, 0)}
			script := scripts[0]
			scripts = scripts[1:]
			running.Go(func() {
				defer far.Close()
				_ = far.SetDeadline(time.Now().Add(patience))
				for i, s := range script {
					if err := s(m); err != nil {
						t.Errorf("step %d of pmcd: %v", i, err)
						return
					}
				}
			})
			return near, nil
		}}
}

// pair returns two connected sockets.
func pair(t testing.TB) (a, b net.Conn) {
	t.Helper()
	l, err := net.Listen("unix", "")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	type result struct {
		net.Conn
		error
	}
	accepted := make(chan result, 1)
	go func() {
		c, err := l.Accept()
		accepted <- result{c, err}
	}()
	if a, err = net.Dial("unix", l.Addr().String()); err != nil {
		t.Fatal(err)
	}
	r := <-accepted
	if r.error != nil {
		t.Fatal(r.error)
	}
	return a, r.Conn
}

// dialMock connects to a scripted pmcd that sends a greeting and then takes these steps.
func dialMock(t testing.TB, steps ...step) *Conn {
	t.Helper()
	c, err := Dial(context.Background(), "mock", mock(t, after(features, steps...)))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { c.Close() })
	return c
}

// clientMock returns a client of a pmcd with these scripts.
func clientMock(t testing.TB, scripts ...[]step) *Client {
	t.Helper()
	c, err := NewClient("mock", mock(t, scripts...))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { c.Close() })
	return c
}
