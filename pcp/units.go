package pcp

import (
	"fmt"
	"strings"
)

// Units is the dimension and scale of a value in space, time and count, as
// pmLookupDesc(3) describes them, and since PCP 7 the unit of a temperature, a voltage,
// a current or a power. It is the word that stands in a descriptor: from the top four
// bits each for the powers of space, time and count and for their scales, then five bits
// for the extra unit and three for its scale. The zero value has no dimension. Clients
// of PCP 6 do not look at the extra unit and show a metric that has one as without units.
type Units uint32

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
const (
	None         Units = 0
	Count        Units = 1 << dimCount
	Bytes        Units = 1 << dimSpace
	KBytes             = Bytes | Units(SpaceKByte)<<scaleSpace
	MBytes             = Bytes | Units(SpaceMByte)<<scaleSpace
	GBytes             = Bytes | Units(SpaceGByte)<<scaleSpace
	Nanoseconds  Units = 1<<dimTime | Units(TimeNSec)<<scaleTime
	Microseconds Units = 1<<dimTime | Units(TimeUSec)<<scaleTime
	Milliseconds Units = 1<<dimTime | Units(TimeMSec)<<scaleTime
	Seconds      Units = 1<<dimTime | Units(TimeSec)<<scaleTime
	Minutes      Units = 1<<dimTime | Units(TimeMin)<<scaleTime
	Hours        Units = 1<<dimTime | Units(TimeHour)<<scaleTime
	PerSecond    Units = 1<<dimCount | 0xf<<dimTime | Units(TimeSec)<<scaleTime
)

// The extra units of PCP 7. A metric has one of them at most.
const (
	Celsius    Units = extraTemperature<<extraUnit | 1
	Fahrenheit Units = extraTemperature<<extraUnit | 2
	Kelvin     Units = extraTemperature<<extraUnit | 3
	Volts      Units = extraVoltage<<extraUnit | 1
	Millivolts Units = extraVoltage<<extraUnit | 2
	Microvolts Units = extraVoltage<<extraUnit | 3
	Amperes    Units = extraCurrent<<extraUnit | 1
	Milliamps  Units = extraCurrent<<extraUnit | 2
	Microamps  Units = extraCurrent<<extraUnit | 3
	Kilowatts  Units = extraPower<<extraUnit | 1
	Watts      Units = extraPower<<extraUnit | 2
	Milliwatts Units = extraPower<<extraUnit | 3
	Microwatts Units = extraPower<<extraUnit | 4
)

// Where the fields of the word begin.
const (
	dimSpace   = 28
	dimTime    = 24
	dimCount   = 20
	scaleSpace = 16
	scaleTime  = 12
	scaleCount = 8
	extraUnit  = 3
	extraMask  = 0xff // both fields of the extra unit
)

// Numbers of the extra units. A negative one stands below the line of a fraction.
const (
	extraTemperature = 1 + iota
	extraVoltage
	extraCurrent
	extraPower
)

var (
	spaceNames = [...]string{"byte", "Kbyte", "Mbyte", "Gbyte", "Tbyte", "Pbyte", "Ebyte", "Zbyte", "Ybyte"}
	timeNames  = [...]string{"nanosec", "microsec", "millisec", "sec", "min", "hour"}

	extraNames = [...]struct {
		name   string
		scales []string
	}{
		extraTemperature: {"temperature", []string{"C", "F", "K"}},
		extraVoltage:     {"voltage", []string{"V", "mV", "uV"}},
		extraCurrent:     {"current", []string{"A", "mA", "uA"}},
		extraPower:       {"power", []string{"kW", "W", "mW", "uW"}},
	}
)

// MakeUnits packs the powers of the three dimensions, -8 to 7 each, their scales, and for
// count the power of ten, -8 to 7. Bits beyond a field's width are cut.
func MakeUnits(space, time, count int, ofSpace, ofTime Scale, ofCount int) Units {
	n := func(v int) Units { return Units(v) & 0xf }
	return n(space)<<dimSpace | n(time)<<dimTime | n(count)<<dimCount |
		n(int(ofSpace))<<scaleSpace | n(int(ofTime))<<scaleTime | n(ofCount)<<scaleCount
}

