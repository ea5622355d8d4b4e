package keyword

import (
	"errors"
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
}

func (v *values) known() map[string]Keyword {
	return map[string]Keyword{
		"number": Number(&v.number, -1, 100.5),
		"time":   Seconds(&v.time, 0.1, 10),
		"whole":  Whole(&v.whole, 1, 60),
		"users":  Choice(&v.apart, []string{"merge", "apart"}, []bool{false, true}),
	}
}

func TestGood(t *testing.T) {
	for text, want := range map[string]values{
		"":                                 {},
		"# nothing\n\n \t \n  # more\n":    {},
		"number 7":                         {number: 7},
		"number\t -0.5 \r\n":               {number: -0.5},
		"number 1e2 # a hundred":           {number: 100},
		"time 0.1\nwhole 60\nusers apart":  {time: 100 * time.Millisecond, whole: 60, apart: true},
		"time 2.5 #\nusers merge\nwhole 1": {time: 2500 * time.Millisecond, whole: 1},
	} {
		var v values
		if err := Parse(strings.NewReader(text), "f", v.known()); err != nil || v != want {
			t.Errorf("%q: %+v, %v; want %+v", text, v, err, want)
		}
	}
}

func TestBad(t *testing.T) {
	for text, want := range map[string]string{
		" number 1":                              `f:1: white space before "number"; a keyword begins in column one`,
		"\nnumbers 1":                            `f:2: unknown keyword "numbers"`,
		"number":                                 "f:1: number: one value expected, not 0",
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
		"users both":                             `f:1: users: "both" is not merge or apart`,
		"users x\nwhole 0\n\n":                   "f:1: users: \"x\" is not merge or apart\nf:2: whole: 0 is not between 1 and 60",
		"number " + strings.Repeat("1", maxLine): "f:1: bufio.Scanner: token too long",
	} {
		var v values
		err := Parse(strings.NewReader(text), "f", v.known())
		if err == nil || err.Error() != want {
			t.Errorf("%.40q: %v; want %s", text, err, want)
		}
		var one *Error
		if !errors.As(err, &one) || one.File != "f" || one.Line == 0 {
			t.Errorf("%.40q: %v is not an Error with a line", text, err)
		}
	}
}

// TestManyMistakes: a file of nothing but mistakes does not fill the log.
func TestManyMistakes(t *testing.T) {
	var v values
	err := Parse(strings.NewReader(strings.Repeat("x\n", 1000)), "f", v.known())
	if n := strings.Count(err.Error(), "\n") + 1; n != maxErrors {
		t.Errorf("%d mistakes are told, want %d", n, maxErrors)
	}
}
