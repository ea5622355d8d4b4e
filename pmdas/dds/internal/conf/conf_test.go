package conf

import (
	"errors"
	"io/fs"
	"os"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/pcp-rtime/rtime/pmdas/internal/kit/keyword"
)

// load reads text as the file f.
func load(t *testing.T, text string, current Config) (Config, error) {
	t.Helper()
	t.Chdir(t.TempDir())
	if err := os.WriteFile("f", []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return Load("f", current)
}

func TestLoad(t *testing.T) {
	c, err := load(t, "# comment\n\ntimeout 0\t# never\nkeep\t60\nmaxsuppliers 1\nmaxcontexts 2\n"+
		"maxstatistics 3\nmaxmetrics 4\nmaxbytes 5\nmaxmemory 9\nmaxdomains 6\nmaxnames 7\nmaxnewmetrics 8\nfastest 0.5\nreserve DDS/IBM root nobody\nreserve DDS/a/b 0\n", Defaults())
	want := Config{Timeout: 0, Keep: time.Minute, Suppliers: 1, Contexts: 2, Statistics: 3, Metrics: 4, Bytes: 5, Memory: 9, Domains: 6, Names: 7, NewMetrics: 8,
		Fastest: 500 * time.Millisecond, Reserve: []Reserve{{"DDS/IBM", []uint32{0, 65534}}, {"DDS/a/b", []uint32{0}}}}
	if err != nil || !reflect.DeepEqual(c, want) {
		t.Errorf("%+v, %v; want %+v", c, err, want)
	}
	if c, err := load(t, "", Defaults()); err != nil || !reflect.DeepEqual(c, Defaults()) {
		t.Errorf("an empty file: %+v, %v", c, err)
	}
}

// TestAgain: settings that a file does not give stay as they are.
func TestAgain(t *testing.T) {
	current := Defaults()
	current.Timeout, current.Bytes = time.Minute, 7
	want := current
	want.Keep = time.Hour
	if c, err := load(t, "keep 3600\n", current); err != nil || !reflect.DeepEqual(c, want) {
		t.Errorf("%+v, %v; want %+v", c, err, want)
	}
}

func TestRefused(t *testing.T) {
	for _, c := range []struct{ text, want string }{
		{"timeout 14", "f:1: timeout: 14 is not between 15 and 600, or 0"},
		{"timeout 601", "f:1: timeout: 601 is not between 15 and 600, or 0"},
		{"\ntimeout 1.5", "f:2: timeout: 1.5 is not between 15 and 600, or 0"},
		{"timeout -1", "f:1: timeout: -1 is not between 15 and 600, or 0"},
		{"timeout", "f:1: timeout: no value"},
		{"timeout 15 16", "f:1: timeout: one value expected, not 2"},
		{"keep 1\nkeep 2", "f:2: keep: stands on line 1 already"},
		{" keep 1", `f:1: white space before "keep"; a keyword begins in column one`},
		{"fastest 0", "f:1: fastest: 0 is not between 0.001 and 3600"},
		{"reserve root", `f:1: reserve: "root" is not a path below DDS; write reserve, PATH and USER`},
		{"reserve DDS/a//b root", `f:1: reserve: "DDS/a//b" is not a valid path of a context`},
		{"reserve DDS/a nosuchuser", `f:1: reserve: there is no user "nosuchuser"`},
		{"reserve DDS/a", "f: reserve: no user follows the path DDS/a; write reserve, PATH and USER"},
		{"kepp 1", `f:1: unknown keyword "kepp"`},
		{"maxcontexts 10000001", "f:1: maxcontexts: 10000001 is not between 0 and 10000000"},
		{"a 1\nb 2", "f:1: unknown keyword \"a\"\nf:2: unknown keyword \"b\""},
		{strings.Repeat("x", 70000), "f:1: the line is longer than 65536 bytes"},
	} {
		_, err := load(t, c.text, Defaults())
		if err == nil || err.Error() != c.want {
			t.Errorf("%.40q: %v, want %s", c.text, err, c.want)
		}
		var e *keyword.Error
		if !errors.As(err, &e) {
			t.Errorf("%.40q: %T", c.text, err)
		}
	}
	if _, err := load(t, strings.Repeat("x 1\n", 1000), Defaults()); strings.Count(err.Error(), "\n") > 50 {
		t.Errorf("%d lines of errors", strings.Count(err.Error(), "\n"))
	}
	if _, err := Load("/nonexistent", Defaults()); !errors.Is(err, fs.ErrNotExist) {
		t.Error(err)
	}
}
