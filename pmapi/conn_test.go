package pmapi

import (
	"context"
	"errors"
	"io"
	"net"
	"os"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/pcp-rtime/rtime/pcp"
	"github.com/pcp-rtime/rtime/pdu"
)

var (
	load    = &Metric{Name: "load", Desc: pcp.Desc{PMID: 100, Type: pcp.TypeU32, InDom: 7, Sem: pcp.SemInstant}}
	reads   = &Metric{Name: "reads", Desc: pcp.Desc{PMID: 101, Type: pcp.TypeU64, InDom: 7, Sem: pcp.SemCounter, Units: pcp.Count}}
	descReq = &pdu.DescReq{PMID: 100}
	desc    = &pdu.Desc{Desc: load.Desc}

	profile   = &pdu.Profile{}
	fetchLoad = &pdu.HighresFetch{PMIDs: []pcp.PMID{100}}
	loadIs5   = &pdu.HighresResult{Sec: 1000, Nsec: 5, Sets: []pdu.ValueSet{{PMID: 100,
		Values: []pdu.InstValue{{Inst: 3, Value: pcp.Num(uint32(5))}}}}}
)

// TestGreeting: pmcd's first message decides whether there is a connection, and which
// features the client asks for.
func TestGreeting(t *testing.T) {
	settled := []step{expect(&pdu.Names{Names: []string{"pmcd.version"}}), send(&pdu.IDs{Status: 1, PMIDs: []pcp.PMID{1}})}
	for name, tt := range map[string]struct {
		host  string
		steps []step
		want  error  // errors.Is
		text  string // part of the error's text
		retry bool
	}{
		"good":               {"mock", greeting(features), nil, "", false},
		"refused":            {"mock", []step{send(&pdu.Greeting{Code: pcp.ErrPermission})}, pcp.ErrPermission, "", false},
		"too many":           {"mock", []step{send(&pdu.Greeting{Code: pcp.ErrConnLimit})}, pcp.ErrConnLimit, "", true},
		"refused, version 1": {"mock", []step{send(&pdu.Greeting{Code: -1042})}, pcp.ErrPermission, "", false},
		"version 3":          {"mock", []step{send(&pdu.Greeting{Version: 3})}, nil, "version 3", true},
		"not a pmcd":         {"mock", []step{raw([]byte("SSH-2.0-OpenSSH_9.2p1\r\n"))}, pdu.ErrTooLong, "", true},
		"another message":    {"mock", []step{send(desc)}, pdu.ErrWrongType, "not the greeting", true},
		"short":              {"mock", []step{raw([]byte{0, 0, 0, 20, 0, 0, 0x70})}, io.ErrUnexpectedEOF, "", true},
		"silent":             {"mock", nil, io.EOF, "greeting", true},
		"login":              {"mock", []step{send(&pdu.Greeting{Version: 2, Features: featureCredsRequired})}, errLogin, "", false},
		"no TLS":             {"pcps://mock", []step{send(&pdu.Greeting{Version: 2, Features: features})}, errPlain, "", false},
		"TLS if it is there": {"mock?secure=relaxed", greeting(features), nil, "", false},
		"TLS refused": {"pcps://mock", []step{send(&pdu.Greeting{Version: 2, Features: pcp.FeatureSecure | featureSecureAck}),
			expect(&pdu.Creds{Version: 2, Flags: pcp.FeatureSecure | featureSecureAck}),
			send(&pdu.Error{Code: pcp.ErrPermission})}, pcp.ErrPermission, "", false},
		"bytes in the clear before TLS": {"pcps://mock", []step{send(&pdu.Greeting{Version: 2, Features: pcp.FeatureSecure | featureSecureAck}),
			expect(&pdu.Creds{Version: 2, Flags: pcp.FeatureSecure | featureSecureAck}),
			raw(send2(&pdu.Error{}, &pdu.Error{}))}, ErrProtocol, "before TLS", true},
		"container": {"mock?container=web", append([]step{send(&pdu.Greeting{Version: 2, Features: features}),
			expect(&pdu.Creds{Version: 2, Flags: pcp.FeatureContainer}),
			expect(&pdu.Attr{Attr: pcp.AttrContainer, Value: "web"})}, settled...), nil, "", false},
		"no containers": {"mock?container=web", []step{send(&pdu.Greeting{Version: 2})}, ErrNotOffered, "containers", false},
		"login by socket": {"unix:/mock", append([]step{send(&pdu.Greeting{Version: 2, Features: featureCredsRequired}),
			expect(&pdu.Creds{Version: 2, Flags: featureCredsRequired})}, settled...), nil, "", false},
		"errors that belong to no request": {"unix:/mock", after(features, settled[0], send(&pdu.Error{Code: pcp.ErrAgain}),
			send(&pdu.Error{Code: pcp.ErrAgain}), settled[1]), nil, "", false},
		"nothing but errors": {"unix:/mock", after(features, settled[0], raw(send2(&pdu.Error{Code: pcp.ErrAgain},
			&pdu.Error{Code: pcp.ErrAgain}, &pdu.Error{Code: pcp.ErrAgain}, &pdu.Error{Code: pcp.ErrAgain}))), pcp.ErrAgain, "", true},
		"proxy": {"mock:4@proxy", append([]step{line("pmproxy-client 1\n"), raw([]byte("pmproxy-server 1\n")),
			line("mock 4\n")}, greeting(features)...), nil, "", false},
		"no proxy":      {"mock@proxy", []step{line("pmproxy-client 1\n"), raw([]byte("HTTP/1.1 400 Bad Request\r\n"))}, nil, "HTTP", true},
		"endless proxy": {"mock@proxy", []step{line("pmproxy-client 1\n"), raw([]byte(strings.Repeat("x", 100)))}, nil, "xxx", true},
	} {
		t.Run(name, func(t *testing.T) {
			c, err := Dial(context.Background(), tt.host, mock(t, tt.steps))
			if tt.want == nil && tt.text == "" {
				if err != nil {
					t.Fatal(err)
				}
				if err := c.Close(); err != nil {
					t.Error(err)
				}
				return
			}
			if err == nil {
				t.Fatal("there is a connection")
			}
			if tt.want != nil && !errors.Is(err, tt.want) || !strings.Contains(err.Error(), tt.text) {
				t.Errorf("%v, want %v and %q", err, tt.want, tt.text)
			}
			if MayRetry(err) != tt.retry {
				t.Errorf("MayRetry of %v is %v", err, !tt.retry)
			}
		})
	}
}