// UnitsFromWord makes Units of a descriptor's word. The word may hold anything; see Valid.
func UnitsFromWord(w uint32) Units { return Units(w) }

// Word returns the word that stands in a descriptor.
func (u Units) Word() uint32 { return uint32(u) }

// Dims returns the powers of space, time and count, -8 to 7 each.
func (u Units) Dims() (space, time, count int) {
	return u.signed(dimSpace), u.signed(dimTime), u.signed(dimCount)
}

// Scales returns the scales of space and time, and the power of ten of count.
func (u Units) Scales() (space, time Scale, count int) {
	return Scale(u >> scaleSpace & 0xf), Scale(u >> scaleTime & 0xf), u.signed(scaleCount)
}

// signed returns the field of four bits that begins at shift.
func (u Units) signed(shift uint) int { return int(int32(u)<<(28-shift)) >> 28 }

// extra returns the number of the extra unit, negative below the line, and its scale.
func (u Units) extra() (unit, scale int) { return int(int8(u)) >> extraUnit, int(u & 7) }

// Valid reports whether every scale exists, and the extra unit with its scale.
func (u Units) Valid() bool {
	space, time, _ := u.Scales()
	if space > SpaceYByte || time > TimeHour {
		return false
	}
	unit, scale := u.extra()
	if unit == 0 {
		return scale == 0
	}
	unit = max(unit, -unit)
	return unit < len(extraNames) && scale >= 1 && scale <= len(extraNames[unit].scales)
}

// Per returns u divided by v. Where both have a scale in the same dimension, that of u
// stands. A power that leaves -8 to 7 is cut to four bits, and of two extra units that
// of u stays.
func (u Units) Per(v Units) Units {
	us, ut, uc := u.Dims()
	vs, vt, vc := v.Dims()
	space, time, count := u.Scales()
	vSpace, vTime, vCount := v.Scales()
	if us == 0 {
		space = vSpace
	}
	if ut == 0 {
		time = vTime
	}
	if uc == 0 && count == 0 {
		count = vCount
	}
	w := MakeUnits(us-vs, ut-vt, uc-vc, space, time, count)
	unit, scale := u.extra()
	if unit == 0 {
		unit, scale = v.extra()
		unit = -unit
	}
	return w | Units(unit<<extraUnit|scale)&extraMask
}

// String prints the form that pmUnitsStr(3) gives: "millisec", "Kbyte / sec", "count",
// "temperature (C)", and the empty string where there is no dimension.
func (u Units) String() string {
	space, time, ten := u.Scales()
	count := "count"
	switch ten {
	case 0:
	case 1:
		count += " x 10"
	default:
		count += fmt.Sprintf(" x 10^%d", ten)
	}
	dimSpace, dimTime, dimCount := u.Dims()
	unit, _ := u.extra()
	if dimSpace == 0 && dimTime == 0 && dimCount == 0 && unit == 0 {
		return strings.TrimPrefix(count[len("count"):], " ")
	}
	var above, below []string
	for _, f := range []struct {
		dim  int
		name string
	}{
		{sign(unit), u.extraName()},
		{dimSpace, pick(spaceNames[:], space, "space")},
		{dimTime, pick(timeNames[:], time, "time")},
		{dimCount, count},
	} {
		power := func(n int) string {
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

func pick(names []string, s Scale, what string) string {
	if int(s) < len(names) {
		return names[s]
	}
	return fmt.Sprintf("%s-%d", what, s)
}

func sign(n int) int { return min(max(n, -1), 1) }

// extraName prints the extra unit, such as "power (mW)".
func (u Units) extraName() string {
	unit, scale := u.extra()
	unit = max(unit, -unit)
	if unit == 0 || unit >= len(extraNames) {
		return fmt.Sprintf("extra-%d", unit)
	}
	e := &extraNames[unit]
	if scale < 1 || scale > len(e.scales) {
		return fmt.Sprintf("%s (scale-%d)", e.name, scale)
	}
	return fmt.Sprintf("%s (%s)", e.name, e.scales[scale-1])
}
