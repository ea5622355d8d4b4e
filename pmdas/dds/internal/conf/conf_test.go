package conf

import (
	"errors"
	"io/fs"
	"strings"
	"testing"
	"time"

	"github.com/pcp-rtime/rtime/pmdas/internal/kit/keyword"
)

func TestParse(t *testing.T) {
	c, err := Parse(strings.NewReader("# comment\n\ntimeout 0\t# never\nkeep\t60\nmaxsuppliers 1\nmaxcontexts 2\n"+
		"maxstatistics 3\nmaxmetrics 4\nmaxbytes 5\nmaxdomains 6\nmaxnames 7\nmaxnewmetrics 8\n"), "f")
	want := Config{Timeout: 0, Keep: time.Minute, Suppliers: 1, Contexts: 2, Statistics: 3, Metrics: 4, Bytes: 5, Domains: 6, Names: 7, NewMetrics: 8}
	if err != nil || c != want {
		t.Errorf("%+v, %v; want %+v", c, err, want)
	}
	if c, err := Parse(strings.NewReader(""), "f"); err != nil || c != Defaults() {
		t.Errorf("an empty file: %+v, %v", c, err)
	}
}

func TestParseRefuses(t *testing.T) {
	for _, c := range []struct{ text, want string }{
		{"timeout 14", "f:1: timeout: 14 is not between 15 and 600, or 0"},
		{"timeout 601", "f:1: timeout: 601 is not between 15 and 600, or 0"},
		{"\ntimeout 1.5", `f:2: timeout: "1.5" is not a whole number`},
		{"timeout -1", `f:1: timeout: "-1" is not a whole number`},
		{"timeout", "f:1: timeout: one value expected, not 0"},
		{"timeout 15 16", "f:1: timeout: one value expected, not 2"},
		{"keep 1\nkeep 2", "f:2: keep: stands on line 1 already"},
		{" keep 1", `f:1: white space before "keep"; a keyword begins in column one`},
		{"kepp 1", `f:1: unknown keyword "kepp"`},
		{"maxcontexts 10000001", "f:1: maxcontexts: 10000001 is not between 0 and 10000000"},
		{"a 1\nb 2", "f:1: unknown keyword \"a\"\nf:2: unknown keyword \"b\""},
		{strings.Repeat("x", 70000), "f:1: bufio.Scanner: token too long"},
	} {
		_, err := Parse(strings.NewReader(c.text), "f")
		if err == nil || err.Error() != c.want {
			t.Errorf("%.40q: %v, want %s", c.text, err, c.want)
		}
		var e *keyword.Error
		if !errors.As(err, &e) {
			t.Errorf("%.40q: %T", c.text, err)
		}
	}
	if _, err := Parse(strings.NewReader(strings.Repeat("x 1\n", 1000)), "f"); strings.Count(err.Error(), "\n") > 50 {
		t.Errorf("%d lines of errors", strings.Count(err.Error(), "\n"))
	}
	if _, err := Load("/nonexistent"); !errors.Is(err, fs.ErrNotExist) {
		t.Error(err)
	}
}
