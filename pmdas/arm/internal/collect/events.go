package collect

import (
	"encoding/binary"
	"fmt"
	"math"
	"math/bits"
	"time"

	"github.com/pcp-rtime/rtime/internal/armseg/layout"
	"github.com/pcp-rtime/rtime/internal/armseg/reader"
)

// maxEvents is how many events of one user a look hands out. It may hand out more by the
// events of one process. The next look reads the rest, unless they are overwritten first.
const maxEvents = 4096

// readEvents hands out the events of a process.
func (c *counts) readEvents(p *proc) error {
	if p.u.events >= maxEvents {
		return nil
	}
	missed, err := p.r.Events(func(e *reader.Event) {
		t := c.tran(p.n, e.Tran)
		if t == nil {
			return
		}
		c.figures.events++
		p.u.events++
		if c.onEvent != nil {
			c.onEvent(c.event(p, t, e))
		}
	})
	c.figures.eventsLost += missed
	if missed > 0 && c.onMissed != nil {
		c.onMissed(missed)
	}
	return err
}

func (c *counts) event(p *proc, t *tran, e *reader.Event) *Event {
	return &Event{
		Name: t.row.Name, Tran: t.row.i, Kind: int(e.Kind),
		Time: c.timeOf(e.Time),
		UID:  p.u.uid, PID: p.r.PID, Program: p.r.Name,
		Handle: e.Handle, Class: e.Tran, Status: e.Status, Flags: e.Flags, Duration: time.Duration(min(e.Duration, math.MaxInt64)),
		Metrics: eventMetrics(p.n, e), String: e.String, Text: e.Text, Parent: e.Parent, Own: e.Own,
	}
}

// timeOf returns the time of day for a time of CLOCK_MONOTONIC. It is not later than this look.
func (c *counts) timeOf(mono int64) time.Time {
	if mono < 0 || mono > c.now.mono {
		return c.now.wall
	}
	return c.now.wall.Add(time.Duration(mono - c.now.mono))
}

// eventMetrics returns the metrics that were in the event's data buffer.
func eventMetrics(n *names, e *reader.Event) (list []EventMetric) {
	given := e.Given
	if given == 0 {
		return nil
	}
	descs, _, _ := n.r.Descs(e.Tran) // metrics without a description are named by number
	for i := range e.Fields {
		if given&(0x80>>i) == 0 {
			continue
		}
		m := EventMetric{Label: descs[i].Name, Type: descs[i].Type, Raw: rawOf(descs[i].Type, e.Fields[i][:])}
		if m.Label == "" {
			m.Label = fmt.Sprintf("metric%d", i+1)
		}
		list = append(list, m)
	}
	return list
}

// rawOf reads a field of a data buffer: its eight bytes are one integer or two.
func rawOf(typ uint32, b []byte) uint64 {
	v := binary.NativeEndian.Uint64(b)
	switch typ {
	case layout.TypeCounter64, layout.TypeGauge64, layout.TypeNumericID64:
		return v
	case layout.TypeString8:
		return binary.LittleEndian.Uint64(b)
	}
	if binary.NativeEndian.Uint16([]byte{0, 1}) == 1 {
		v = bits.RotateLeft64(v, 32)
	}
	return v
}
