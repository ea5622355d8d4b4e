package arm

import (
	"encoding/json"
	"fmt"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/pcp-rtime/rtime/test/pcptest"
)

// TestTry: without PCP the agent prints what it would export.
func TestTry(t *testing.T) {
	t.Parallel()
	p := pcptest.New(t, pcptest.Options{}) // for its folders
	dir := p.Path("run/arm")
	try := func(args ...string) string {
		t.Helper()
		conf := p.WriteFile("rtarm.conf", fast)
		c := exec.Command(agentProgram(t), append([]string{"--try", "--config", conf, "--dir", dir, "--every", "0.5"}, args...)...)
		out, err := c.Output()
		if err != nil {
			t.Fatalf("%v: %v", c.Args, err)
		}
		return string(out)
	}
	try("--count", "1") // makes the directory
	q := run(t, p, cProgram(t), 0)
	q.do("init Shop")
	q.do("tran %s", buy)
	q.do("do %s 1000 0 2", buy)
	pcptest.Eventually(t, "the table has what was counted", func() error {
		if out := try("--count", "2"); !strings.Contains(out, "INSTANCE") || !strings.Contains(out, buy+"  2000 ") {
			return fmt.Errorf("%s", out)
		}
		return nil
	})
	q.kill()
	// What an ended program had counted is there, in each run.
	for range 2 {
		pcptest.Eventually(t, "the past is there", func() error {
			if n := counted(t, try("--json", "--count", "4")); n != 2000 {
				if n > 2000 {
					t.Fatalf("%v are counted, 2000 were done", n)
				}
				return fmt.Errorf("%v are counted", n)
			}
			return nil
		})
	}
	pcptest.Eventually(t, "the file is taken over", func() error {
		try("--count", "1")
		if files, err := filepath.Glob(dir + "/*.arm"); err != nil || len(files) != 0 {
			return fmt.Errorf("%v, %w", files, err)
		}
		return nil
	})
}

// counted returns the count in the last line of JSON, or -1 if it has none.
func counted(t *testing.T, out string) float64 {
	t.Helper()
	var line struct {
		Metrics map[string]any `json:"metrics"`
	}
	lines := strings.Split(strings.TrimSpace(out), "\n")
	if err := json.Unmarshal([]byte(lines[len(lines)-1]), &line); err != nil {
		t.Fatal(err)
	}
	values, _ := line.Metrics["rtime.arm.count"].(map[string]any)
	if n, ok := values[buy].(float64); ok {
		return n
	}
	return -1
}
