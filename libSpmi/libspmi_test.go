// Package libspmi_test builds the C library in every way that it is to work in, and
// runs its test programs.
package libspmi_test

import (
	"os/exec"
	"testing"
)

// TestBuilds runs test/run once for each of its builds. It needs root, gcc with
// gcc-multilib, clang, binutils, man and pkg-config.
func TestBuilds(t *testing.T) {
	builds := []string{"interface", "gcc", "clang", "static", "static32", "m32", "m32time", "asan", "tsan"}
	for _, build := range builds {
		t.Run(build, func(t *testing.T) {
			t.Parallel()
			out, err := exec.Command("test/run", build).CombinedOutput()
			if err != nil {
				t.Fatalf("test/run %s: %v\n%s", build, err, out)
			}
			t.Logf("%s", out)
		})
	}
}
