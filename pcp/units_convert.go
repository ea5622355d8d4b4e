package pcp

import "math"

// Convert converts a number that is in units u to units to, as pmConvScale(3) does: both have
// the same dimensions and differ in scale. What has no dimension is converted as a count. Of
// PCP 7's extra units temperatures are converted if they stand alone, and the others if they
// have the same side of the fraction. The error is ErrConv where the dimensions differ, and
// ErrUnit where a scale does not exist.
func (u Units) Convert(v float64, to Units) (float64, error) {
	space, time, count := u.Dims()
	toSpace, toTime, toCount := to.Dims()
	unit, scale := u.extra()
	toUnit, toScale := to.extra()
	switch {
	case !u.Valid() || !to.Valid():
		return 0, ErrUnit
	case space != toSpace || time != toTime || count != toCount || unit != toUnit:
		return 0, ErrConv
	}
	if space == 0 && time == 0 && count == 0 {
		count = 1
	}
	fromSpace, fromTime, fromCount := u.Scales()
	intoSpace, intoTime, intoCount := to.Scales()
	v *= math.Pow(1024, float64((int(fromSpace)-int(intoSpace))*space))
	v *= math.Pow(nanoseconds[fromTime]/nanoseconds[intoTime], float64(time))
	v *= math.Pow(10, float64((fromCount-intoCount)*count))
	switch {
	case unit == 0 || scale == toScale:
		return v, nil
	case unit == extraTemperature:
		return fromCelsius(toCelsius(v, scale), toScale), nil
	case unit == -extraTemperature:
		return 0, ErrConv
	}
	side := sign(unit)
	// Each scale is a thousandth of the one before it.
	return v * math.Pow(1000, float64((toScale-scale)*side)), nil
}

// nanoseconds is the length of each scale of time.
var nanoseconds = [...]float64{TimeNSec: 1, TimeUSec: 1e3, TimeMSec: 1e6, TimeSec: 1e9, TimeMin: 60e9, TimeHour: 3600e9}

// The scales of a temperature are Celsius, Fahrenheit and Kelvin.
func toCelsius(v float64, scale int) float64 {
	switch scale {
	case 2:
		return (v - 32) / 1.8
	case 3:
		return v - 273.15
	}
	return v
}

func fromCelsius(v float64, scale int) float64 {
	switch scale {
	case 2:
		return v*1.8 + 32
	case 3:
		return v + 273.15
	}
	return v
}
