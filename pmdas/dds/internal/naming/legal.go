package naming

import (
	"fmt"
	"hash/fnv"
	"strings"
	"unicode"
	"unicode/utf8"
)

// The names of contexts and statistics may hold nearly anything. The functions here turn them
// into names that PCP allows. The rule is the same on every start:
//
//   - a percent sign becomes "pct", set off by an underscore from what stands beside it;
//   - each other character that is no ASCII letter, digit or underscore becomes an
//     underscore;
//   - a name that does not begin with a letter then gets an "x" before it.
//
// If two names come out alike, Suffix tells them apart. Instances may hold more: only blanks
// and characters that cannot be printed become underscores. For PCP's tools a blank ends a
// name.

// Part rewrites a part of a metric's name.
func Part(name string) string {
	var b strings.Builder
	apart := false // an underscore is due before a letter or digit
	for _, r := range name {
		switch {
		case r == '%':
			if s := b.String(); s != "" && s[len(s)-1] != '_' {
				b.WriteByte('_')
			}
			b.WriteString("pct")
			apart = true
			continue
		case r < utf8.RuneSelf && (unicode.IsLetter(r) || unicode.IsDigit(r)):
			if apart {
				b.WriteByte('_')
			}
			b.WriteRune(r)
		default:
			b.WriteByte('_')
		}
		apart = false
	}
	s := b.String()
	if s == "" || s[0] == '_' || s[0] >= '0' && s[0] <= '9' {
		s = "x" + s
	}
	return s
}

// Instance rewrites the name of an instance.
func Instance(name string) string {
	return strings.Map(func(r rune) rune {
		if r == ' ' || r == utf8.RuneError || !unicode.IsGraphic(r) || unicode.IsSpace(r) {
			return '_'
		}
		return r
	}, name)
}

// Suffix returns what is added to a name that came out like another's. It depends on the name
// before it was rewritten.
func Suffix(original string) string {
	h := fnv.New32a()
	_, _ = h.Write([]byte(original))
	return fmt.Sprintf("_%08x", h.Sum32())
}

// Line makes a text one printable line, for one-line help and labels.
func Line(text string) string {
	return strings.TrimSpace(strings.Join(strings.Fields(strings.Map(printable, text)), " "))
}

// Text makes a text printable and keeps its lines.
func Text(text string) string {
	return strings.TrimSpace(strings.Map(func(r rune) rune {
		if r == '\n' {
			return r
		}
		return printable(r)
	}, text))
}

func printable(r rune) rune {
	switch {
	case r == utf8.RuneError:
		return '?'
	case unicode.IsSpace(r):
		return ' '
	case !unicode.IsGraphic(r):
		return '?'
	}
	return r
}
