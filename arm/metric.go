package arm

import (
	"unsafe"

	"github.com/pcp-rtime/rtime/internal/armseg/layout"
	"github.com/pcp-rtime/rtime/internal/armseg/writer"
)

// Metric is what a program measures besides time: one of Counter, CounterRatio, Gauge,
// GaugeRatio, NumericID and String. Metrics declares it on any number of transactions, and
// its values are given to Start, Update and Stop. Its name has up to 43 bytes.
type Metric interface{ metric() *writer.Metric }

// Value is a value of a metric, as the metric's method Value makes it. The zero Value belongs
// to no metric and counts as bad data.
type Value struct{ v writer.Value }

// inner returns the values in the writer's type. It does not copy them, because a Value holds
// nothing else.
func inner(values []Value) []writer.Value {
	return unsafe.Slice((*writer.Value)(unsafe.Pointer(unsafe.SliceData(values))), len(values))
}

type base struct{ m *writer.Metric }

func (b base) metric() *writer.Metric { return b.m }

func of(kind uint32, name string) base { return base{&writer.Metric{Type: kind, Name: name}} }

// Counter is a number that only goes up while a transaction runs, such as the bytes that were
// sent. What counts is its growth, from the value given to Start on.
type Counter struct{ base }

// NewCounter declares a counter of 64 bits.
func NewCounter(name string) Counter { return Counter{of(layout.TypeCounter64, name)} }

// NewCounter32 declares a counter of 32 bits.
func NewCounter32(name string) Counter { return Counter{of(layout.TypeCounter32, name)} }

// Value is where the counter stands.
func (c Counter) Value(v uint64) Value {
	if c.m != nil && c.m.Type == layout.TypeCounter32 {
		return Value{writer.Value{Metric: c.m, Field: writer.Divided(uint32(v), 0)}}
	}
	return Value{writer.Value{Metric: c.m, Field: v}}
}

// CounterRatio is a counter whose value is a fraction.
type CounterRatio struct{ base }

// NewCounterRatio declares a counter with divisor.
func NewCounterRatio(name string) CounterRatio {
	return CounterRatio{of(layout.TypeCntrDivr32, name)}
}

// Value is where the counter stands: v divided by divisor, which must not be 0.
func (c CounterRatio) Value(v, divisor uint32) Value {
	return Value{writer.Value{Metric: c.m, Field: writer.Divided(v, divisor)}}
}

// Gauge is a number that goes up and down, such as the length of a queue. It has a mean, but
// no sum.
type Gauge struct{ base }

// NewGauge declares a gauge of 64 bits.
func NewGauge(name string) Gauge { return Gauge{of(layout.TypeGauge64, name)} }

// NewGauge32 declares a gauge of 32 bits.
func NewGauge32(name string) Gauge { return Gauge{of(layout.TypeGauge32, name)} }

// Value is the gauge's value now.
func (g Gauge) Value(v int64) Value {
	if g.m != nil && g.m.Type == layout.TypeGauge32 {
		return Value{writer.Value{Metric: g.m, Field: writer.Divided(uint32(v), 0)}}
	}
	return Value{writer.Value{Metric: g.m, Field: uint64(v)}}
}

// GaugeRatio is a gauge whose value is a fraction.
type GaugeRatio struct{ base }

// NewGaugeRatio declares a gauge with divisor.
func NewGaugeRatio(name string) GaugeRatio { return GaugeRatio{of(layout.TypeGaugeDivr32, name)} }

// Value is the gauge's value now: v divided by divisor, which must not be 0.
func (g GaugeRatio) Value(v int32, divisor uint32) Value {
	return Value{writer.Value{Metric: g.m, Field: writer.Divided(uint32(v), divisor)}}
}

// NumericID is a number that stands for something, such as the number of an error. Its latest
// value is kept.
type NumericID struct{ base }

// NewNumericID declares an identifier of 64 bits.
func NewNumericID(name string) NumericID { return NumericID{of(layout.TypeNumericID64, name)} }

// NewNumericID32 declares an identifier of 32 bits.
func NewNumericID32(name string) NumericID { return NumericID{of(layout.TypeNumericID32, name)} }

// Value is the identifier.
func (n NumericID) Value(v uint64) Value {
	if n.m != nil && n.m.Type == layout.TypeNumericID32 {
		return Value{writer.Value{Metric: n.m, Field: writer.Divided(uint32(v), 0)}}
	}
	return Value{writer.Value{Metric: n.m, Field: v}}
}

// String is a text, such as a part number. Its latest value is kept.
type String struct{ base }

// NewString declares a text of up to 32 bytes. A transaction has one at most.
func NewString(name string) String { return String{of(layout.TypeString32, name)} }

// NewString8 declares a text of up to 8 bytes.
func NewString8(name string) String { return String{of(layout.TypeString8, name)} }

// Value is the text, without blanks at its end. What is too long is cut.
func (s String) Value(text string) Value {
	if s.m != nil && s.m.Type == layout.TypeString8 {
		return Value{writer.Value{Metric: s.m, Field: writer.Text8(text)}}
	}
	return Value{writer.Value{Metric: s.m, Text: text}}
}

// Metrics declares a transaction's metrics: six at most, and one made with NewString. A
// transaction of the same name with other metrics, or with the same in another order, is
// another transaction. Values of metrics that a transaction has not declared are left out and
// counted as bad data.
func Metrics(metrics ...Metric) TransactionOption {
	return func(t *Transaction) {
		for _, m := range metrics {
			t.metrics = append(t.metrics, m.metric())
		}
	}
}

func checkMetrics(metrics []*writer.Metric) error {
	fields, texts := 0, 0
	for i, m := range metrics {
		if m == nil || len(m.Name) > layout.DescLen-layout.DescName-1 || !text(m.Name) {
			return ErrMetric
		}
		for _, other := range metrics[:i] {
			if *other == *m {
				return ErrMetric
			}
		}
		if m.Type == layout.TypeString32 {
			texts++
		} else {
			fields++
		}
	}
	if fields > layout.Metrics || texts > 1 {
		return ErrMetric
	}
	return nil
}
