// Package pmdatest is a small pmcd inside the test process: it serves an agent over a
// pipe, as pmcd does, and asks it for whatever a client could ask for. An agent's
// tests need no PCP for that.
//
//	func TestHello(t *testing.T) {
//		c := pmdatest.Start(t, hello())
//		if v, err := c.Value("hello.uptime", ""); err != nil {
//			t.Errorf("hello.uptime: %v", err)
//		} else if s, _ := v.Float64(); !(s > 0) {
//			t.Errorf("hello.uptime is %v", v)
//		}
//	}
//
// All methods end the test with t.Fatal if the agent breaks the protocol. They return
// errors that the agent answers; a method that returns no error ends the test instead. A
// Conn belongs to one goroutine.
package pmdatest

import (
	"io"
	"log"
	"os"
	"sync"
	"testing"

	"github.com/pcp-rtime/rtime/pcp"
	"github.com/pcp-rtime/rtime/pdu"
	"github.com/pcp-rtime/rtime/pmda"
)

// Conn is the far end of an agent's connection.
type Conn struct {
	t    testing.TB
	rw   io.ReadWriteCloser
	r    *pdu.Reader
	Slot int32 // the client that requests are made for
	out  []byte

	// State holds the pcp.State... bits of the last result.
	State uint32
	// Creds is what the agent introduced itself with.
	Creds pdu.Creds
}

// Start serves an agent with default options until the test ends. Its log goes to
// the test's.
func Start(t testing.TB, a *pmda.Agent) *Conn {
	t.Helper()
	return StartOptions(t, a, pmda.Options{})
}

// StartOptions is Start with options. Where Log is nil it is the test's log.
func StartOptions(t testing.TB, a *pmda.Agent, o pmda.Options) *Conn {
	t.Helper()
	if o.Log == nil {
		o.Log = log.New(testWriter{t: t, over: new(overFlag)}, "", 0)
	}
	if a.Setup != nil {
		if err := a.Setup(&o); err != nil {
			t.Fatal(err)
		}
	}
	s, err := pmda.New(a, o)
	if err != nil {
		t.Fatal(err)
	}
	if a.Start != nil {
		if err := a.Start(s); err != nil {
			t.Fatal(err)
		}
	}
	near, far := Pipe(t)
	var wg sync.WaitGroup
	wg.Add(1)
	go func() {
		defer wg.Done()
		if err := s.Serve(far); err != nil {
			t.Errorf("agent: %v", err)
		}
		if a.Stop != nil {
			a.Stop()
		}
		if err := s.Close(); err != nil {
			t.Errorf("agent: %v", err)
		}
	}()
	t.Cleanup(func() {
		near.Close()
		wg.Wait()
		if w, ok := o.Log.Writer().(testWriter); ok {
			w.over.set()
		}
	})
	return Connect(t, near)
}

// Connect greets an agent on a connection that exists. It knows the names of those metrics
// only that are in dynamic subtrees.
func Connect(t testing.TB, rw io.ReadWriteCloser) *Conn {
	t.Helper()
	c := &Conn{t: t, rw: rw, r: pdu.NewReader(rw, 0)}
	creds, ok := c.read().(*pdu.Creds)
	if !ok {
		t.Fatalf("the agent does not begin with CREDS")
	}
	c.Creds = *creds
	c.Send(&pdu.Creds{Version: 2, Flags: creds.Flags & pcp.FeatureAuth})
	return c
}

// Pipe returns two connected ends, made of two pipes of the operating system.
func Pipe(t testing.TB) (a, b io.ReadWriteCloser) {
	t.Helper()
	r1, w1, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	r2, w2, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	return ends{r1, w2}, ends{r2, w1}
}

type ends struct{ r, w *os.File }

func (e ends) Read(b []byte) (int, error)  { return e.r.Read(b) }
func (e ends) Write(b []byte) (int, error) { return e.w.Write(b) }
func (e ends) Close() error {
	e.r.Close()
	return e.w.Close()
}

// testWriter is a test's log for as long as the test runs.
type testWriter struct {
	t    testing.TB
	over *overFlag
}

type overFlag struct {
	mu sync.Mutex
	is bool
}

func (o *overFlag) set() {
	o.mu.Lock()
	o.is = true
	o.mu.Unlock()
}

func (w testWriter) Write(b []byte) (int, error) {
	w.over.mu.Lock()
	defer w.over.mu.Unlock()
	if !w.over.is {
		w.t.Logf("log: %s", b)
	}
	return len(b), nil
}

// Send sends a PDU that has no answer, in the name of client Slot.
func (c *Conn) Send(p pdu.PDU) {
	c.t.Helper()
	c.out = p.Append(c.out[:0], c.Slot)
	if _, err := c.rw.Write(c.out); err != nil {
		c.t.Fatalf("sending %v: %v", p.Type(), err)
	}
}

// Ask sends a request and returns the answer. An ERROR with a code other than 0
// comes back as the error.
func (c *Conn) Ask(p pdu.PDU) (pdu.PDU, error) {
	c.t.Helper()
	c.Send(p)
	answer := c.read()
	if e, ok := answer.(*pdu.Error); ok && e.Code != 0 {
		return nil, e.Code
	}
	return answer, nil
}

// Read returns a PDU that the agent sends unasked, such as the one that says it is
// ready.
func (c *Conn) Read() pdu.PDU {
	c.t.Helper()
	return c.read()
}

func (c *Conn) read() pdu.PDU {
	c.t.Helper()
	b, err := c.r.Next()
	if err != nil {
		c.t.Fatalf("reading from the agent: %v", err)
	}
	p, err := pdu.Decode(b)
	if err != nil {
		c.t.Fatalf("the agent sent %x: %v", b, err)
	}
	return p
}

// Close hangs up.
func (c *Conn) Close() error { return c.rw.Close() }
