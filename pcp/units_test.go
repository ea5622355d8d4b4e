package pcp

import (
	"fmt"
	"math"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
)

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
	{0x1f013000, MakeUnits(1, -1, 0, SpaceKByte, TimeSec, 0), "Kbyte / sec"},
	{0x0f103000, PerSecond, "count / sec"},
	{0x00100600, MakeUnits(0, 0, 1, SpaceByte, TimeNSec, 6), "count x 10^6"},
	{0x00100100, MakeUnits(0, 0, 1, SpaceByte, TimeNSec, 1), "count x 10"},
	{0x11110100, MakeUnits(1, 1, 1, SpaceKByte, TimeNSec, 1), "Kbyte nanosec count x 10"},
	{0x00000600, MakeUnits(0, 0, 0, SpaceByte, TimeNSec, 6), "x 10^6"},
	{0x00000f00, MakeUnits(0, 0, 0, SpaceByte, TimeNSec, -1), "x 10^-1"},
	{0x00100f00, MakeUnits(0, 0, 1, SpaceByte, TimeNSec, -1), "count x 10^-1"},
	{0x00100800, MakeUnits(0, 0, 1, SpaceByte, TimeNSec, -8), "count x 10^-8"},
	{0x00200000, MakeUnits(0, 0, 2, SpaceByte, TimeNSec, 0), "count^2"},
	{0x20010000, MakeUnits(2, 0, 0, SpaceKByte, TimeNSec, 0), "Kbyte^2"},
	{0x2e013000, MakeUnits(2, -2, 0, SpaceKByte, TimeSec, 0), "Kbyte^2 / sec^2"},
	{0xf0000000, MakeUnits(-1, 0, 0, SpaceByte, TimeNSec, 0), "/ byte"},
	{0x0f000000, MakeUnits(0, -1, 0, SpaceByte, TimeNSec, 0), "/ nanosec"},
	{0x00f00000, MakeUnits(0, 0, -1, SpaceByte, TimeNSec, 0), "/ count"},
	{0xfff12000, MakeUnits(-1, -1, -1, SpaceKByte, TimeMSec, 0),
		"/ Kbyte millisec count"},
	{0xe0f20300, MakeUnits(-2, 0, -1, SpaceMByte, TimeNSec, 3),
		"/ Mbyte^2 count x 10^3"},
	{0x10080000, MakeUnits(1, 0, 0, SpaceYByte, TimeNSec, 0), "Ybyte"},
	{0x01005000, Hours, "hour"},
	{0x01004000, Minutes, "min"},
	{0x10020000, MBytes, "Mbyte"},
	{0x10030000, GBytes, "Gbyte"},
}

// extraForms holds words and what pmUnitsStr(3) of PCP 7.2.1 makes of them, as read in
// its source.
var extraForms = []struct {
	word  uint32
	units Units
	text  string
}{
	{0x09, Celsius, "temperature (C)"},
	{0x0a, Fahrenheit, "temperature (F)"},
	{0x0b, Kelvin, "temperature (K)"},
	{0x11, Volts, "voltage (V)"},
	{0x12, Millivolts, "voltage (mV)"},
	{0x13, Microvolts, "voltage (uV)"},
	{0x19, Amperes, "current (A)"},
	{0x1a, Milliamps, "current (mA)"},
	{0x1b, Microamps, "current (uA)"},
	{0x21, Kilowatts, "power (kW)"},
	{0x22, Watts, "power (W)"},
	{0x23, Milliwatts, "power (mW)"},
	{0x24, Microwatts, "power (uW)"},
	{0x0f003023, Milliwatts.Per(Seconds), "power (mW) / sec"},
	{0x010030e2, Seconds.Per(Watts), "sec / power (W)"},
}

