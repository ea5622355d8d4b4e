package pdu

import (
	"bytes"
	"io"
	"math"
	"reflect"
	"testing"
	"testing/iotest"

	"github.com/pcp-rtime/rtime/pcp"
)

// sameSets compares sets before and after a second journey. On the way a number in
// a block may move in situ and so lose its type, and a set that cannot be written
// becomes an error.
func sameSets(a, b []ValueSet) bool {
	if len(a) != len(b) {
		return false
	}
	for i := range a {
		if code := plainCode(&a[i]); a[i].PMID != b[i].PMID || code != b[i].Err {
			return false
		} else if code != 0 {
			continue
		}
		if len(a[i].Values) != len(b[i].Values) {
			return false
		}
		for j, v := range a[i].Values {
			w := b[i].Values[j]
			if v.Inst != w.Inst || uint32(v.Value.Bits()) != uint32(w.Value.Bits()) ||
				!bytes.Equal(v.Value.Bytes(), w.Value.Bytes()) {
				return false
			}
		}
	}
	return true
}

func samePDU(a, b PDU) bool {
	switch a := a.(type) {
	case *Result:
		b := b.(*Result)
		return a.Sec == b.Sec && a.Usec == b.Usec && sameSets(a.Sets, b.Sets)
	case *HighresResult:
		b := b.(*HighresResult)
		return a.Sec == b.Sec && a.Nsec == b.Nsec && sameSets(a.Sets, b.Sets)
	case *Label: // sorted, and rid of what may not be sent
		return len(a.Sets) == len(b.(*Label).Sets)
	}
	return reflect.DeepEqual(a, b)
}

// FuzzDecode decodes, writes and decodes again. No input may cause a panic or an
// allocation out of proportion, and what was decoded once must survive the way.
func FuzzDecode(f *testing.F) {
	for _, g := range goldens {
		f.Add(g.bytes(f))
	}
	f.Fuzz(func(t *testing.T, b []byte) {
		setLength(b)
		var p PDU
		var err error
		bounded(t, "input", b, func() { p, err = Decode(b) })
		if err != nil {
			return
		}
		again := p.Append(nil, 0)
		if p.Length() != len(again) {
			t.Fatalf("Length %d, wrote %d", p.Length(), len(again))
		}
		q, err := Decode(again)
		if err != nil {
			t.Fatalf("%+v, written: %v", p, err)
		}
		if !samePDU(p, q) {
			t.Fatalf("\n got %+v\nwant %+v", q, p)
		}
		if third := q.Append(nil, 0); !bytes.Equal(third, again) {
			t.Fatalf("\nwrote %x\n then %x", again, third)
		}
	})
}

func FuzzEvents(f *testing.F) {
	for _, s := range []string{eventResult, highresEventResult} {
		var r Result
		if err := r.Parse(mustHex(s)); err != nil {
			f.Fatal(err)
		}
		for _, v := range r.Sets[0].Values {
			f.Add(v.Value.Type() == pcp.TypeHighresEvent, v.Value.Bytes())
		}
	}
	f.Fuzz(func(t *testing.T, highres bool, b []byte) {
		typ := pcp.TypeEvent
		if highres {
			typ = pcp.TypeHighresEvent
		}
		var recs []pcp.EventRecord
		var err error
		bounded(t, "input", b, func() { recs, err = ParseEvents(typ, b) })
		if err != nil {
			return
		}
		again := AppendEvents(nil, typ, recs)
		if len(again) != len(b) {
			t.Fatalf("%d bytes parsed, %d written", len(b), len(again))
		}
		if got, err := ParseEvents(typ, again); err != nil || !reflect.DeepEqual(got, recs) {
			t.Fatalf("\n got %+v, %v\nwant %+v", got, err, recs)
		}
	})
}

// FuzzLabels sends two labels with any names and values. What CheckLabels passes
// comes back as it was, and what it does not pass does no harm.
func FuzzLabels(f *testing.F) {
	f.Add("agent", "sample", "role", 1.5, uint32(pcp.LabelDomain), true)
	f.Add("bin", "<\"\\\n\x00é\xff", "bin", math.Inf(1), uint32(pcp.LabelInstances), false)
	f.Add("a.b", "", "", math.Copysign(0, -1), uint32(0xffffffff), false)
	f.Fuzz(func(t *testing.T, n1, v1, n2 string, v2 float64, kind uint32, optional bool) {
		labels := pcp.Labels{{Name: n1, Value: v1, Optional: optional}, {Name: n2, Value: v2}}
		p := &Label{Ident: 1, Kind: pcp.LabelType(kind), Sets: []LabelSet{{3, labels}, {4, labels[1:]}}}
		b := p.Append(nil, 0)
		if p.Length() != len(b) {
			t.Fatalf("Length %d, wrote %d", p.Length(), len(b))
		}
		var got Label
		if err := got.Parse(b); err != nil {
			t.Fatalf("%q: %v", b, err)
		}
		for i, s := range got.Sets {
			given := p.Sets[i].Labels
			if CheckLabels(given) == nil && len(s.Labels) != len(given) {
				t.Errorf("%+v passed the check, %+v came back", given, s.Labels)
			}
			for j, l := range s.Labels {
				if j > 0 && s.Labels[j-1].Name >= l.Name {
					t.Errorf("not sorted: %+v", s.Labels)
				}
				if l.Name == n2 && l.Name != n1 && l.Value != v2 {
					t.Errorf("%s: %v came back as %v", n2, v2, l.Value)
				}
			}
		}
	})
}

// FuzzReader cuts any stream in several ways. All must yield the same PDUs and the
// same end.
func FuzzReader(f *testing.F) {
	f.Add(allGoldens(f))
	f.Add(append(goldenBytes(f, "fetch"), 0, 0, 0, 11))
	f.Add(append(goldenBytes(f, "attr process id"), 0x7f, 0xff, 0xfb, 0xff, 0, 0))
	f.Fuzz(func(t *testing.T, b []byte) {
		read := func(r io.Reader) (pdus []byte, err error) {
			s := NewReader(r, 1<<20)
			for {
				p, err := s.Next()
				if err != nil {
					if len(s.buf) > 2*len(b)+bufferStart {
						t.Fatalf("buffer of %d bytes for %d", len(s.buf), len(b))
					}
					return pdus, err
				}
				if h, _ := ParseHeader(p); h.Len != len(p) {
					t.Fatalf("%d bytes, header says %d", len(p), h.Len)
				}
				pdus = append(pdus, p...)
			}
		}
		want, end := read(bytes.NewReader(b))
		if !bytes.HasPrefix(b, want) || end == io.EOF && len(want) != len(b) {
			t.Fatalf("%x, %v of %x", want, end, b)
		}
		for _, r := range []io.Reader{iotest.OneByteReader(bytes.NewReader(b)),
			iotest.DataErrReader(iotest.HalfReader(bytes.NewReader(b)))} {
			if got, err := read(r); !bytes.Equal(got, want) || err.Error() != end.Error() {
				t.Fatalf("%x, %v; want %x, %v", got, err, want, end)
			}
		}
	})
}
