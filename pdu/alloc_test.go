package pdu

import (
	"testing"

	"github.com/pcp-rtime/rtime/pcp"
)

// endless repeats its bytes for ever.
type endless struct {
	b   []byte
	off int
}

func (e *endless) Read(b []byte) (int, error) {
	n := 0
	for n < len(b) {
		m := copy(b[n:], e.b[e.off:])
		n += m
		e.off = (e.off + m) % len(e.b)
	}
	return n, nil
}

// TestAllocsParse pins what happens at every fetch.
func TestAllocsParse(t *testing.T) {
	fetch := (&Fetch{PMIDs: make([]pcp.PMID, 100)}).Append(nil, 0)
	profile := (&Profile{InDoms: []InDomProfile{{List: make([]int32, 1000)},
		{InDom: 1, List: make([]int32, 10)}}}).Append(nil, 0)
	less := (&Profile{InDoms: []InDomProfile{{List: make([]int32, 3)}}}).Append(nil, 0)
	store := goldenBytes(t, "store in situ")
	double := goldenBytes(t, "store of a double")
	var f Fetch
	var p Profile
	var r Result
	var e Error
	for name, parse := range map[string]func() error{
		"fetch":   func() error { return f.Parse(fetch) },
		"profile": func() error { return p.Parse(profile) },
		"profiles of changing size": func() error {
			if err := p.Parse(less); err != nil {
				return err
			}
			return p.Parse(profile)
		},
		"numbers in situ":   func() error { return r.Parse(store) },
		"numbers in blocks": func() error { return r.Parse(double) },
		"error":             func() error { return e.Parse(goldenNotConn) },
	} {
		n := testing.AllocsPerRun(100, func() {
			if err := parse(); err != nil {
				t.Fatal(err)
			}
		})
		if n != 0 {
			t.Errorf("%s: %v allocations in the steady state", name, n)
		}
	}
}

var goldenNotConn = mustHex("00000010 00007000 00000000 ffffcf99")

func TestAllocsAppend(t *testing.T) {
	b := make([]byte, 0, 64<<10)
	for _, g := range goldens {
		if g.pdu.Type() == TypeLabel {
			continue // its JSON text is made anew
		}
		if t := g.pdu.Type(); !poolKeeps && (t == TypeResult || t == TypeHighresResult) {
			continue // they are written by a writer from a pool
		}
		if n := testing.AllocsPerRun(100, func() { g.pdu.Append(b, 0) }); n != 0 {
			t.Errorf("%s: %v allocations with room in the buffer", g.name, n)
		}
	}
}

func TestAllocsReader(t *testing.T) {
	r := NewReader(&endless{b: allGoldens(t)}, 0)
	n := testing.AllocsPerRun(10000, func() {
		if _, err := r.Next(); err != nil {
			t.Fatal(err)
		}
	})
	if n != 0 {
		t.Errorf("%v allocations for each PDU in the steady state", n)
	}
}