// send2 returns several messages as they are in the stream.
func send2(pdus ...pdu.PDU) (b []byte) {
	for _, p := range pdus {
		b = p.Append(b, 0)
	}
	return b
}

// drain reads until the client has closed the connection.
func drain(m *mockConn) error {
	if _, err := io.Copy(io.Discard, m); err != nil && !errors.Is(err, syscall.ECONNRESET) {
		return err
	}
	return nil
}

// line expects a text.
func line(want string) step {
	return func(m *mockConn) error {
		b := make([]byte, len(want))
		if _, err := io.ReadFull(m, b); err != nil || string(b) != want {
			return errors.New("the client sends " + string(b))
		}
		return nil
	}
}

// TestCancel: a context that ends during a request ends the request and the connection. If it
// has ended before, nothing is sent.
func TestCancel(t *testing.T) {
	ctx, cancel := context.WithCancel(context.Background())
	c := dialMock(t, expect(descReq), do(cancel), silence)
	_, err := c.Desc(ctx, 100)
	if !errors.Is(err, context.Canceled) || !MayRetry(err) {
		t.Errorf("%v, MayRetry %v", err, MayRetry(err))
	}
	_, err = c.Desc(context.Background(), 100)
	if !errors.Is(err, ErrClosed) || !errors.Is(err, context.Canceled) || !MayRetry(err) {
		t.Errorf("after it: %v, MayRetry %v", err, MayRetry(err))
	}

	c = dialMock(t, expect(descReq), send(desc), silence)
	if _, err := c.Desc(ctx, 100); !errors.Is(err, context.Canceled) || !MayRetry(err) {
		t.Errorf("a context that has ended: %v, MayRetry %v", err, MayRetry(err))
	}
	if d, err := c.Desc(context.Background(), 100); err != nil || d != load.Desc {
		t.Errorf("after it: %v, %v", d, err)
	}
	c.Close()
}

// TestDeadline: errors distinguish the deadline of a context from the connection's own
// time-out.
func TestDeadline(t *testing.T) {
	ctx, cancel := context.WithTimeout(context.Background(), 20*time.Millisecond)
	defer cancel()
	c := dialMock(t, drain) // the deadline may pass before anything is sent
	if _, err := c.Desc(ctx, 100); !errors.Is(err, context.DeadlineExceeded) || errors.Is(err, ErrTimeout) {
		t.Errorf("deadline of the context: %v", err)
	}
	c = dialMock(t, drain)
	c.opts.RequestTimeout = 20 * time.Millisecond
	if _, err := c.Desc(context.Background(), 100); !errors.Is(err, ErrTimeout) || !MayRetry(err) {
		t.Errorf("RequestTimeout: %v", err)
	}
	o := mock(t, []step{silence})
	o.ConnectTimeout = 20 * time.Millisecond
	if _, err := Dial(context.Background(), "mock", o); !errors.Is(err, ErrTimeout) || !MayRetry(err) {
		t.Errorf("ConnectTimeout: %v", err)
	}
	ctx, cancel = context.WithTimeout(context.Background(), 20*time.Millisecond)
	defer cancel()
	if _, err := Dial(ctx, "mock", mock(t, []step{silence})); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("deadline while connecting: %v", err)
	}
}

