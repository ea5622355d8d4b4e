package pcp

import "testing"

// unitForms holds words and what pmUnitsStr(3) of PCP 6.0.3 makes of them.
var unitForms = []struct {
	word  uint32
	units Units
	text  string
}{
	{0, None, ""},
	{0x00100000, Count, "count"},
	{0x01003000, Seconds, "sec"},
	{0x01002000, Milliseconds, "millisec"},
	{0x01001000, Microseconds, "microsec"},
	{0x01000000, Nanoseconds, "nanosec"},
	{0x10000000, Bytes, "byte"},
	{0x10010000, KBytes, "Kbyte"},
	{0x1f013000, Units{DimSpace: 1, DimTime: -1, ScaleSpace: SpaceKByte, ScaleTime: TimeSec}, "Kbyte / sec"},
	{0x0f103000, PerSecond, "count / sec"},
	{0x00100600, Units{DimCount: 1, ScaleCount: 6}, "count x 10^6"},
	{0x00100100, Units{DimCount: 1, ScaleCount: 1}, "count x 10"},
	{0x11110100, Units{DimSpace: 1, DimTime: 1, DimCount: 1, ScaleSpace: SpaceKByte, ScaleCount: 1}, "Kbyte nanosec count x 10"},
	{0x00000600, Units{ScaleCount: 6}, "x 10^6"},
	{0x00000f00, Units{ScaleCount: -1}, "x 10^-1"},
	{0x00100f00, Units{DimCount: 1, ScaleCount: -1}, "count x 10^-1"},
	{0x00100800, Units{DimCount: 1, ScaleCount: -8}, "count x 10^-8"},
	{0x00200000, Units{DimCount: 2}, "count^2"},
	{0x20010000, Units{DimSpace: 2, ScaleSpace: SpaceKByte}, "Kbyte^2"},
	{0x2e013000, Units{DimSpace: 2, DimTime: -2, ScaleSpace: SpaceKByte, ScaleTime: TimeSec}, "Kbyte^2 / sec^2"},
	{0xf0000000, Units{DimSpace: -1}, "/ byte"},
	{0x0f000000, Units{DimTime: -1}, "/ nanosec"},
	{0x00f00000, Units{DimCount: -1}, "/ count"},
	{0xfff12000, Units{DimSpace: -1, DimTime: -1, DimCount: -1, ScaleSpace: SpaceKByte, ScaleTime: TimeMSec},
		"/ Kbyte millisec count"},
	{0xe0f20300, Units{DimSpace: -2, DimCount: -1, ScaleSpace: SpaceMByte, ScaleCount: 3},
		"/ Mbyte^2 count x 10^3"},
	{0x10080000, Units{DimSpace: 1, ScaleSpace: SpaceYByte}, "Ybyte"},
	{0x01005000, Units{DimTime: 1, ScaleTime: TimeHour}, "hour"},
}

func TestUnits(t *testing.T) {
	for _, c := range unitForms {
		if w := c.units.Word(); w != c.word {
			t.Errorf("%+v packs into %#08x, want %#08x", c.units, w, c.word)
		}
		if u := UnitsFromWord(c.word); u != c.units {
			t.Errorf("%#08x unpacks into %+v, want %+v", c.word, u, c.units)
		}
		if s := c.units.String(); s != c.text {
			t.Errorf("%#08x prints %q, want %q", c.word, s, c.text)
		}
		if !c.units.Valid() {
			t.Errorf("%#08x is not valid", c.word)
		}
	}
}

// TestUnitsEveryNibble goes round with every value of every field.
func TestUnitsEveryNibble(t *testing.T) {
	for shift := 8; shift < 32; shift += 4 {
		for n := range uint32(16) {
			w := n << shift
			if back := UnitsFromWord(w | 0xff).Word(); back != w {
				t.Errorf("%#08x comes back as %#08x", w, back)
			}
		}
	}
}

func TestUnitsInvalid(t *testing.T) {
	for _, u := range []Units{
		{DimSpace: 8}, {DimTime: -9}, {DimCount: 8}, {ScaleCount: 8}, {ScaleCount: -9},
		{ScaleSpace: SpaceYByte + 1}, {ScaleTime: TimeHour + 1},
	} {
		if u.Valid() {
			t.Errorf("%+v is valid", u)
		}
	}
	if s := (Units{DimSpace: 1, DimTime: -1, ScaleSpace: 12, ScaleTime: 9}).String(); s != "space-12 / time-9" {
		t.Errorf("unknown scales print %q", s)
	}
}
