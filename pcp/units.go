package pcp

import (
	"fmt"
	"strings"
)

// Units is the dimension and scale of a value in space, time and count, as
// pmParseUnitsStr(3) describes them. The zero value has no dimension.
type Units struct {
	DimSpace, DimTime, DimCount int8  // powers, -8..7
	ScaleSpace                  Scale // SpaceByte...
	ScaleTime                   Scale // TimeNSec...
	ScaleCount                  int8  // power of ten, -8..7
}

// Scale is the scale of the space or the time dimension.
type Scale uint8

// Scales of space.
const (
	SpaceByte Scale = iota
	SpaceKByte
	SpaceMByte
	SpaceGByte
	SpaceTByte
	SpacePByte
	SpaceEByte
	SpaceZByte
	SpaceYByte
)

// Scales of time.
const (
	TimeNSec Scale = iota
	TimeUSec
	TimeMSec
	TimeSec
	TimeMin
	TimeHour
)

// Units in common use.
var (
	None         = Units{}
	Count        = Units{DimCount: 1}
	Bytes        = Units{DimSpace: 1}
	KBytes       = Units{DimSpace: 1, ScaleSpace: SpaceKByte}
	Nanoseconds  = Units{DimTime: 1, ScaleTime: TimeNSec}
	Microseconds = Units{DimTime: 1, ScaleTime: TimeUSec}
	Milliseconds = Units{DimTime: 1, ScaleTime: TimeMSec}
	Seconds      = Units{DimTime: 1, ScaleTime: TimeSec}
	PerSecond    = Units{DimCount: 1, DimTime: -1, ScaleTime: TimeSec}
)

// Word packs the units into the 32-bit word that stands in a descriptor.
func (u Units) Word() uint32 {
	n := func(v int8) uint32 { return uint32(v) & 0xf }
	return n(u.DimSpace)<<28 | n(u.DimTime)<<24 | n(u.DimCount)<<20 |
		uint32(u.ScaleSpace)&0xf<<16 | uint32(u.ScaleTime)&0xf<<12 | n(u.ScaleCount)<<8
}

// UnitsFromWord unpacks a descriptor's word; the low eight bits are not used.
func UnitsFromWord(w uint32) Units {
	n := func(shift uint) int8 { return int8(w>>shift<<4) >> 4 }
	return Units{
		DimSpace: n(28), DimTime: n(24), DimCount: n(20),
		ScaleSpace: Scale(w >> 16 & 0xf), ScaleTime: Scale(w >> 12 & 0xf), ScaleCount: n(8),
	}
}

// Valid reports whether every field fits and every scale exists.
func (u Units) Valid() bool {
	for _, d := range []int8{u.DimSpace, u.DimTime, u.DimCount, u.ScaleCount} {
		if d < -8 || d > 7 {
			return false
		}
	}
	return u.ScaleSpace <= SpaceYByte && u.ScaleTime <= TimeHour
}

// String prints the form that pmUnitsStr(3) gives: "millisec", "Kbyte / sec",
// "count", and the empty string where there is no dimension.
func (u Units) String() string {
	space := []string{"byte", "Kbyte", "Mbyte", "Gbyte", "Tbyte", "Pbyte", "Ebyte", "Zbyte", "Ybyte"}
	time := []string{"nanosec", "microsec", "millisec", "sec", "min", "hour"}
	pick := func(names []string, s Scale, what string) string {
		if int(s) < len(names) {
			return names[s]
		}
		return fmt.Sprintf("%s-%d", what, s)
	}
	count := "count"
	switch u.ScaleCount {
	case 0:
	case 1:
		count += " x 10"
	default:
		count += fmt.Sprintf(" x 10^%d", u.ScaleCount)
	}
	if u.DimSpace == 0 && u.DimTime == 0 && u.DimCount == 0 {
		return strings.TrimPrefix(count[len("count"):], " ")
	}
	var above, below []string
	for _, f := range []struct {
		dim  int8
		name string
	}{
		{u.DimSpace, pick(space, u.ScaleSpace, "space")},
		{u.DimTime, pick(time, u.ScaleTime, "time")},
		{u.DimCount, count},
	} {
		power := func(n int8) string {
			if n == 1 {
				return f.name
			}
			return fmt.Sprintf("%s^%d", f.name, n)
		}
		switch {
		case f.dim > 0:
			above = append(above, power(f.dim))
		case f.dim < 0:
			below = append(below, power(-f.dim))
		}
	}
	s := strings.Join(above, " ")
	if len(below) > 0 {
		s = strings.TrimLeft(s+" / "+strings.Join(below, " "), " ")
	}
	return s
}
