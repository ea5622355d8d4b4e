package kit_test

import (
	"bytes"
	"context"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/pcp-rtime/rtime/test/pcptest"
)

func TestMain(m *testing.M) { os.Exit(pcptest.Main(m)) }

// TestWrongPaths: each agent that is given a wrong path says so, where it was started and in
// its log, and ends; nothing is made along the path.
func TestWrongPaths(t *testing.T) {
	for name, options := range map[string][]string{
		"lan": {"config"}, "arm": {"config", "dir"}, "dds": {"config", "dir"},
	} {
		for _, option := range options {
			t.Run(name+" "+option, func(t *testing.T) {
				t.Parallel()
				exe := pcptest.Build(t, "kit-"+name, "pmdas/"+name)
				top := t.TempDir()
				wrong, good := filepath.Join(top, "no", "such"), filepath.Join(top, "good.conf")
				if err := os.WriteFile(good, nil, 0o644); err != nil {
					t.Fatal(err)
				}
				args := map[string][]string{
					"config": {"--config", wrong}, "dir": {"--config", good, "--dir", wrong},
				}[option]
				logFile := filepath.Join(top, "log")
				ctx, stop := context.WithTimeout(context.Background(), time.Minute)
				defer stop()
				c := exec.CommandContext(ctx, exe, append(args, "--state", top, "-l", logFile)...)
				c.Env = append(os.Environ(), "PCP_CONF=/nonexistent")
				var stderr bytes.Buffer
				c.Stderr = &stderr
				in, err := c.StdinPipe() // it waits for pmcd, if it does not end
				if err != nil {
					t.Fatal(err)
				}
				defer in.Close()
				var end *exec.ExitError
				if err := c.Run(); !errors.As(err, &end) || end.ExitCode() != 1 {
					t.Errorf("ended with %v, want exit status 1", err)
				}
				text, err := os.ReadFile(logFile)
				if err != nil {
					t.Fatal(err)
				}
				for where, said := range map[string]string{"standard error": stderr.String(), "the log": string(text)} {
					if !strings.Contains(said, wrong) || !strings.Contains(said, "no such file or directory") {
						t.Errorf("%s has %q", where, said)
					}
				}
				if _, err := os.Stat(filepath.Dir(wrong)); err == nil {
					t.Errorf("%s was made", filepath.Dir(wrong))
				}
			})
		}
	}
}
