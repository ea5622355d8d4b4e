package writer

import (
	"encoding/binary"
	"math"
	"unsafe"

	"github.com/pcp-rtime/rtime/internal/armseg/layout"
)

// Metric is an application's metric as a program declares it. It does not change.
type Metric struct {
	Type uint32
	Name string // up to 43 bytes
}

// Value is a value of a metric: the 8 bytes of the data buffer as a word, or the text if the
// metric is of TypeString32.
type Value struct {
	Metric *Metric
	Field  uint64
	Text   string
}

// given holds the values of one call, by their places in the data buffer.
type given struct {
	has    [layout.Metrics + 1]bool
	fields [layout.Metrics]uint64
	text   [32]byte
	bad    bool // some values were of metrics that the transaction does not have
}

// which returns which fields are given, as the second of a data buffer's bytes of flags does.
func (g *given) which() (flags uint32) {
	for i, has := range g.has {
		if has {
			flags |= 0x80 >> i
		}
	}
	return flags
}

// Declared are the metrics of a transaction by their places in the data buffer, a string's last.
// A place without a metric has the type 0.
type Declared [layout.Metrics + 1]Metric

// Declare puts metrics in their places. The caller makes sure that they fit.
func Declare(metrics []*Metric) (d Declared) {
	i := 0
	for _, m := range metrics {
		if m.Type == layout.TypeString32 {
			d[layout.Metrics] = *m
			continue
		}
		d[i] = *m
		i++
	}
	return d
}

// declare writes a transaction's metrics into its new record.
func (n *names) declare(at uint64, d *Declared) {
	flags := uint32(0)
	for i, m := range d {
		if m.Type == 0 {
			continue
		}
		desc := at + layout.TranDescs + uint64(i)*layout.DescLen
		put32(n.base, desc+layout.DescType, m.Type)
		putText(n.base, desc+layout.DescName, layout.DescLen-layout.DescName, m.Name)
		flags |= 0x80 >> i
	}
	if flags != 0 {
		put32(n.base, at+layout.TranMetaFlags, flags)
		put32(n.base, at+layout.TranMeta, layout.RecordPublished)
	}
}

// declared reads a transaction's metrics from its record.
func (n *names) declared(at uint64) (d Declared) {
	if get32(n.base, at+layout.TranMeta) != layout.RecordPublished {
		return d
	}
	flags := get32(n.base, at+layout.TranMetaFlags)
	for i := range d {
		if flags&(0x80>>i) != 0 {
			desc := at + layout.TranDescs + uint64(i)*layout.DescLen
			d[i] = Metric{get32(n.base, desc+layout.DescType), n.text(desc+layout.DescName, layout.DescLen-layout.DescName)}
		}
	}
	return d
}

// sort puts values in their places.
func (t *Tran) sort(values []Value) (g given) {
	for i := range values {
		v := &values[i]
		place := -1
		if v.Metric != nil {
			place = v.place(&t.metrics)
		}
		switch {
		case place < 0:
			g.bad = true
			continue
		case place == layout.Metrics:
			fill(g.text[:], v.Text)
		default:
			g.fields[place] = v.Field
		}
		g.has[place] = true
	}
	return g
}

func (v *Value) place(descs *Declared) int {
	for i := range descs {
		if descs[i].Type == v.Metric.Type && descs[i].Name == v.Metric.Name {
			return i
		}
	}
	return -1
}

// fill copies a text into b and fills the rest with blanks, as data buffers have strings.
func fill(b []byte, text string) {
	for n := copy(b, text); n < len(b); n++ {
		b[n] = ' '
	}
}

// Divided returns a field of a type with divisor: the value in its first half, the divisor in
// its second.
func Divided(v, divisor uint32) uint64 {
	var b [8]byte
	binary.NativeEndian.PutUint32(b[:], v)
	binary.NativeEndian.PutUint32(b[4:], divisor)
	return binary.NativeEndian.Uint64(b[:])
}

// Text8 returns a field of TypeString8.
func Text8(text string) uint64 {
	var b [8]byte
	fill(b[:], text)
	return binary.NativeEndian.Uint64(b[:])
}

// split is the reverse of Divided.
func split(field uint64) (v, divisor uint32) {
	var b [8]byte
	binary.NativeEndian.PutUint64(b[:], field)
	return binary.NativeEndian.Uint32(b[:]), binary.NativeEndian.Uint32(b[4:])
}

// decode returns a field's value as cells store it. ok is false if the divisor is 0.
func decode(kind uint32, field uint64) (v uint64, ok bool) {
	low, divisor := split(field)
	switch kind {
	case layout.TypeCounter32, layout.TypeNumericID32:
		return uint64(low), true
	case layout.TypeGauge32:
		return uint64(int64(int32(low))), true
	case layout.TypeCntrDivr32:
		return math.Float64bits(float64(low) / float64(divisor)), divisor != 0
	case layout.TypeGaugeDivr32:
		return math.Float64bits(float64(int32(low)) / float64(divisor)), divisor != 0
	}
	return field, true
}

// metricsOf returns the cell's records of metrics, and makes them if they are not there. It
// returns nil if there is no room.
func (c *cell) metricsOf() unsafe.Pointer {
	w := c.b.w
	off := w.once(&c.metrics, (*uint64)(unsafe.Add(c.p, layout.CellMetricsOff)), (layout.Metrics+1)*layout.MetricLen)
	if off == 0 {
		return nil
	}
	return unsafe.Add(w.base, off)
}
