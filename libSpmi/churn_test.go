package libspmi_test

import (
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/pcp-rtime/rtime/internal/ddsseg/reader/readertest"
)

// TestChurn: what the agent reads without a look at the slots is the context's own as
// long as it finds the supplier quiet, though the next context has its room at once.
func TestChurn(t *testing.T) {
	for _, cc := range []string{"gcc", "gcc -m32"} {
		t.Run(cc, func(t *testing.T) {
			dir, lib := segments(t), t.TempDir()
			run(t, "make", "-s", "BUILD="+lib, "CC="+cc, "all")
			program := filepath.Join(lib, "churn")
			args := strings.Fields(cc + " -std=gnu11 -O2 -Wall -Wextra -Werror -Iinclude")
			run(t, args[0], append(args[1:], "-o", program, "test/churn.c", "-L"+lib, "-lSpmi", "-Wl,-rpath,"+lib)...)
			startCommand(t, exec.Command(program, program), dir)
			readertest.Churn(t, open(t, dir))
		})
	}
}
