package pcp

import (
	"fmt"
	"strconv"
	"strings"
)

// ParseUnits reads what Units.String prints and pmParseUnitsStr(3) takes: words for
// space, time and count in any order and case, each with a power such as "sec^2", and one
// slash with what stands below it. "ms", "millisec" and "milliseconds" are the same, and
// so are "kb", "KiB" and "kilobyte", all of 1024 bytes; "count x 10^6" counts millions.
// The extra units of PCP 7 are written as "temperature (C)" or "power (mW)". The empty
// string has no dimension. Units hold no factor, so a number such as the 7.5 of
// "count / 7.5 sec" is refused, and so is a dimension that is named twice. The error names
// the string and the word that is wrong.
func ParseUnits(s string) (Units, error) {
	above, below, slash := strings.Cut(s, "/")
	p := unitsParser{text: s}
	p.side(above, 1)
	if slash {
		p.side(below, -1)
		if p.err == nil && strings.TrimSpace(below) == "" {
			p.fail("nothing stands below the slash")
		}
	}
	if p.err != nil {
		return 0, p.err
	}
	return p.units, nil
}

type unitsParser struct {
	text  string
	units Units
	seen  [4]bool // space, time, count, the extra unit
	err   error
}

func (p *unitsParser) fail(format string, args ...any) {
	if p.err == nil {
		p.err = fmt.Errorf("pcp: units %q: "+format, append([]any{p.text}, args...)...)
	}
}

// side reads what stands above the slash or, with sign -1, below it.
func (p *unitsParser) side(text string, sign int) {
	for f := strings.Fields(text); len(f) > 0 && p.err == nil; {
		word, power := f[0], 1
		if name, digits, ok := strings.Cut(word, "^"); ok {
			n, err := strconv.ParseInt(digits, 10, 8)
			if err != nil {
				p.fail("the power %q is not a number", "^"+digits)
			}
			word, power = name, int(n)
		}
		f = f[1:]
		switch dim, scale := unitWord(strings.ToLower(word)); dim {
		case "space":
			p.dimension(0, dimSpace, sign*power, Units(scale)<<scaleSpace)
		case "time":
			p.dimension(1, dimTime, sign*power, Units(scale)<<scaleTime)
		case "count":
			var tens Units
			tens, f = p.tens(f)
			p.dimension(2, dimCount, sign*power, tens)
		case "extra":
			f = p.extra(scale, f, sign)
		default:
			p.fail("%q is not a unit of space, time or count", word)
		}
	}
}

// dimension enters a power of one of the three dimensions, and its scale.
func (p *unitsParser) dimension(i, shift, power int, scale Units) {
	if p.seen[i] {
		p.fail("a dimension is named twice")
		return
	}
	p.seen[i] = true
	if power < -8 || power > 7 {
		p.fail("the power %d is not within -8..7", power)
		return
	}
	if power != 0 {
		p.units |= Units(power)&0xf<<shift | scale
	}
}

// tens reads "x 10^N" behind a count.
func (p *unitsParser) tens(f []string) (scale Units, rest []string) {
	if len(f) < 2 || f[0] != "x" {
		return 0, f
	}
	n := int64(1)
	digits, err := "", error(nil)
	if f[1] != "10" {
		var ok bool
		if digits, ok = strings.CutPrefix(f[1], "10^"); ok {
			n, err = strconv.ParseInt(digits, 10, 8)
		}
		if !ok || err != nil || n < -8 || n > 7 {
			p.fail("%q is not a power of ten within 10^-8..10^7", f[1])
			return 0, nil
		}
	}
	return Units(n) & 0xf << scaleCount, f[2:]
}

// extra reads the scale in brackets behind the name of an extra unit.
func (p *unitsParser) extra(unit int, f []string, sign int) []string {
	if p.seen[3] {
		p.fail("more than one of temperature, voltage, current and power")
		return nil
	}
	p.seen[3] = true
	e := &extraNames[unit]
	for i, name := range e.scales {
		if len(f) > 0 && strings.EqualFold(f[0], "("+name+")") {
			p.units |= Units(sign*unit<<extraUnit|(i+1)) & extraMask
			return f[1:]
		}
	}
	p.fail("%s is not followed by one of the scales (%s)", e.name, strings.Join(e.scales, "), ("))
	return nil
}

// unitWord says which dimension a word in lower case names, and on which scale.
func unitWord(word string) (dim string, scale int) {
	if word == "count" || word == "counts" {
		return "count", 0
	}
	for i := range extraNames {
		if word == extraNames[i].name && word != "" {
			return "extra", i
		}
	}
	for i, forms := range spaceForms {
		if contains(forms, word) {
			return "space", i
		}
	}
	for i, forms := range timeForms {
		if contains(forms, word) {
			return "time", i
		}
	}
	return "", 0
}

// The words for each scale, in lower case.
var (
	spaceForms = [...]string{
		"byte bytes",
		"kbyte kbytes kb kib kilobyte kilobytes kibibyte kibibytes",
		"mbyte mbytes mb mib megabyte megabytes mebibyte mebibytes",
		"gbyte gbytes gb gib gigabyte gigabytes gibibyte gibibytes",
		"tbyte tbytes tb tib terabyte terabytes tebibyte tebibytes",
		"pbyte pbytes pb pib petabyte petabytes pebibyte pebibytes",
		"ebyte ebytes eb eib exabyte exabytes exbibyte exbibytes",
		"zbyte zbytes zb zib zettabyte zettabytes zebibyte zebibytes",
		"ybyte ybytes yb yib yottabyte yottabytes yobibyte yobibytes",
	}
	timeForms = [...]string{
		"ns nanosec nanosecond nanoseconds",
		"us microsec microsecond microseconds",
		"ms millisec millisecond milliseconds",
		"s sec second seconds",
		"min minute minutes",
		"h hr hour hours",
	}
)

func contains(forms, word string) bool {
	for form := range strings.FieldsSeq(forms) {
		if form == word {
			return true
		}
	}
	return false
}
