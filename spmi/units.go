package spmi

import "strings"

// Units is the dimension and scale of a statistic in space, time and count. Each
// dimension is a power; a negative one means "per". The zero value has no units. Units
// divide: Bytes.Per(Seconds). It is the word that a segment holds: from the top, four
// bits each for the powers of space, time and count, and then for their scales.
type Units uint32

// Scales of time.
const (
	Nano int8 = iota
	Micro
	Milli
	Sec
	Minute
	Hour
)

// Units in common use.
const (
	NoUnits      Units = 0
	Count        Units = 1 << 20
	Bytes        Units = 1 << 28
	KBytes             = Bytes | 1<<16
	MBytes             = Bytes | 2<<16
	GBytes             = Bytes | 3<<16
	Nanoseconds        = 1<<24 | Units(Nano)<<12
	Microseconds       = 1<<24 | Units(Micro)<<12
	Milliseconds       = 1<<24 | Units(Milli)<<12
	Seconds            = 1<<24 | Units(Sec)<<12
	Minutes            = 1<<24 | Units(Minute)<<12
	Hours              = 1<<24 | Units(Hour)<<12
)

// MakeUnits returns the units with the given powers of space, time and count, -8 to 7
// each, and the given scales: powers of 1024 bytes, 0 to 8; Nano to Hour; powers of ten,
// -8 to 7. It drops bits that do not fit in a field's four.
func MakeUnits(space, time, count, ofSpace, ofTime, ofCount int8) Units {
	u := Units(0)
	for _, v := range []int8{space, time, count, ofSpace, ofTime, ofCount} {
		u = u<<4 | Units(v)&0xf
	}
	return u << 8
}

// unitNames are the names of units in a struct tag. A slash may stand between two of
// them.
var unitNames = map[string]Units{
	"count": Count, "byte": Bytes, "kbyte": KBytes, "mbyte": MBytes, "gbyte": GBytes,
	"ns": Nanoseconds, "us": Microseconds, "ms": Milliseconds, "s": Seconds, "hour": Hours,
}

// Per returns u divided by v. If both have a scale for the same dimension, the scale of
// u is kept.
func (u Units) Per(v Units) Units {
	a, b := u.fields(), v.fields()
	for i := range 3 {
		if a[i] == 0 {
			a[i+3] = b[i+3]
		}
		a[i] -= b[i]
	}
	return MakeUnits(a[0], a[1], a[2], a[3], a[4], a[5])
}

// fields returns the powers of space, time and count, and their scales.
func (u Units) fields() (f [6]int8) {
	for i := range f {
		f[i] = int8(u>>(28-4*i)<<4) >> 4
	}
	return f
}

// ParseUnits reads "byte", "kbyte", "mbyte", "gbyte", "ns", "us", "ms", "s", "hour",
// "count", or two of them with a slash between. The empty string means no units.
func ParseUnits(s string) (Units, error) {
	if s == "" {
		return NoUnits, nil
	}
	over, under, found := strings.Cut(s, "/")
	u, ok := unitNames[over]
	if ok && found {
		var v Units
		v, ok = unitNames[under]
		u = u.Per(v)
	}
	if !ok {
		return NoUnits, fail(CodeBadArgument, "", "unknown units "+s)
	}
	return u, nil
}

// valid reports whether the scales of space and time exist, and no other bits are set.
func (u Units) valid() bool {
	return u>>16&0xf <= 8 && u>>12&0xf <= Units(Hour) && u&0xff == 0
}
