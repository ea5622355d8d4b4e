package reader

import "github.com/pcp-rtime/rtime/internal/armseg/layout"

// Kind says how to read a metric that an application defines.
type Kind int

// The kinds of metrics (ARM 2.0 guide, data buffers).
const (
	KindCounter Kind = iota + 1
	KindGauge
	KindID
	KindString
)

// KindOf returns the kind of a data buffer's type, 1 to 10.
func KindOf(typ uint32) Kind {
	switch typ {
	case layout.TypeCounter32, layout.TypeCounter64, layout.TypeCntrDivr32:
		return KindCounter
	case layout.TypeGauge32, layout.TypeGauge64, layout.TypeGaugeDivr32:
		return KindGauge
	case layout.TypeNumericID32, layout.TypeNumericID64:
		return KindID
	}
	return KindString
}

// String returns the kind as it stands in names.
func (k Kind) String() string {
	switch k {
	case KindCounter:
		return "counter"
	case KindGauge:
		return "gauge"
	case KindID:
		return "id"
	case KindString:
		return "string"
	}
	return "unknown"
}
