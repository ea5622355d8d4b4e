//go:build linux

package writer

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/pcp-rtime/rtime/internal/armseg/layout"
	"github.com/pcp-rtime/rtime/internal/armseg/reader"
)

// parentOf is a correlator of another vendor's agent.
func parentOf(class uint32, flags byte) string {
	c := layout.Correlator{Flags: flags, AddrFormat: 1, Vendor: 9, Version: 8, Instance: 7, Handle: class + 1, Class: class, Address: []byte{127, 0, 0, 1}}
	return string(c.Append(nil))
}

// TestPairs: executions are counted by pairs of parent and child. There is room for 512
// pairs.
func TestPairs(t *testing.T) {
	w := attachTo(t, t.TempDir())
	tran := active(t, w, "a", "t")
	for class := range uint32(layout.PairsLen + 3) {
		for _, s := range []Status{Good, Aborted, Failed, Failed} {
			r, _ := tran.StartWith(Begin{Parent: parentOf(class+1, 0)}, nil)
			r.Stop(s, nil)
		}
	}
	// These name no parent.
	for _, parent := range []string{"", "x", parentOf(0, 0), parentOf(1, 0)[:24], strings.Repeat("\x00", 168)} {
		r, _ := tran.StartWith(Begin{Parent: parent}, nil)
		r.Stop(Good, nil)
	}
	p := procReader(t, w)
	classes := map[uint32]bool{}
	err := p.Pairs(func(_ int, k *reader.PairKey, a reader.PairTotals) {
		classes[k.Class] = true
		want := reader.PairKey{Tran: tran.ID, Vendor: 9, Version: 8, Instance: 7, AddrFormat: 1, Class: k.Class, Address: "\x7f\x00\x00\x01"}
		if *k != want || a.Count != 1 || a.GoodNS == 0 || a.Aborted != 1 || a.Failed != 2 {
			t.Errorf("%+v: %+v", k, a)
		}
	})
	if len(classes) != layout.PairsLen || err != nil {
		t.Error(len(classes), err)
	}
	if c, err := p.Counters(); c.PairsLost != 12 || err != nil {
		t.Error(c, err)
	}
}

// TestTraceContext: a parent's trace goes on in the child's correlator. All children of
// that correlator count in one pair.
func TestTraceContext(t *testing.T) {
	w := attachTo(t, t.TempDir())
	tran := active(t, w, "a", "t")
	context := []byte("0123456789abcdefPARENTID\x01")
	c := layout.Correlator{AddrFormat: layout.AddrTraceContext, Vendor: layout.Vendor, Version: layout.AgentVersion, Address: context}
	r, own := tran.StartWith(Begin{Parent: string(c.Append(nil))}, nil)
	got, ok := layout.ParseCorrelator(own)
	if !ok || !got.TraceContext() || len(own) != 47 || got.Class != tran.ID || got.Handle != r.handle() ||
		!bytes.Equal(got.Address[:16], context[:16]) || bytes.Equal(got.Address[16:24], context[16:24]) || got.Address[24] != 1 {
		t.Errorf("%x: %+v", own, got)
	}
	for range 3 {
		child, _ := tran.StartWith(Begin{Parent: string(own)}, nil)
		child.Stop(Good, nil)
	}
	r.Stop(Good, nil)
	n := 0
	err := procReader(t, w).Pairs(func(_ int, k *reader.PairKey, a reader.PairTotals) {
		n++
		if k.Class != tran.ID || a.Count != 3 || k.Address != "" {
			t.Errorf("%+v: %+v", k, a)
		}
	})
	if n != 1 || err != nil {
		t.Error(n, err)
	}
}

// TestOwn: without a parent's trace context an execution's correlator has this host's
// address.
func TestOwn(t *testing.T) {
	dir := t.TempDir()
	w := attachTo(t, dir)
	tran := active(t, w, "a", "t")
	r, own := tran.StartWith(Begin{Trace: true}, []byte("before"))
	n := namesReader(t, dir)
	got, ok := layout.ParseCorrelator(own[6:])
	want := layout.Correlator{Flags: layout.FlagUserTrace, AddrFormat: n.AddrFormat, Vendor: 41377, Version: 2,
		Instance: uint16(n.UID), Handle: r.handle(), Class: tran.ID, Address: n.Address}
	if !ok || fmt.Sprint(got) != fmt.Sprint(want) || string(own[:6]) != "before" {
		t.Errorf("%+v, want %+v", got, want)
	}
}

