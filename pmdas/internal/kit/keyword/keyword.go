// Package keyword reads the configuration files of all agents, which have the form that
// the daemons of AIX's Performance Toolbox had: a keyword in column one, white space, a
// value. Blank lines are passed over, and so are comments, from a '#' at the beginning of
// a word to the end of the line. A file with a mistake is refused as a whole, with all its
// mistakes.
//
// An agent says which keywords there are and where their values go, and fills in a copy of
// its configuration:
//
//	c := current
//	c.Hosts = nil // lists are replaced, numbers and words stay
//	given, err := keyword.Load(path, map[string]keyword.Keyword{
//		"interval": keyword.Seconds(&c.Interval, 0.1, 3600),
//		"users":    keyword.Choice(&c.Apart, []string{"merge", "apart"}, []bool{false, true}),
//		"host":     keyword.List(func(name string) error { return c.addHost(name) }),
//		"hosts":    keyword.Files("host"),
//	})
package keyword

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"math"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"
)

// Keyword says how the values of a keyword are read. Number, Seconds, Whole, Choice and One
// make keywords that may stand once, with one value; List and Files make keywords that may
// stand on several lines, with several values each.
type Keyword struct {
	list  bool
	take  func(value string) error // says what is wrong with the value
	whole []string                 // values that stand for the whole list
	files string                   // the keyword whose values the files hold
}

// Given says which keywords a file has. A keyword made by Files counts as the keyword that
// it fills.
type Given map[string]bool

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

// Load reads the file at path; see Parse. Where there is no such file, the error matches
// fs.ErrNotExist.
func Load(path string, known map[string]Keyword) (Given, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	return Parse(f, path, known)
}

// Parse reads a file from r and hands each value to its keyword. name stands in the errors,
// and the files that the file names are looked for in the folder of name. The error joins
// the first 50 mistakes, in the order of the lines, each an *Error. An error in which there
// is no *Error says that the file cannot be read. After an error some keywords have taken
// values, which the caller must not use.
func Parse(r io.Reader, name string, known map[string]Keyword) (Given, error) {
	p := parser{known: known, file: name, dir: filepath.Dir(name), first: make(map[string]int), given: make(Given),
		values: make(map[string]map[string]int)}
	if err := p.lines(r, p.line); err != nil {
		return nil, err
	}
	p.checkWhole()
	if len(p.bad) > 0 {
		return nil, errors.Join(p.bad...)
	}
	return p.given, nil
}

type parser struct {
	known  map[string]Keyword
	file   string // being read
	no     int    // of the line being read
	dir    string
	first  map[string]int            // the line on which a keyword stood first
	values map[string]map[string]int // of keywords with values for the whole list: the lines of all values
	given  Given
	bad    []error
}

// fail notes a mistake.
func (p *parser) fail(keyword, format string, args ...any) {
	switch {
	case len(p.bad) < maxErrors:
		p.bad = append(p.bad, &Error{p.file, p.no, keyword, fmt.Sprintf(format, args...)})
	case len(p.bad) == maxErrors:
		p.bad = append(p.bad, &Error{File: p.file, Reason: "there are more mistakes"})
	}
}

// lines calls f with each line of r, until there are too many mistakes. It returns an error
// if r cannot be read.
func (p *parser) lines(r io.Reader, f func(string)) error {
	lines := bufio.NewScanner(r)
	lines.Buffer(nil, maxLine)
	for p.no = 1; len(p.bad) <= maxErrors && lines.Scan(); p.no++ {
		f(lines.Text())
	}
	if errors.Is(lines.Err(), bufio.ErrTooLong) {
		p.fail("", "the line is longer than %d bytes", maxLine)
		return nil
	}
	return lines.Err()
}

