package pmapi

import (
	"context"
	"encoding/binary"
	"errors"
	"io"
	"math"
	"net"
	"testing"
	"time"

	"github.com/pcp-rtime/rtime/pcp"
	"github.com/pcp-rtime/rtime/pdu"
)

// tape is a connection on which pmcd has already sent all that it will ever send.
type tape struct {
	net.Conn // not used
	said     []byte
}

func (t *tape) Read(b []byte) (int, error) {
	if len(t.said) == 0 {
		return 0, io.EOF
	}
	n := copy(b, t.said)
	t.said = t.said[n:]
	return n, nil
}

func (t *tape) Write(b []byte) (int, error)     { return len(b), nil }
func (t *tape) SetDeadline(time.Time) error     { return nil }
func (t *tape) SetReadDeadline(time.Time) error { return nil }
func (t *tape) Close() error                    { return nil }

// play makes a connection on which pmcd sends said.
func play(said []byte, host string) (*Conn, error) {
	return Dial(context.Background(), host, &Options{ConnectTimeout: patience, RequestTimeout: patience, MaxAnswer: 1 << 20,
		Dial: func(context.Context, string, string) (net.Conn, error) { return &tape{said: said}, nil }})
}

// FuzzGreeting: whatever pmcd sends first, there is a connection or an error.
func FuzzGreeting(f *testing.F) {
	for _, host := range []string{"mock", "unix:/mock", "mock?container=a", "mock@proxy", "pcps://mock"} {
		f.Add(host, send2(&pdu.Greeting{Version: 2, Features: features}, &pdu.IDs{PMIDs: []pcp.PMID{1}}))
		f.Add(host, send2(&pdu.Greeting{Version: 2, Features: features | pcp.FeatureSecure | featureSecureAck}, &pdu.Error{}))
		f.Add(host, send2(&pdu.Greeting{Version: 2}, &pdu.Error{Code: pcp.ErrAgain}, &pdu.IDs{}))
		f.Add(host, append([]byte("pmproxy-server 1\n"), send2(&pdu.Greeting{Version: 2})...))
	}
	f.Fuzz(func(t *testing.T, host string, said []byte) {
		h, err := ParseHost(host)
		if err != nil {
			return
		}
		if len(h.targets()) > 4 {
			return
		}
		if c, err := play(said, host); err == nil {
			c.Close()
		} else if e := new(Error); !errors.As(err, &e) {
			t.Errorf("%T", err)
		}
	})
}

// FuzzAnswers: whatever pmcd answers to a request, there is a result or an error of this
// package. The connection is closed unless the error is pmcd's answer.
func FuzzAnswers(f *testing.F) {
	all := calls()
	for i, k := range all {
		for _, code := range []pcp.Error{pcp.ErrAgain, 0, 1} {
			f.Add(i, send2(&pdu.Error{Code: code}, k.answer))
		}
		f.Add(i, send2(k.answer))
	}
	greeting := (&pdu.Greeting{Version: 2, Features: features}).Append(nil, 0)
	f.Fuzz(func(t *testing.T, which int, said []byte) {
		if len(said) >= 4 && binary.BigEndian.Uint32(said) > uint32(len(said)) {
			binary.BigEndian.PutUint32(said, uint32(len(said))) // otherwise most inputs would end here
		}
		c, err := play(greeting, "mock")
		if err != nil {
			t.Fatal(err)
		}
		c.raw.(*tape).said = said
		k := all[uint(which)%uint(len(all))]
		_, err = k.do(c.requests)
		if err == nil {
			return
		}
		e := new(Error)
		if !errors.As(err, &e) {
			if !errors.Is(err, pcp.ErrText) && !errors.Is(err, ErrProtocol) {
				t.Fatalf("%s: %T %v", k.name, err, err)
			}
			return
		}
		if isAnswer(e.Err) == c.closed.Load() && !errors.Is(err, ErrClosed) {
			t.Errorf("%s: %v, closed %v", k.name, err, c.closed.Load())
		}
	})
}

// FuzzHost: any text is a host or an error. What String returns is the same host.
func FuzzHost(f *testing.F) {
	for _, s := range []string{"", "local:", "unix:/a", "pcp://a:1,2@b:3?container=c", "[::1]:4?secure=relaxed", "a?x"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		h, err := ParseHost(s)
		if err != nil {
			return
		}
		if again, err := ParseHost(h.String()); err != nil || again.String() != h.String() {
			t.Errorf("%q: %q is %q, %v", s, h, again, err)
		}
		if len(h.targets()) == 0 {
			t.Errorf("%q leads nowhere", s)
		}
	})
}

// FuzzRate: the rate of any two samples is a number or an error.
func FuzzRate(f *testing.F) {
	f.Add(int32(1), uint64(1), uint64(2), uint32(0x00100000), int64(1e9))
	f.Add(int32(5), uint64(1<<63), uint64(2), uint32(0x01003000), int64(-1))
	f.Fuzz(func(t *testing.T, typ int32, a, b uint64, units uint32, interval int64) {
		m := &Metric{Desc: pcp.Desc{PMID: 1, Type: pcp.Type(typ), Sem: pcp.SemCounter, Units: pcp.UnitsFromWord(units)}}
		before := sampleOf(m, 0, pcp.RawNumber(m.Type, a))
		now := sampleOf(m, time.Duration(interval), pcp.RawNumber(m.Type, b))
		r, err := now.Rate(before, 0, 0)
		if err == nil && !(r >= 0 && r <= math.MaxFloat64) || err != nil && !errors.Is(err, ErrNoRate) {
			t.Errorf("%v, %v", r, err)
		}
		_ = m.RateUnits().String()
	})
}
