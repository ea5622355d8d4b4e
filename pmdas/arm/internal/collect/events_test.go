package collect

import (
	"reflect"
	"testing"
	"time"

	"github.com/pcp-rtime/rtime/internal/armseg/layout"
	"github.com/pcp-rtime/rtime/internal/armseg/reader/readertest"
)

func TestEvents(t *testing.T) {
	w := newWorld(t)
	n := w.names(7)
	n.Describe(1, 1, layout.TypeGauge32, "queue")
	n.Describe(1, 2, layout.TypeCounter64, "bytes")
	p := readertest.NewProc(t, w.dir, n, 100)
	p.Event(layout.EventKindStart, 1, 5, w.mono)
	w.start()
	w.look()
	if len(w.events) != 0 {
		t.Errorf("what was before: %+v", w.events)
	}
	at := w.mono
	wall := w.wall
	off := p.Event(layout.EventKindStop, 1, 77, at)
	p.Put32(off+layout.EventStatus, 2)
	p.Put64(off+layout.EventDuration, 12345)
	p.B[off+layout.EventFlags] = 0x50
	p.B[off+layout.EventFlags+1] = 0x62
	p.Put32(off+layout.EventMetrics+8, 9)
	p.Put32(off+layout.EventMetrics+12, 8)
	p.Put64(off+layout.EventMetrics+16, 1<<40)
	copy(p.B[off+layout.EventString:], "wheel                           ")
	copy(p.B[off+layout.EventParent:], "\x00\x04ab")
	copy(p.B[off+layout.EventText:], "half way\x00not this")
	p.Put32(off+layout.EventTextLen, 2000)
	p.Event(layout.EventKindUpdate, 99, 1, at) // of a transaction that does not exist
	q := readertest.NewProc(t, w.dir, n, 101)
	q.Event(layout.EventKindStart, 2, 6, at)
	w.look()
	if len(w.events) != 2 {
		t.Fatalf("%d events", len(w.events))
	}
	want := Event{Name: "Bank/Deposit", Kind: layout.EventKindStop, Time: wall, UID: w.uid, PID: 100, Program: "program",
		Handle: 77, Class: 1, Status: 2, Flags: p.Get32(off + layout.EventFlags), Duration: 12345,
		Metrics: []EventMetric{{"queue", layout.TypeGauge32, 9 | 8<<32}, {"bytes", layout.TypeCounter64, 1 << 40}},
		String:  "wheel", Text: "half way", Parent: []byte("\x00\x04ab")}
	if got := *w.events[0]; !reflect.DeepEqual(got, want) {
		t.Errorf("%+v\nwant %+v", got, want)
	}
	if got := *w.events[1]; got.Name != "Bank/Withdraw" || got.Tran != 1 || got.PID != 101 {
		t.Errorf("%+v", got)
	}
}

// TestEventsMissed: events that were overwritten are counted. One that is being written
// is waited for, but not for ever.
func TestEventsMissed(t *testing.T) {
	w := newWorld(t)
	n := w.names(7)
	w.start()
	w.look()
	p := readertest.NewProc(t, w.dir, n, 100)
	w.look()
	for range layout.TraceLen + 10 {
		p.Event(layout.EventKindStart, 1, 1, w.mono)
	}
	w.look()
	if len(w.events) != layout.TraceLen || w.missed != 10 || w.c.Snapshot().Health.EventsLost != 10 {
		t.Errorf("%d events, %d missed", len(w.events), w.missed)
	}
	off := p.Event(layout.EventKindUpdate, 1, 1, w.mono)
	seq := p.Get64(off)
	p.Put64(off, seq-1)
	p.Event(layout.EventKindStop, 1, 1, w.mono)
	w.events = nil
	w.look()
	if len(w.events) != 0 {
		t.Errorf("%d events, one of them not there", len(w.events))
	}
	p.Put64(off, seq)
	w.look()
	if len(w.events) != 2 || w.missed != 10 {
		t.Errorf("%d events, %d missed", len(w.events), w.missed)
	}
	off = p.Event(layout.EventKindUpdate, 1, 1, w.mono)
	p.Put64(off, p.Get64(off)-1)
	p.Event(layout.EventKindStop, 1, 1, w.mono)
	w.events = nil
	for range 5 {
		w.look()
	}
	if len(w.events) != 1 || w.missed != 11 {
		t.Errorf("%d events, %d missed", len(w.events), w.missed)
	}
	if w.wall.Sub(w.events[0].Time) > time.Minute {
		t.Errorf("%v", w.events[0].Time)
	}
}