// TestTrace: an execution that is to be traced leaves its start, updates and stop as
// events, in this order.
func TestTrace(t *testing.T) {
	dir := t.TempDir()
	for what, c := range map[string]struct {
		b     Begin
		agent bool
		want  bool
	}{
		"nobody":           {b: Begin{}},
		"the program":      {b: Begin{Trace: true}, want: true},
		"the agent":        {agent: true, want: true},
		"the parent":       {b: Begin{Parent: parentOf(3, layout.FlagUserTrace)}, want: true},
		"its agent":        {b: Begin{Parent: parentOf(3, layout.FlagAgentTrace)}, want: true},
		"an untraced one":  {b: Begin{Parent: parentOf(3, 0x20)}},
		"no parent at all": {b: Begin{Parent: "\x00\x04\x01\xff"}},
	} {
		w := attachTo(t, dir)
		tran, m := described(t, w, layout.TypeGauge64, layout.TypeString32)
		ask(t, w, map[bool][]uint32{true: {tran.ID}}[c.agent]...)
		r, own := tran.StartWith(c.b, nil)
		r.Update([]Value{{Metric: m[0], Field: 7}, {Metric: m[1], Text: "seven"}}, "half way")
		r.Stop(Failed, nil)
		var got []reader.Event
		missed, err := procReader(t, w).Events(func(e *reader.Event) { got = append(got, *e) })
		if err != nil || missed != 0 || len(got) != map[bool]int{true: 3}[c.want] {
			t.Errorf("%s: %+v, %d missed, %v", what, got, missed, err)
			continue
		}
		if !c.want {
			continue
		}
		for i, e := range got {
			if e.Kind != uint32(i+1) || e.Tran != tran.ID || e.Handle != r.handle() || i > 0 && e.Time < got[i-1].Time {
				t.Errorf("%s: %+v", what, e)
			}
		}
		if string(got[0].Parent) != c.b.Parent || !slices.Equal(got[0].Own, own) || got[0].Own == nil {
			t.Errorf("%s: correlators %x and %x", what, got[0].Parent, got[0].Own)
		}
		if e := got[1]; e.Text != "half way" || binary.NativeEndian.Uint64(e.Fields[0][:]) != 7 || e.String != "seven" || e.Flags != 0x8200 {
			t.Errorf("%s: %+v", what, e)
		}
		if e := got[2]; e.Status != 2 || e.Duration == 0 || int64(e.Duration) != e.Time-got[0].Time || e.Text != "" || e.String != "" {
			t.Errorf("%s: %+v", what, e)
		}
	}
}

// TestTraceRing: the ring keeps the latest 128 events, and the reader counts the others
// as missed.
func TestTraceRing(t *testing.T) {
	w := attachTo(t, t.TempDir())
	tran := active(t, w, "a", "t")
	p := procReader(t, w)
	for range 300 {
		r, _ := tran.StartWith(Begin{Trace: true}, nil)
		r.Stop(Good, nil)
	}
	n := 0
	if missed, err := p.Events(func(*reader.Event) { n++ }); n != layout.TraceLen || missed != 600-layout.TraceLen || err != nil {
		t.Error(n, missed, err)
	}
}

func TestParseCorrelator(t *testing.T) {
	good := parentOf(5, 0xc0)
	if c, ok := layout.ParseCorrelator([]byte(good + "more")); !ok || c.Class != 5 || c.Flags != 0xc0 || string(c.Append(nil)) != good {
		t.Errorf("%+v", c)
	}
	for n := range len(good) {
		if _, ok := layout.ParseCorrelator([]byte(good[:n])); ok {
			t.Errorf("the first %d bytes are a correlator", n)
		}
	}
	for i, b := range map[int]byte{0: 1, 1: 25, 2: 2, 20: 1, 21: 5} {
		bad := []byte(good)
		bad[i] = b
		if _, ok := layout.ParseCorrelator(bad); ok {
			t.Errorf("byte %d is %d, and it is a correlator", i, b)
		}
	}
}
