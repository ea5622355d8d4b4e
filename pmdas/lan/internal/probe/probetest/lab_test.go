//go:build linux

package probetest

import (
	"os/exec"
	"slices"
	"strings"
	"testing"
)

// TestLabs has several at once, which must not share a network though each picks
// one of eight at random, and sees that nothing is left.
func TestLabs(t *testing.T) {
	var labs []*Lab
	nets := map[string]bool{}
	for range 4 {
		l, err := Open()
		if err != nil {
			t.Fatal(err)
		}
		labs = append(labs, l)
		nets[l.net4.String()] = true
	}
	if len(nets) != len(labs) {
		t.Errorf("%d labs share the networks %v", len(labs), nets)
	}
	for _, l := range labs {
		for range 2 {
			if err := l.Close(); err != nil {
				t.Error(err)
			}
		}
		out, err := exec.Command("ip", "netns", "list").CombinedOutput()
		if err != nil {
			t.Fatal(err)
		}
		if slices.Contains(strings.Fields(string(out)), l.name) {
			t.Errorf("namespace %s is left", l.name)
		}
	}
}

func TestParseRequest(t *testing.T) {
	lab := unbuilt()
	echo4 := packet(lab.Addr(1), lab.Addr(2), []byte{8, 0, 0, 0, 0, 1, 0, 2, 'x'}, 0)
	echo6 := packet(lab.Addr6(1), lab.Addr6(2), []byte{128, 0, 0, 0, 0, 1, 0, 2, 'x'}, 0)
	for _, b := range [][]byte{echo4, echo6} {
		q, ok := parseRequest(append(slices.Clone(b), 0, 0)) // padded, as short frames are
		if !ok || len(q.packet) != len(b) {
			t.Fatalf("parseRequest(%x) = %+v, %v", b, q, ok)
		}
		for n := range b {
			if _, ok := parseRequest(b[:n]); ok {
				t.Errorf("%d of %d bytes are taken", n, len(b))
			}
		}
	}
}