// TestRace: whether the answer comes first or the context ends first, the next request gets
// its own answer or finds the connection closed.
func TestRace(t *testing.T) {
	for range 200 {
		ctx, cancel := context.WithCancel(context.Background())
		c := dialMock(t, expect(descReq), func(m *mockConn) error {
			go cancel()
			_, err := m.Write(desc.Append(nil, 0))
			if err != nil && !errors.Is(err, syscall.EPIPE) {
				return err
			}
			b, err := m.r.Next()
			if err != nil {
				return nil // the context ended first
			}
			_, err = m.Write(desc.Append(b[:0:0], 0))
			return err
		})
		_, first := c.Desc(ctx, 100)
		_, second := c.Desc(context.Background(), 100)
		if first == nil && second != nil || first != nil && (!errors.Is(first, context.Canceled) || !errors.Is(second, ErrClosed)) {
			t.Fatalf("the first ends with %v, the second with %v", first, second)
		}
		c.Close()
	}
}

// TestBusy: a second request at the same time is refused, and the first goes on.
func TestBusy(t *testing.T) {
	var c *Conn
	c = dialMock(t, expect(descReq), func(*mockConn) error {
		if _, err := c.Desc(context.Background(), 100); !errors.Is(err, ErrBusy) || !MayRetry(err) {
			return err
		}
		return nil
	}, send(desc))
	if _, err := c.Desc(context.Background(), 100); err != nil {
		t.Error(err)
	}
}

// TestClose: Close ends a request that is under way, and may be called twice.
func TestClose(t *testing.T) {
	var c *Conn
	c = dialMock(t, expect(descReq), func(*mockConn) error { return c.Close() })
	if _, err := c.Desc(context.Background(), 100); !errors.Is(err, ErrClosed) {
		t.Error(err)
	}
	if err := c.Close(); err != nil {
		t.Error(err)
	}
}

// failing is a connection whose writes fail after a number of bytes.
type failing struct {
	net.Conn
	left int
}

func (f *failing) Write(b []byte) (int, error) {
	if len(b) <= f.left {
		f.left -= len(b)
		return f.Conn.Write(b)
	}
	n, _ := f.Conn.Write(b[:f.left])
	f.left = 0
	return n, syscall.EPIPE
}

