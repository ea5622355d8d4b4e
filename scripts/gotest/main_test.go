package main

import (
	"strings"
	"testing"
)

func TestTally(t *testing.T) {
	const in = `{"Action":"run","Package":"p","Test":"TestA"}
{"Action":"output","Package":"p","Test":"TestA","Output":"quiet\n"}
{"Action":"pass","Package":"p","Test":"TestA/sub"}
{"Action":"pass","Package":"p","Test":"TestA"}
{"Action":"output","Package":"p","Test":"TestB","Output":"why\n"}
{"Action":"fail","Package":"p","Test":"TestB"}
{"Action":"output","Package":"p","Test":"TestC","Output":"no tool\n"}
{"Action":"skip","Package":"p","Test":"TestC"}
{"Action":"output","Package":"p","Output":"PASS\n"}
{"Action":"output","Package":"p","Output":"ok  \tp\t0.1s\n"}
{"Action":"pass","Package":"p"}
{"Action":"skip","Package":"q"}
not json
`
	var out strings.Builder
	tl := tally{out: &out, output: make(map[string][]string)}
	if err := tl.read(strings.NewReader(in)); err != nil {
		t.Fatal(err)
	}
	if tl.passed != 2 || tl.failed != 1 || tl.skipped != 1 {
		t.Errorf("passed %d, failed %d, skipped %d; want 2, 1, 1", tl.passed, tl.failed, tl.skipped)
	}
	want := "why\nno tool\nok  \tp\t0.1s\nnot json\n"
	if out.String() != want {
		t.Errorf("printed %q, want %q", out.String(), want)
	}
}
