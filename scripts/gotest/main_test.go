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
{"Action":"fail","Package":"r","Test":"TestD/one"}
{"Action":"pass","Package":"r","Test":"TestD/two"}
{"Action":"fail","Package":"r","Test":"TestD"}
{"Action":"fail","Package":"r"}
{"ImportPath":"s.test","Action":"build-output","Output":"s.go:1: no\n"}
{"Action":"fail","Package":"s","FailedBuild":"s.test"}
not json
`
	var out strings.Builder
	tl := tally{out: &out, output: make(map[string][]string)}
	if err := tl.read(strings.NewReader(in)); err != nil {
		t.Fatal(err)
	}
	if tl.passed != 3 || tl.failed != 4 || tl.skipped != 1 {
		t.Errorf("passed %d, failed %d, skipped %d; want 3, 4, 1", tl.passed, tl.failed, tl.skipped)
	}
	bad, left := "p TestB; r TestD/one; s", "p TestC"
	if got := strings.Join(tl.bad, "; "); got != bad {
		t.Errorf("listed as failed %q, want %q", got, bad)
	}
	if got := strings.Join(tl.left, "; "); got != left {
		t.Errorf("listed as skipped %q, want %q", got, left)
	}
	want := "why\nno tool\nok  \tp\t0.1s\ns.go:1: no\nnot json\n"
	if out.String() != want {
		t.Errorf("printed %q, want %q", out.String(), want)
	}
}