func (p *parser) line(line string) {
	fields := words(line)
	if len(fields) == 0 {
		return
	}
	word, values := fields[0], fields[1:]
	k, ok := p.known[word]
	switch {
	case !strings.HasPrefix(line, word):
		p.fail("", "white space before %q; a keyword begins in column one", word)
		return
	case !ok:
		p.fail("", "unknown keyword %q", word)
		return
	case len(values) == 0:
		p.fail(word, "no value")
		return
	case !k.list && len(values) > 1:
		p.fail(word, "one value expected, not %d", len(values))
		return
	case !k.list && p.first[word] > 0:
		p.fail(word, "stands on line %d already", p.first[word])
		return
	}
	if p.first[word] == 0 {
		p.first[word] = p.no
	}
	for _, v := range values {
		if k.files != "" {
			p.include(word, k.files, v)
		} else {
			p.value(word, k, v)
		}
	}
}

func (p *parser) value(word string, k Keyword, v string) {
	p.given[word] = true
	if len(k.whole) > 0 {
		if p.values[word] == nil {
			p.values[word] = make(map[string]int)
		}
		p.values[word][v] = p.no
	}
	if err := k.take(v); err != nil {
		p.fail(word, "%v", err)
	}
}

// include reads a file of values, any number to a line.
func (p *parser) include(word, of, path string) {
	p.given[of] = true
	if !filepath.IsAbs(path) {
		path = filepath.Join(p.dir, path)
	}
	f, err := os.Open(path)
	if err != nil {
		p.fail(word, "%v", err)
		return
	}
	defer f.Close()
	file, no := p.file, p.no
	p.file = path
	err = p.lines(f, func(line string) {
		for _, v := range words(line) {
			p.value(of, p.known[of], v)
		}
	})
	p.file, p.no = file, no
	if err != nil {
		p.fail(word, "%v", err)
	}
}

// checkWhole finds values that stand for a whole list and have others beside them.
func (p *parser) checkWhole() {
	for word, values := range p.values {
		for _, v := range p.known[word].whole {
			if line := values[v]; line > 0 && len(values) > 1 {
				p.no = line
				p.fail(word, "%q cannot stand beside other values", v)
				break
			}
		}
	}
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

// One is a keyword with one value, which the function take accepts or refuses.
func One(take func(value string) error) Keyword { return Keyword{take: take} }

// Take hands a value to the keyword, for those that are made of others. The error says what
// is wrong with the value.
func (k Keyword) Take(value string) error { return k.take(value) }

// List is a keyword with a list of values, each of which the function add accepts or
// refuses. The words in whole, such as "none", stand for the whole list and must not stand
// beside others.
func List(add func(value string) error, whole ...string) Keyword {
	return Keyword{list: true, take: add, whole: whole}
}

// Files is a keyword with the names of files that hold values of the list keyword of, any
// number to a line. A relative name is relative to the folder of the configuration file.
func Files(of string) Keyword { return Keyword{list: true, files: of} }

// Number is a keyword with a decimal number from low to high.
func Number(to *float64, low, high float64) Keyword {
	return One(func(v string) error {
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
	})
}

// Seconds is a keyword with a time from low to high seconds.
func Seconds(to *time.Duration, low, high float64) Keyword {
	return One(func(v string) error {
		var f float64
		if err := Number(&f, low, high).Take(v); err != nil {
			return err
		}
		*to = time.Duration(math.Round(f * float64(time.Second)))
		return nil
	})
}

// Whole is a keyword with a whole number from low to high.
func Whole[T int | int64](to *T, low, high T) Keyword {
	return One(func(v string) error {
		n, err := strconv.ParseUint(v, 10, 63)
		if err != nil {
			return fmt.Errorf("%q is not a whole number", v)
		}
		if n < uint64(low) || n > uint64(high) {
			return fmt.Errorf("%s is not between %d and %d", v, low, high)
		}
		*to = T(n)
		return nil
	})
}

// Choice is a keyword with one of several words, each of which stands for a value.
func Choice[T any](to *T, words []string, values []T) Keyword {
	return One(func(v string) error {
		for i, w := range words {
			if w == v {
				*to = values[i]
				return nil
			}
		}
		last := len(words) - 1
		return fmt.Errorf("%q is not %s or %s", v, strings.Join(words[:last], ", "), words[last])
	})
}

func plain(f float64) string { return strconv.FormatFloat(f, 'f', -1, 64) }