func TestUnits(t *testing.T) {
	for _, c := range slices.Concat(unitForms, extraForms) {
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

// TestUnitsEveryNibble goes round with every value of every field, and in every bit of
// the extra unit.
func TestUnitsEveryNibble(t *testing.T) {
	for shift := 0; shift < 32; shift += 4 {
		for n := range uint32(16) {
			w := n << shift
			u := UnitsFromWord(w)
			ds, dt, dc := u.Dims()
			ss, st, sc := u.Scales()
			if back := MakeUnits(ds, dt, dc, ss, st, sc).Word() | w&0xff; u.Word() != w || back != w {
				t.Errorf("%#08x comes back as %#08x", w, back)
			}
		}
	}
}

func TestUnitsInvalid(t *testing.T) {
	for _, u := range []Units{
		MakeUnits(0, 0, 0, SpaceYByte+1, 0, 0), MakeUnits(0, 0, 0, 0, TimeHour+1, 0),
		1, 5<<3 | 1, Celsius - 1, Kelvin + 1, Microwatts + 1, 1<<7 | 1,
	} {
		if u.Valid() {
			t.Errorf("%#08x is valid", u.Word())
		}
	}
	for u, want := range map[Units]string{
		MakeUnits(1, -1, 0, 12, 9, 0): "space-12 / time-9", 5<<3 | 1: "extra-5", Kelvin + 1: "temperature (scale-4)",
	} {
		if s := u.String(); s != want {
			t.Errorf("%#08x prints %q, want %q", u.Word(), s, want)
		}
	}
}

func TestUnitsPer(t *testing.T) {
	for _, c := range []struct{ u, v, want Units }{
		{KBytes, Seconds, MakeUnits(1, -1, 0, SpaceKByte, TimeSec, 0)},
		{Count, Seconds, PerSecond},
		{Milliseconds, Seconds, MakeUnits(0, 0, 0, 0, TimeMSec, 0)},
		{None, Hours, MakeUnits(0, -1, 0, 0, TimeHour, 0)},
		{Milliwatts, Seconds, UnitsFromWord(0x0f003023)},
		{Seconds, Watts, UnitsFromWord(0x010030e2)},
		{Milliseconds, MakeUnits(0, 0, 1, 0, 0, 6), MakeUnits(0, 1, -1, 0, TimeMSec, 6)},
	} {
		if got := c.u.Per(c.v); got != c.want {
			t.Errorf("%v per %v is %#08x, want %#08x", c.u, c.v, got.Word(), c.want.Word())
		}
	}
}

// TestParseUnits reads every printed form back. What libpcp makes of the words is what
// TestParseUnitsAsPCP compares.
func TestParseUnits(t *testing.T) {
	for _, c := range slices.Concat(unitForms, extraForms) {
		if u, err := ParseUnits(c.text); (err != nil || u != c.units) && c.units.dimensioned() {
			t.Errorf("%q is %#08x, %v, want %#08x", c.text, u.Word(), err, c.word)
		}
	}
	for _, bad := range []string{"2 count", "count / 7.5 sec", "kb kb", "kb / kb", "ms / s^2", "kb / s / s", "sec^8", "/ sec^9",
		"sec^", "sec^x", "^2", "count x 10^8", "count x 100", "count x", "x 10^3", "kb /", "/", "none", "mins", "b", "temperature",
		"temperature (mV)", "temperature (C) power (W)", "sec ^2"} {
		if u, err := ParseUnits(bad); err == nil || u != 0 || !strings.Contains(err.Error(), strconv.Quote(bad)) {
			t.Errorf("%q is %#08x, %v", bad, u.Word(), err)
		}
	}
}

// dimensioned is false for a scale without dimension, which neither PCP nor we read.
func (u Units) dimensioned() bool {
	s, t, c := u.Dims()
	unit, _ := u.extra()
	return u == 0 || s != 0 || t != 0 || c != 0 || unit != 0
}

// TestParseUnitsAsPCP compares with pmParseUnitsStr(3) of the libpcp that is installed,
// for every word there is and for what words can be put together to.
func TestParseUnitsAsPCP(t *testing.T) {
	lines := []string{"count", "Counts", "count x 10", "COUNT x 10^3", "count x 10^-3", "/ count", "count/sec", "kb /s", "kb^-1/s",
		"ms kb count x 10^3", "count x 10 sec", "kb ms", "sec^-1", "min^0", "count^2", "Kbyte^2 / sec^2"}
	for _, forms := range slices.Concat(spaceForms[:], timeForms[:]) {
		for word := range strings.FieldsSeq(forms) {
			lines = append(lines, word, strings.ToUpper(word), word+"^2", "/ "+word, word+" / count")
		}
	}
	exe := filepath.Join(t.TempDir(), "units")
	if out, err := exec.Command("cc", "-o", exe, "testdata/units.c", "-lpcp").CombinedOutput(); err != nil {
		t.Fatalf("cc (Debian's libpcp3-dev has the headers): %v\n%s", err, out)
	}
	c := exec.Command(exe)
	c.Stdin = strings.NewReader(strings.Join(lines, "\n") + "\n")
	out, err := c.Output()
	if err != nil {
		t.Fatal(err)
	}
	answers := strings.Split(strings.TrimSpace(string(out)), "\n")
	if len(answers) != len(lines) {
		t.Fatalf("%d answers to %d lines", len(answers), len(lines))
	}
	for i, line := range lines {
		u, err := ParseUnits(line)
		got := fmt.Sprintf("%08x", u.Word())
		if err != nil {
			got = err.Error()
		}
		if got != answers[i] {
			t.Errorf("%q: %s, PCP says %s", line, got, answers[i])
		}
	}
}

// FuzzParseUnits: what is read is valid, and prints as something that reads the same.
func FuzzParseUnits(f *testing.F) {
	for _, c := range slices.Concat(unitForms, extraForms) {
		f.Add(c.text)
	}
	f.Fuzz(func(t *testing.T, s string) {
		u, err := ParseUnits(s)
		if err != nil {
			return
		}
		if !u.Valid() {
			t.Fatalf("%q is %#08x", s, u.Word())
		}
		if back, err := ParseUnits(u.String()); u.dimensioned() && (err != nil || back.String() != u.String()) {
			t.Fatalf("%q prints %q, which is %q, %v", s, u, back, err)
		}
	})
}

func TestUnitsConvert(t *testing.T) {
	kbytesPerSecond := KBytes.Per(Seconds)
	millions := MakeUnits(0, 0, 1, 0, 0, 6)
	for _, tt := range []struct {
		v        float64
		from, to Units
		want     float64
		err      error
	}{
		{1, KBytes, Bytes, 1024, nil},
		{1 << 20, Bytes, MBytes, 1, nil},
		{3, GBytes, MBytes, 3072, nil},
		{1500, Milliseconds, Seconds, 1.5, nil},
		{2, Hours, Minutes, 120, nil},
		{1, Hours, Nanoseconds, 3600e9, nil},
		{7, None, None, 7, nil},
		{7, MakeUnits(0, 0, 0, 0, 0, 3), None, 7000, nil},
		{5e6, Count, millions, 5, nil},
		{2, millions, Count, 2e6, nil},
		{1024, Bytes.Per(Seconds), kbytesPerSecond, 1, nil},
		{60, kbytesPerSecond, KBytes.Per(Minutes), 3600, nil},
		{1, MakeUnits(2, 0, 0, SpaceKByte, 0, 0), MakeUnits(2, 0, 0, SpaceByte, 0, 0), 1 << 20, nil},
		{100, Celsius, Fahrenheit, 212, nil},
		{32, Fahrenheit, Kelvin, 273.15, nil},
		{0, Kelvin, Celsius, -273.15, nil},
		{5, Celsius, Celsius, 5, nil},
		{1500, Millivolts, Volts, 1.5, nil},
		{2, Kilowatts, Milliwatts, 2e6, nil},
		{3, Bytes.Per(Watts), Bytes.Per(Kilowatts), 3000, nil},
		{1, Bytes, Seconds, 0, ErrConv},
		{1, None, Count, 0, ErrConv},
		{1, Volts, Amperes, 0, ErrConv},
		{1, Bytes.Per(Celsius), Bytes.Per(Kelvin), 0, ErrConv},
		{1, UnitsFromWord(0x01007000), Seconds, 0, ErrUnit},
		{1, Bytes, UnitsFromWord(0x10090000), 0, ErrUnit},
	} {
		got, err := tt.from.Convert(tt.v, tt.to)
		if err != tt.err || math.Abs(got-tt.want) > 1e-12*math.Abs(tt.want) {
			t.Errorf("%v %v is %v %v, %v; want %v, %v", tt.v, tt.from, got, tt.to, err, tt.want, tt.err)
		}
	}
}
