package collect

import (
	"time"

	"github.com/pcp-rtime/rtime/internal/armseg/layout"
	"github.com/pcp-rtime/rtime/internal/armseg/reader"
)

// windows are the parts of time of which the rolling window consists, as in pmdatrace
// (docs/measuring-transactions.md, "How the values are computed"). A transaction that ends now
// counts in the working part. When that part is over, it joins the history, and another one
// begins. Only the history is exported, so figures change once per part.
type windows struct {
	buffers int
	length  int64      // of a part, nanoseconds
	began   int64      // when the first part began, CLOCK_MONOTONIC
	part    int64      // number of the working one
	rows    []*tranRow // with something in their windows
}

// window is the rolling window of a row. It takes memory only while something is in it.
type window struct {
	parts  []part // by their number modulo buffers + 1
	listed bool
}

type part struct {
	number   int64
	count    uint64
	sum      uint64 // nanoseconds
	min, max uint64
	hist     reader.Hist
}

// set empties the window if the length or the number of its parts has changed. A window that is
// shorter than the time between two looks would be over before anybody sees it, so it is made
// as long as that.
func (w *windows) set(c Config, mono int64) {
	length := max(int64(max(c.Window, c.Interval)/time.Duration(c.Buffers)), 1)
	if w.buffers == c.Buffers && w.length == length {
		return
	}
	for _, t := range w.rows {
		t.win = window{}
		t.Window, t.dirty = Window{}, true
	}
	*w = windows{buffers: c.Buffers, length: length, part: mono / length, began: mono}
}

// reach moves the working part on if several parts have ended since the look before. Then what
// this look finds counts in the latest of these. So it is in the window, however long ago the
// look before was.
func (w *windows) reach(mono int64) { w.part = max(w.part, mono/w.length-1) }

// add takes in what came to a cell since the last look.
func (w *windows) add(t *tranRow, d *reader.CellDelta) {
	if d.Count == 0 {
		return
	}
	if t.win.parts == nil {
		t.win.parts = make([]part, w.buffers+1)
	}
	if !t.win.listed {
		t.win.listed = true
		w.rows = append(w.rows, t)
	}
	p := &t.win.parts[w.part%int64(w.buffers+1)]
	if p.number != w.part || p.count == 0 {
		p.hist.Reset()
		*p = part{number: w.part, hist: p.hist, min: ^uint64(0)}
	}
	p.count += d.Count
	p.sum += d.GoodNS
	for _, h := range d.Hist {
		p.hist.Add(h.Bucket, h.N)
	}
	lo, hi := extremes(d)
	p.min, p.max = min(p.min, lo), max(p.max, hi)
}

// extremes returns the shortest and the longest time of what came to a cell. They are exact if
// the ring has all times. Otherwise they come from the histogram, and lie within the extremes
// of all that the cell has counted.
func extremes(d *reader.CellDelta) (lo, hi uint64) {
	lo = ^uint64(0)
	for _, e := range d.Ended {
		lo, hi = min(lo, e.NS), max(hi, e.NS)
	}
	if uint64(len(d.Ended)) >= d.Count {
		return lo, hi
	}
	for _, h := range d.Hist {
		v := layout.BucketMiddle(h.Bucket)
		lo, hi = min(lo, v), max(hi, v)
	}
	if d.Min <= d.Max {
		lo, hi = min(max(lo, d.Min), d.Max), min(max(hi, d.Min), d.Max)
	}
	return lo, hi
}

// roll computes the figures of all rows again when a part has ended.
func (w *windows) roll(mono int64) {
	now := mono / w.length
	if now <= w.part {
		return
	}
	w.part = now
	kept := w.rows[:0]
	for _, t := range w.rows {
		if w.export(t) {
			kept = append(kept, t)
		} else {
			t.win = window{}
		}
	}
	clear(w.rows[len(kept):])
	w.rows = kept
}

// export computes a row's figures. It returns false if nothing is left in the window.
func (w *windows) export(t *tranRow) bool {
	var hist [layout.HistLen]uint64
	first := w.part - int64(w.buffers)
	out := Window{Min: ^uint64(0)}
	var sum float64
	for i := range t.win.parts {
		p := &t.win.parts[i]
		if p.count == 0 || p.number < first {
			*p = part{}
			continue
		}
		out.Count += p.count
		sum += float64(p.sum)
		out.Min, out.Max = min(out.Min, p.min), max(out.Max, p.max)
		p.hist.Each(func(b uint8, n uint64) bool { hist[b] += n; return true })
	}
	if out.Count == 0 {
		t.Window, t.dirty = Window{}, true
		return false
	}
	span := max(min(int64(w.buffers)*w.length, w.part*w.length-w.began), 1)
	out.Rate = float64(out.Count) / time.Duration(span).Seconds()
	out.Mean = sum / float64(out.Count)
	out.percentiles(&hist)
	t.Window, t.dirty = out, true
	return true
}

// percentiles takes for each percentile the middle of the bucket in which its rank falls.
func (w *Window) percentiles(hist *[layout.HistLen]uint64) {
	var seen uint64
	b := -1
	for _, q := range []struct {
		percent uint64
		to      *uint64
	}{{50, &w.Median}, {80, &w.P80}, {95, &w.P95}, {99, &w.P99}} {
		// This is done in two steps, because the product of large counts would overflow.
		rank := max(w.Count/100*q.percent+(w.Count%100*q.percent+99)/100, 1)
		for seen < rank && b < layout.HistLen-1 {
			b++
			seen += hist[b]
		}
		*q.to = min(max(layout.BucketMiddle(uint8(b)), w.Min), w.Max)
	}
}
