package conf

import (
	"fmt"
	"strings"
)

// Error is one mistake in a configuration file.
type Error struct {
	File    string
	Line    int    // from 1; 0: the file as a whole
	Keyword string // "" if the line has none
	Reason  string
}

func (e *Error) Error() string {
	var b strings.Builder
	b.WriteString(e.File)
	if e.Line > 0 {
		fmt.Fprintf(&b, ":%d", e.Line)
	}
	b.WriteString(": ")
	if e.Keyword != "" {
		b.WriteString(e.Keyword + ": ")
	}
	b.WriteString(e.Reason)
	return b.String()
}

// Errors are all mistakes in a configuration file, in the order of its lines.
type Errors []*Error

// Error has a line for each mistake.
func (e Errors) Error() string {
	lines := make([]string, len(e))
	for i, err := range e {
		lines[i] = err.Error()
	}
	return strings.Join(lines, "\n")
}

// Unwrap lets errors.As find each mistake.
func (e Errors) Unwrap() []error {
	errs := make([]error, len(e))
	for i, err := range e {
		errs[i] = err
	}
	return errs
}
