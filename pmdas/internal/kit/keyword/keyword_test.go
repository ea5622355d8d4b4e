package keyword

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// values are what the keywords of these tests set.
type values struct {
	number float64
	time   time.Duration
	whole  int
	apart  bool
	list   string // values of a list, each with a comma
}

func (v *values) known() map[string]Keyword {
	return map[string]Keyword{
		"number": Number(&v.number, -1, 100.5),
		"time":   Seconds(&v.time, 0.1, 10),
		"whole":  Whole(&v.whole, 1, 60),
		"users":  Choice(&v.apart, []string{"merge", "apart", "each"}, []bool{false, true, true}),
		"list": List(func(one string) error {
			if one == "bad" {
				return errors.New("bad")
			}
			v.list += one + ","
			return nil
		}, "none", "all"),
		"lists": Files("list"),
	}
}

// folder makes a folder with files of values, and returns the path of a file in it.
func folder(t *testing.T) string {
	t.Helper()
	file := filepath.Join(t.TempDir(), "f")
	for name, text := range map[string]string{"more": "b # c\n\n c\td\n", "wrong": "a\n\nb bad\n"} {
		if err := os.WriteFile(filepath.Join(filepath.Dir(file), name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return file
}

func TestGood(t *testing.T) {
	file := folder(t)
	for text, want := range map[string]values{
		"":                                 {},
		"# nothing\n\n \t \n  # more\n":    {},
		"number 7":                         {number: 7},
		"number\t -0.5 \r\n":               {number: -0.5},
		"number 1e2 # a hundred":           {number: 100},
		"time 0.1\nwhole 60\nusers apart":  {time: 100 * time.Millisecond, whole: 60, apart: true},
		"time 2.5 #\nusers merge\nwhole 1": {time: 2500 * time.Millisecond, whole: 1},
		"list a b\nlist c":                 {list: "a,b,c,"},
		"list a\nlists more":               {list: "a,b,c,d,"},
		"list none none\nlist none":        {list: "none,none,none,"},
	} {
		var v values
		if _, err := Parse(strings.NewReader(text), file, v.known()); err != nil || v != want {
			t.Errorf("%q: %+v, %v; want %+v", text, v, err, want)
		}
	}
}

func TestBad(t *testing.T) {
	file := folder(t)
	dir := filepath.Dir(file) + "/"
	for text, want := range map[string]string{
		" number 1":                              `f:1: white space before "number"; a keyword begins in column one`,
		"\nnumbers 1":                            `f:2: unknown keyword "numbers"`,
		"number":                                 "f:1: number: no value",
		"number 1 2":                             "f:1: number: one value expected, not 2",
		"number 1\nnumber 1":                     "f:2: number: stands on line 1 already",
		"number x":                               `f:1: number: "x" is not a number`,
		"number 0x10":                            `f:1: number: "0x10" is not a number`,
		"number inf":                             `f:1: number: "inf" is not a number`,
		"number 1_0":                             `f:1: number: "1_0" is not a number`,
		"number 101":                             "f:1: number: 101 is not between -1 and 100.5",
		"number NaN":                             `f:1: number: "NaN" is not a number`,
		"time 0":                                 "f:1: time: 0 is not between 0.1 and 10",
		"whole 1.5":                              `f:1: whole: "1.5" is not a whole number`,
		"whole -1":                               `f:1: whole: "-1" is not a whole number`,
		"whole 61":                               "f:1: whole: 61 is not between 1 and 60",
		"users both":                             `f:1: users: "both" is not merge, apart or each`,
		"users x\nwhole 0\n\n":                   "f:1: users: \"x\" is not merge, apart or each\nf:2: whole: 0 is not between 1 and 60",
		"list":                                   "f:1: list: no value",
		"list a\n\nlist none":                    `f:3: list: "none" cannot stand beside other values`,
		"list all none":                          `f:1: list: "none" cannot stand beside other values`,
		"list all\nlists more":                   `f:1: list: "all" cannot stand beside other values`,
		"lists wrong\nnumber x":                  "wrong:3: list: bad\nf:2: number: \"x\" is not a number",
		"lists missing":                          "f:1: lists: open missing: no such file or directory",
		"number " + strings.Repeat("1", maxLine): "f:1: the line is longer than 65536 bytes",
	} {
		var v values
		_, err := Parse(strings.NewReader(text), file, v.known())
		if err == nil || strings.ReplaceAll(err.Error(), dir, "") != want {
			t.Errorf("%.40q: %v; want %s", text, err, want)
		}
		var one *Error
		if !errors.As(err, &one) || filepath.Dir(one.File)+"/" != dir || one.Line == 0 {
			t.Errorf("%.40q: %v is not an Error with a line", text, err)
		}
	}
}

// TestManyMistakes: a file of nothing but mistakes does not fill the log.
func TestManyMistakes(t *testing.T) {
	var v values
	_, err := Parse(strings.NewReader(strings.Repeat("x\n", 1000)), "f", v.known())
	lines := strings.Split(err.Error(), "\n")
	if len(lines) != maxErrors+1 || lines[maxErrors] != "f: there are more mistakes" {
		t.Errorf("%d lines, the last of them %q; want %d", len(lines), lines[len(lines)-1], maxErrors+1)
	}
}

func TestGiven(t *testing.T) {
	var v values
	given, err := Parse(strings.NewReader("number 1\nlists more\n"), folder(t), v.known())
	if err != nil || len(given) != 2 || !given["number"] || !given["list"] {
		t.Errorf("%v, %v", given, err)
	}
}

func TestLoad(t *testing.T) {
	var v values
	file := folder(t)
	if _, err := Load(file, v.known()); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("without a file: %v", err)
	}
	var mistake *Error
	if _, err := Load(filepath.Dir(file), v.known()); err == nil || errors.As(err, &mistake) {
		t.Errorf("a folder: %v", err)
	}
	if _, err := Parse(strings.NewReader("lists ."), file, v.known()); !errors.As(err, &mistake) || mistake.Keyword != "lists" {
		t.Errorf("a folder as a list: %v", err)
	}
	if err := os.WriteFile(file, []byte("whole 7\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := Load(file, v.known()); err != nil || v.whole != 7 {
		t.Errorf("%+v, %v", v, err)
	}
}
