package conf

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
)

const (
	maxLine   = 64 << 10 // bytes in a line
	maxErrors = 50       // mistakes that are reported
)

// Load reads the configuration file at path.
func Load(path string) (*File, error) {
	r, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer r.Close()
	return Parse(r, path, func(path string) (io.ReadCloser, error) { return os.Open(path) })
}

// Parse reads a configuration file from r. name stands in its errors, and files that
// it names are opened, with open, relative to name's directory. If the file has
// mistakes, the error is an Errors with all of them (the first 50), and there is no
// File.
func Parse(r io.Reader, name string, open func(string) (io.ReadCloser, error)) (*File, error) {
	p := &parser{
		file:  name,
		open:  open,
		out:   &File{given: make(map[string]bool)},
		first: make(map[string]int),
		names: make(map[string]bool),
	}
	p.lines(r, p.line)
	p.checkWhole()
	if len(p.errs) > 0 {
		return nil, p.errs
	}
	return p.out, nil
}

type parser struct {
	file  string // being read
	no    int    // of the line being read
	open  func(string) (io.ReadCloser, error)
	out   *File
	first map[string]int  // the line on which a keyword first stood
	names map[string]bool // of hosts, to leave out those given twice
	errs  Errors
}

func (p *parser) fail(keyword, format string, args ...any) {
	switch {
	case len(p.errs) < maxErrors:
		p.errs = append(p.errs, &Error{p.file, p.no, keyword, fmt.Sprintf(format, args...)})
	case len(p.errs) == maxErrors:
		p.errs = append(p.errs, &Error{File: p.file, Reason: "and more"})
	}
}

// lines calls f with each line, p.no counting.
func (p *parser) lines(r io.Reader, f func(string)) {
	s := bufio.NewScanner(r)
	s.Buffer(nil, maxLine)
	for p.no = 1; s.Scan(); p.no++ {
		if len(p.errs) > maxErrors {
			return
		}
		f(s.Text())
	}
	switch err := s.Err(); {
	case errors.Is(err, bufio.ErrTooLong):
		p.fail("", "line of more than %d bytes", maxLine)
	case err != nil:
		p.fail("", "%v", err)
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

func (p *parser) line(line string) {
	w := words(line)
	if len(w) == 0 {
		return
	}
	name, values := w[0], w[1:]
	k, ok := keywords[name]
	switch {
	case !strings.HasPrefix(line, name):
		p.fail("", "white space before %q; a keyword begins in column one", name)
	case !ok:
		p.fail("", "unknown keyword %q", name)
	case len(values) == 0:
		p.fail(name, "no value")
	case !k.list && len(values) > 1:
		p.fail(name, "one value expected, not %d", len(values))
	case !k.list && p.first[name] > 0:
		p.fail(name, "stands on line %d already", p.first[name])
	default:
		p.keyword(name, k, values)
	}
}

func (p *parser) keyword(name string, k keyword, values []string) {
	if p.first[name] == 0 {
		p.first[name] = p.no
	}
	if name == "hosts" {
		p.out.given["host"] = true
		for _, v := range values {
			p.hostFile(v)
		}
		return
	}
	p.out.given[name] = true
	for _, v := range values {
		p.value(name, k, v)
	}
}

func (p *parser) value(name string, k keyword, v string) {
	if name == "host" {
		if p.names[v] {
			return
		}
		p.names[v] = true
	}
	if (v == "all" || v == "none") && name != "host" {
		p.alone(name, v)
	}
	if err := k.set(&p.out.config, v); err != nil {
		p.fail(name, "%v", err)
	}
}

// alone notes a word that stands for a whole list.
func (p *parser) alone(name, v string) { p.first[name+" "+v] = p.no }

// hostFile reads a file of host names, any number to a line.
func (p *parser) hostFile(path string) {
	if !filepath.IsAbs(path) {
		path = filepath.Join(filepath.Dir(p.file), path)
	}
	r, err := p.open(path)
	if err != nil {
		p.fail("hosts", "%v", err)
		return
	}
	defer r.Close()
	file, no := p.file, p.no
	p.file = path
	p.lines(r, func(line string) {
		for _, v := range words(line) {
			p.value("host", keywords["host"], v)
		}
	})
	p.file, p.no = file, no
}

// checkWhole finds what only the whole file shows: a word that stands for the whole
// list beside other values.
func (p *parser) checkWhole() {
	c := &p.out.config
	for _, x := range []struct {
		name, word string
		others     bool
	}{
		{"create", "none", c.Create.All || len(c.Create.UIDs) > 0},
		{"create", "all", len(c.Create.UIDs) > 0},
		{"store", "none", len(c.Store.UIDs) > 0},
		{"allow", "all", len(c.Allow) > 0},
		{"deny", "none", len(c.Deny) > 0},
	} {
		if line := p.first[x.name+" "+x.word]; line > 0 && x.others {
			p.no = line
			p.fail(x.name, "%q cannot stand beside other values", x.word)
		}
	}
}
