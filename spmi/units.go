package spmi

import "strings"

// Units is the dimension and scale of a statistic in space, time and count, each a
// power, negative for "per". The zero value has none. Units multiply: Bytes.Per(Second).
type Units struct {
	Space, Time, Count int8 // powers, -8 to 7
	SpaceScale         int8 // powers of 1024 bytes, 0 to 8
	TimeScale          int8 // Nano to Hour
	CountScale         int8 // powers of ten, -8 to 7
}

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
var (
	NoUnits      = Units{}
	Count        = Units{Count: 1}
	Bytes        = Units{Space: 1}
	KBytes       = Units{Space: 1, SpaceScale: 1}
	MBytes       = Units{Space: 1, SpaceScale: 2}
	GBytes       = Units{Space: 1, SpaceScale: 3}
	Nanoseconds  = Units{Time: 1, TimeScale: Nano}
	Microseconds = Units{Time: 1, TimeScale: Micro}
	Milliseconds = Units{Time: 1, TimeScale: Milli}
	Seconds      = Units{Time: 1, TimeScale: Sec}
	Hours        = Units{Time: 1, TimeScale: Hour}
)

// unitNames are what a struct tag may say: names, or two of them with a slash between.
var unitNames = map[string]Units{
	"count": Count, "byte": Bytes, "kbyte": KBytes, "mbyte": MBytes, "gbyte": GBytes,
	"ns": Nanoseconds, "us": Microseconds, "ms": Milliseconds, "s": Seconds, "hour": Hours,
}

// Per returns u divided by v. Where both have a scale for the same dimension, that of
// u stands.
func (u Units) Per(v Units) Units {
	if u.Space == 0 {
		u.SpaceScale = v.SpaceScale
	}
	if u.Time == 0 {
		u.TimeScale = v.TimeScale
	}
	if u.Count == 0 {
		u.CountScale = v.CountScale
	}
	u.Space -= v.Space
	u.Time -= v.Time
	u.Count -= v.Count
	return u
}

// ParseUnits reads "byte", "kbyte", "mbyte", "gbyte", "ns", "us", "ms", "s", "hour",
// "count", or two of them with a slash between. The empty string has no units.
func ParseUnits(s string) (Units, error) {
	if s == "" {
		return Units{}, nil
	}
	over, under, found := strings.Cut(s, "/")
	u, ok := unitNames[over]
	if ok && found {
		var v Units
		v, ok = unitNames[under]
		u = u.Per(v)
	}
	if !ok {
		return Units{}, fail(CodeBadArgument, "", "unknown units "+s)
	}
	return u, nil
}

func (u Units) valid() bool {
	for _, v := range []int8{u.Space, u.Time, u.Count, u.CountScale} {
		if v < -8 || v > 7 {
			return false
		}
	}
	return u.SpaceScale >= 0 && u.SpaceScale <= 8 && u.TimeScale >= Nano && u.TimeScale <= Hour
}

// word packs the units as a segment has them: four bits each from the top, powers
// before scales, in the order space, time, count.
func (u Units) word() uint32 {
	w := uint32(0)
	for _, v := range []int8{u.Space, u.Time, u.Count, u.SpaceScale, u.TimeScale, u.CountScale} {
		w = w<<4 | uint32(v)&0xf
	}
	return w << 8
}