// TestMayRetry: a store may be sent again only if nothing of it was sent, or if the agent
// cannot have received it. All other requests may be sent again.
func TestMayRetry(t *testing.T) {
	const creds = 20 // bytes before the request
	store := func(c *Conn) error {
		return c.Store(context.Background(), load, 3, pcp.Num(uint32(1)))
	}
	look := func(c *Conn) error { return second(c.Desc(context.Background(), 100)) }
	value := &pdu.Result{Sets: []pdu.ValueSet{{PMID: 100, Values: []pdu.InstValue{{Inst: 3, Value: pcp.Num(uint32(1))}}}}}
	long := func(c *Conn) error {
		m := *load
		m.Type = pcp.TypeString
		return c.Store(context.Background(), &m, 3, pcp.Str(strings.Repeat("x", maxRequest)))
	}
	for name, tt := range map[string]struct {
		request func(*Conn) error
		room    int // number of bytes that can be written
		steps   []step
		want    error
		retry   bool
		closed  bool
	}{
		"store, nothing left":    {store, creds, []step{drain}, syscall.EPIPE, true, true},
		"store, a part left":     {store, creds + 10, []step{drain}, syscall.EPIPE, false, true},
		"store, no answer":       {store, 1 << 20, []step{expect(value)}, io.ErrUnexpectedEOF, false, true},
		"store, half an answer":  {store, 1 << 20, []step{expect(value), raw([]byte{0, 0})}, io.ErrUnexpectedEOF, false, true},
		"store, refused":         {store, 1 << 20, []step{expect(value), send(&pdu.Error{Code: pcp.ErrPermission})}, pcp.ErrPermission, false, false},
		"store, not now":         {store, 1 << 20, []step{expect(value), send(&pdu.Error{Code: pcp.ErrAgain})}, pcp.ErrAgain, false, false},
		"store, notice":          {store, 1 << 20, []step{expect(value), send(&pdu.Error{Code: 1})}, ErrProtocol, false, true},
		"store, other answer":    {store, 1 << 20, []step{expect(value), send(desc)}, pdu.ErrWrongType, false, true},
		"store, too long":        {long, 1 << 20, nil, ErrTooLong, false, false},
		"look-up, nothing left":  {look, creds, []step{drain}, syscall.EPIPE, true, true},
		"look-up, a part left":   {look, creds + 1, []step{drain}, syscall.EPIPE, true, true},
		"look-up, no answer":     {look, 1 << 20, []step{expect(descReq)}, io.ErrUnexpectedEOF, true, true},
		"look-up, refused":       {look, 1 << 20, []step{expect(descReq), send(&pdu.Error{Code: pcp.ErrPMID})}, pcp.ErrPMID, false, false},
		"look-up, not now":       {look, 1 << 20, []step{expect(descReq), send(&pdu.Error{Code: pcp.ErrAgain})}, pcp.ErrAgain, true, false},
		"look-up, code 0":        {look, 1 << 20, []step{expect(descReq), send(&pdu.Error{})}, ErrProtocol, true, true},
		"look-up, other answer":  {look, 1 << 20, []step{expect(descReq), send(loadIs5)}, pdu.ErrWrongType, true, true},
		"look-up, other metric":  {look, 1 << 20, []step{expect(descReq), send(&pdu.Desc{Desc: reads.Desc})}, pcp.ErrPMID, false, false},
		"look-up, unasked bytes": {lookTwice, 1 << 20, []step{expect(descReq), raw(send2(desc, desc))}, ErrProtocol, true, true},
	} {
		t.Run(name, func(t *testing.T) {
			o := mock(t, after(features, tt.steps...))
			plain := o.Dial
			o.Dial = func(ctx context.Context, network, address string) (net.Conn, error) {
				c, err := plain(ctx, network, address)
				return &failing{c, tt.room}, err
			}
			c, err := Dial(context.Background(), "mock", o)
			if err != nil {
				t.Fatal(err)
			}
			defer c.Close()
			err = tt.request(c)
			if !errors.Is(err, tt.want) || MayRetry(err) != tt.retry || c.closed.Load() != tt.closed {
				t.Errorf("%v, MayRetry %v, closed %v; want %v, %v, %v", err, MayRetry(err), c.closed.Load(), tt.want, tt.retry, tt.closed)
			}
		})
	}
	if MayRetry(nil) || MayRetry(os.ErrDeadlineExceeded) || MayRetry(pcp.ErrAgain) {
		t.Error("MayRetry of errors that are not this package's")
	}
}

func lookTwice(c *Conn) error {
	if _, err := c.Desc(context.Background(), 100); err != nil {
		return err
	}
	return second(c.Desc(context.Background(), 100))
}

func second[T any](_ T, err error) error { return err }

// TestAnnounced: an announced length costs no memory before the bytes arrive.
func TestAnnounced(t *testing.T) {
	c := dialMock(t, expect(descReq), raw([]byte{0x0f, 0xff, 0xff, 0xf0, 0, 0, 0x70, 5, 0, 0, 0, 0, 1, 2, 3}))
	if _, err := c.Desc(context.Background(), 100); !errors.Is(err, io.ErrUnexpectedEOF) {
		t.Error(err)
	}
	c = dialMock(t, expect(descReq), raw([]byte{0x10, 0, 0, 1, 0, 0, 0x70, 5, 0, 0, 0, 0}))
	if _, err := c.Desc(context.Background(), 100); !errors.Is(err, pdu.ErrTooLong) {
		t.Errorf("an answer that is longer than MaxAnswer: %v", err)
	}
}

// TestTooLong: a request that pmcd would not take is not sent, and the connection stays.
func TestTooLong(t *testing.T) {
	c := dialMock(t, expect(descReq), send(desc))
	ctx := context.Background()
	long := strings.Repeat("x", maxRequest)
	many := make([]*Metric, maxRequest/4)
	for i := range many {
		many[i] = load
	}
	var s Sample
	for name, err := range map[string]error{
		"fetch":    c.Fetch(ctx, &s, nil, many...),
		"profile":  c.Fetch(ctx, &s, Only(7, make([]int32, maxRequest/4)...), load),
		"children": second(c.Children(ctx, long)),
		"name":     second(c.LookupNames(ctx, long, "a")),
		"instance": second(c.LookupInstance(ctx, 7, long)),
	} {
		if !errors.Is(err, ErrTooLong) || MayRetry(err) {
			t.Errorf("%s: %v", name, err)
		}
	}
	if err := c.Fetch(ctx, &s, nil); !errors.Is(err, errNothing) {
		t.Errorf("a fetch of nothing: %v", err)
	}
	if _, err := c.Desc(ctx, 100); err != nil {
		t.Error(err)
	}
}
