// Package keyword reads configuration files of the form that the daemons of AIX's
// Performance Toolbox had: a keyword in column one, white space, a value. Blank lines
// and comments, from a '#' at the beginning of a word to the end of the line, are passed
// over. A file with any mistake is refused as a whole, with all its mistakes.
package keyword

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"math"
	"strconv"
	"strings"
	"time"
)

// Keyword takes the value that a file gives to one keyword. Its error says what is wrong
// with the value.
type Keyword func(value string) error

// Error is one mistake in a file.
type Error struct {
	File    string
	Line    int    // from 1; 0: the file as a whole
	Keyword string // "" if the line has none
	Reason  string
}

func (e *Error) Error() string {
	s := e.File
	if e.Line > 0 {
		s += ":" + strconv.Itoa(e.Line)
	}
	if e.Keyword != "" {
		s += ": " + e.Keyword
	}
	return s + ": " + e.Reason
}

const (
	maxErrors = 50
	maxLine   = 64 << 10 // bytes
)

// Parse reads a file from r and hands each value to its keyword. name stands in the
// errors, of which the one returned joins all (the first 50), each an *Error. After an
// error some keywords have taken values, which the caller must not use.
func Parse(r io.Reader, name string, known map[string]Keyword) error {
	p := parser{known: known, first: make(map[string]int)}
	lines := bufio.NewScanner(r)
	lines.Buffer(nil, maxLine)
	var bad []error
	for lines.Scan() && len(bad) < maxErrors {
		p.no++
		if word, err := p.line(lines.Text()); err != nil {
			bad = append(bad, &Error{name, p.no, word, err.Error()})
		}
	}
	if err := lines.Err(); err != nil {
		bad = append(bad, &Error{File: name, Line: p.no + 1, Reason: err.Error()})
	}
	return errors.Join(bad...)
}

type parser struct {
	known map[string]Keyword
	first map[string]int // the line on which a keyword stood
	no    int
}

// line takes one line in. The keyword is for the error.
func (p *parser) line(line string) (word string, err error) {
	fields := words(line)
	if len(fields) == 0 {
		return "", nil
	}
	word = fields[0]
	set, ok := p.known[word]
	switch {
	case !strings.HasPrefix(line, word):
		return "", fmt.Errorf("white space before %q; a keyword begins in column one", word)
	case !ok:
		return "", fmt.Errorf("unknown keyword %q", word)
	case len(fields) != 2:
		return word, fmt.Errorf("one value expected, not %d", len(fields)-1)
	case p.first[word] > 0:
		return word, fmt.Errorf("stands on line %d already", p.first[word])
	}
	p.first[word] = p.no
	return word, set(fields[1])
}

// words splits a line, without its comment.
func words(line string) []string {
	fields := strings.Fields(line)
	for i, f := range fields {
		if f[0] == '#' {
			return fields[:i]
		}
	}
	return fields
}

// Number is a keyword with a decimal number from low to high.
func Number(to *float64, low, high float64) Keyword {
	return func(v string) error {
		f, err := strconv.ParseFloat(v, 64)
		// Go's other notations (hexadecimal, infinity, underscores) are not taken.
		if strings.Trim(v, "0123456789.eE+-") != "" || err != nil {
			return fmt.Errorf("%q is not a number", v)
		}
		if !(f >= low && f <= high) {
			return fmt.Errorf("%s is not between %s and %s", v, plain(low), plain(high))
		}
		*to = f
		return nil
	}
}

// Seconds is a keyword with a time from low to high seconds.
func Seconds(to *time.Duration, low, high float64) Keyword {
	return func(v string) error {
		var f float64
		if err := Number(&f, low, high)(v); err != nil {
			return err
		}
		*to = time.Duration(math.Round(f * float64(time.Second)))
		return nil
	}
}

// Whole is a keyword with a whole number from low to high.
func Whole[T int | int64](to *T, low, high T) Keyword {
	return func(v string) error {
		n, err := strconv.ParseUint(v, 10, 63)
		if err != nil {
			return fmt.Errorf("%q is not a whole number", v)
		}
		if n < uint64(low) || n > uint64(high) {
			return fmt.Errorf("%s is not between %d and %d", v, low, high)
		}
		*to = T(n)
		return nil
	}
}

// Choice is a keyword with one of a few words, each of which stands for a value.
func Choice[T any](to *T, words []string, values []T) Keyword {
	return func(v string) error {
		for i, w := range words {
			if w == v {
				*to = values[i]
				return nil
			}
		}
		return fmt.Errorf("%q is not %s", v, strings.Join(words, " or "))
	}
}

func plain(f float64) string { return strconv.FormatFloat(f, 'f', -1, 64) }
