// Package libbase_test runs the tests of the C files that libarm and libSpmi share.
package libbase_test

import (
	"os/exec"
	"strings"
	"testing"
)

// TestC runs test/run, which says for each program and build whether it passed.
func TestC(t *testing.T) {
	out, err := exec.Command("test/run").CombinedOutput()
	t.Logf("%s", out)
	if err != nil || !strings.Contains(string(out), "ok   nogate: under") {
		t.Fatal(err)
	}
}
