// Package conf reads the configuration file of the agent dds: a keyword in column one,
// white space, a value. Blank lines and comments, from a '#' at the beginning of a word
// to the end of the line, are passed over. A file with any mistake is refused as a whole.
package conf

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"os"
	"strconv"
	"strings"
	"time"
)

// Config is what the configuration file can say.
type Config struct {
	Timeout time.Duration // a supplier whose time stamp is older is told to go; 0 never
	Keep    time.Duration // for which a metric without supplier keeps its name

	// Limits for each user.
	Suppliers  int
	Contexts   int   // fixed and volatile
	Statistics int   // values
	Metrics    int   // names below dds, those without supplier included
	Domains    int   // contexts below which there are volatile ones, ever
	Names      int   // new names in a day, of whatever kind
	NewMetrics int   // those of metrics among them
	Bytes      int64 // of all segments
}

// Defaults returns what holds without a configuration file.
func Defaults() Config {
	return Config{
		Timeout: 30 * time.Second, Keep: 24 * time.Hour,
		Suppliers: 1000, Contexts: 200000, Statistics: 2000000, Metrics: 20000, Domains: 1000, Names: 1000000,
		NewMetrics: 10000, Bytes: 512 << 20,
	}
}

// keyword says which numbers a keyword takes, beside 0, and where they go.
type keyword struct {
	low, high int64
	set       func(*Config, int64)
}

var keywords = map[string]keyword{
	"timeout":       {15, 600, func(c *Config, n int64) { c.Timeout = time.Duration(n) * time.Second }},
	"keep":          {0, 366 * 86400, func(c *Config, n int64) { c.Keep = time.Duration(n) * time.Second }},
	"maxsuppliers":  {0, 100000, func(c *Config, n int64) { c.Suppliers = int(n) }},
	"maxcontexts":   {0, 10000000, func(c *Config, n int64) { c.Contexts = int(n) }},
	"maxstatistics": {0, 100000000, func(c *Config, n int64) { c.Statistics = int(n) }},
	"maxmetrics":    {0, 1000000, func(c *Config, n int64) { c.Metrics = int(n) }},
	"maxdomains":    {0, 100000, func(c *Config, n int64) { c.Domains = int(n) }},
	"maxnames":      {0, 1000000000, func(c *Config, n int64) { c.Names = int(n) }},
	"maxnewmetrics": {0, 1 << 22, func(c *Config, n int64) { c.NewMetrics = int(n) }},
	"maxbytes":      {0, 64 << 30, func(c *Config, n int64) { c.Bytes = n }},
}

// Error is one mistake in a configuration file.
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

// Load reads the configuration file at path. What it does not say is as in Defaults.
func Load(path string) (Config, error) {
	f, err := os.Open(path)
	if err != nil {
		return Config{}, err
	}
	defer f.Close()
	return Parse(f, path)
}

const maxErrors = 50

// Parse reads a configuration from r. name stands in its errors, of which the error
// joins all (the first 50), each an *Error.
func Parse(r io.Reader, name string) (Config, error) {
	c := Defaults()
	var bad []error
	first := make(map[string]int)
	lines := bufio.NewScanner(r)
	no := 0
	for lines.Scan() && len(bad) < maxErrors {
		no++
		word, reason := parseLine(&c, lines.Text(), no, first)
		if reason != "" {
			bad = append(bad, &Error{name, no, word, reason})
		}
	}
	if err := lines.Err(); err != nil {
		bad = append(bad, &Error{File: name, Line: no + 1, Reason: err.Error()})
	}
	if len(bad) > 0 {
		return Config{}, errors.Join(bad...)
	}
	return c, nil
}

// parseLine takes one line in, or says what is wrong with it.
func parseLine(c *Config, line string, no int, first map[string]int) (word, reason string) {
	fields := strings.Fields(line)
	for i, f := range fields {
		if f[0] == '#' {
			fields = fields[:i]
			break
		}
	}
	if len(fields) == 0 {
		return "", ""
	}
	word = fields[0]
	k, ok := keywords[word]
	switch {
	case !strings.HasPrefix(line, word):
		return "", fmt.Sprintf("white space before %q; a keyword begins in column one", word)
	case !ok:
		return "", fmt.Sprintf("unknown keyword %q", word)
	case len(fields) != 2:
		return word, fmt.Sprintf("one value expected, not %d", len(fields)-1)
	case first[word] > 0:
		return word, fmt.Sprintf("stands on line %d already", first[word])
	}
	first[word] = no
	n, err := strconv.ParseUint(fields[1], 10, 63)
	if err != nil {
		return word, fmt.Sprintf("%q is not a whole number", fields[1])
	}
	if v := int64(n); (v < k.low || v > k.high) && v != 0 {
		or := ""
		if k.low > 0 {
			or = ", or 0"
		}
		return word, fmt.Sprintf("%d is not between %d and %d%s", v, k.low, k.high, or)
	}
	k.set(c, int64(n))
	return word, ""
}
