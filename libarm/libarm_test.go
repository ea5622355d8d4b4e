// Package libarm_test builds the C library in every way that it is to work in, and runs
// its test programs.
package libarm_test

import (
	"os/exec"
	"strings"
	"testing"
)

// TestBuilds runs test/run for each of its builds, those together that share a library. It
// needs root, gcc with gcc-multilib, clang, binutils and pkg-config.
func TestBuilds(t *testing.T) {
	builds := []string{"interface gcc static", "clang", "m32 static32", "notsc", "asan", "tsan"}
	for _, build := range builds {
		t.Run(build, func(t *testing.T) {
			t.Parallel()
			out, err := exec.Command("test/run", strings.Fields(build)...).CombinedOutput()
			if err != nil {
				t.Fatalf("test/run %s: %v\n%s", build, err, out)
			}
			t.Logf("%s", out)
		})
	}
}
