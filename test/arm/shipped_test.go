package arm

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/pcp-rtime/rtime/internal/armseg/layout"
)

func text(t *testing.T, path string) string {
	t.Helper()
	b, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}

// TestManual: the manual page describes every option, keyword, group of metrics, rule and
// report.
func TestManual(t *testing.T) {
	t.Parallel()
	page := strings.ReplaceAll(text(t, shipped(t, "pmdartarm.1")), `\-`, "-")
	out, _ := exec.Command(agentProgram(t), "--help").CombinedOutput()
	options := regexp.MustCompile(`--([a-z0-9]+)`).FindAllStringSubmatch(string(out), -1)
	if len(options) < 10 {
		t.Errorf("options: %s", out)
	}
	for _, m := range options {
		if m[1] != "help" && !strings.Contains(page, "--"+m[1]) {
			t.Errorf("the page does not have the option %s", m[1])
		}
	}
	for _, m := range regexp.MustCompile(`(?m)^#([a-z]+)\t`).FindAllStringSubmatch(text(t, shipped(t, "rtarm.conf")), -1) {
		if !strings.Contains(page, `.BI "`+m[1]+` "`) {
			t.Errorf("the page does not have the keyword %s", m[1])
		}
	}
	for _, m := range regexp.MustCompile(`(?m)^\s+([a-z0-9_]+)\s+RTARM:`).FindAllStringSubmatch(text(t, shipped(t, "pmns")), -1) {
		metrics := page[strings.Index(page, ".SH METRICS"):strings.Index(page, ".SH TRACING")]
		inAgent := strings.Contains(text(t, shipped(t, "help")), "@ rtime.arm.agent."+m[1]+" ")
		inParam := strings.Contains(text(t, shipped(t, "help")), "@ rtime.arm.trace.param."+m[1]+" ")
		inGauge := strings.Contains(text(t, shipped(t, "help")), "@ rtime.arm.metric.gauge."+m[1]+" ")
		if !inAgent && !inParam && !inGauge && !regexp.MustCompile(`\b`+m[1]+`\b`).MatchString(metrics) {
			t.Errorf("the page does not have the metric %s", m[1])
		}
	}
	rules, err := filepath.Glob(shipped(t, "pmieconf", "rtime") + "/*")
	if err != nil || len(rules) == 0 {
		t.Errorf("rules: %v", err)
	}
	for _, path := range rules {
		if !strings.Contains(page, "rtime."+filepath.Base(path)) {
			t.Errorf("the page does not have the rule %s", path)
		}
	}
	for _, m := range regexp.MustCompile(`(?m)^\[(.*)\]$`).FindAllStringSubmatch(text(t, shipped(t, "pmrep", "rtarm.conf")), -1) {
		if !strings.Contains(page, ":"+m[1]) {
			t.Errorf("the page does not have the report %s", m[1])
		}
	}
}

// TestShippedNames: what Install waits for, and what is recorded, are metrics.
func TestShippedNames(t *testing.T) {
	t.Parallel()
	help := text(t, shipped(t, "help"))
	lines := text(t, shipped(t, "expect")) + text(t, shipped(t, "pmlogconf", "rtime", "arm"))
	names := regexp.MustCompile(`rtime\.arm[a-z0-9_.]*`).FindAllString(lines, -1)
	if len(names) < 40 {
		t.Errorf("%d names in\n%s", len(names), lines)
	}
	for _, name := range names {
		if !strings.Contains(help, "@ "+name+" ") && !strings.Contains(help, "@ "+name+".") {
			t.Errorf("there is no metric %s", name)
		}
	}
}

// TestShippedDirectory: what systemd-tmpfiles is to make at boot is the directory that the
// agent would make, for the user that PCP runs as.
func TestShippedDirectory(t *testing.T) {
	t.Parallel()
	var lines []string
	for _, line := range strings.Split(strings.TrimSpace(text(t, shipped(t, "tmpfiles.conf"))), "\n") {
		if !strings.HasPrefix(line, "#") {
			lines = append(lines, strings.Join(strings.Fields(line), " "))
		}
	}
	want := []string{
		"d " + filepath.Dir(layout.DefaultDir) + " 0755 root root -",
		fmt.Sprintf("d %s %04o @PCP_USER@ @PCP_GROUP@ -", layout.DefaultDir, layout.DirMode),
		fmt.Sprintf("d %s/%s %04o @PCP_USER@ @PCP_GROUP@ -", layout.DefaultDir, layout.PastDir, layout.PastMode),
		fmt.Sprintf("d %s/%s %04o @PCP_USER@ @PCP_GROUP@ -", layout.DefaultDir, layout.SwitchesDir, layout.SwitchesDirMode),
	}
	if fmt.Sprint(lines) != fmt.Sprint(want) {
		t.Errorf("%q, want %q", lines, want)
	}
}
