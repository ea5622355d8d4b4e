package lan

import (
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/pcp-rtime/rtime/test/pcptest"
)

// paragraphs splits what pminfo prints into a paragraph for each metric.
func paragraphs(out string) map[string]string {
	all := make(map[string]string)
	for _, p := range strings.Split("\n"+out, "\n\nrtime.lan.") {
		if name, _, ok := strings.Cut(p, "\n"); ok {
			name, _, _ = strings.Cut(name, " ")
			all["rtime.lan."+name] = strings.TrimSpace(p)
		}
	}
	return all
}

func TestDescriptions(t *testing.T) {
	t.Parallel()
	p := start(t, options(t), basic)
	answered(p, t, "127.0.0.1", "::1", "127.0.0.2")
	pcptest.Eventually(t, "a cycle has ended", func() error {
		if n := p.Number("rtime.lan.agent.cycles", ""); n == 0 {
			return fmt.Errorf("%v cycles", n)
		}
		return nil
	})
	whole := p.Run("pminfo", "-h", "local:", "-dtTlf", "rtime.lan")
	if strings.Contains(whole, "Error") {
		t.Errorf("pminfo -dtTlf has errors:\n%s", whole)
	}
	var names []string
	all := paragraphs(p.Run("pminfo", "-h", "local:", "-d", "rtime.lan"))
	for name := range all {
		names = append(names, name)
	}
	slices.Sort(names)
	space := regexp.MustCompile(`\s+`)
	var b strings.Builder
	for _, name := range names {
		_, desc, _ := strings.Cut(all[name], "\n")
		b.WriteString(name + ": " + strings.TrimSpace(space.ReplaceAllString(desc, " ")) + "\n")
	}
	golden := filepath.Join("testdata", "descriptions.golden")
	if *update {
		if err := os.WriteFile(golden, []byte(b.String()), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(golden)
	if err != nil {
		t.Fatal(err)
	}
	if b.String() != string(want) {
		t.Errorf("descriptions are not those of %s; archives depend on them. They are:\n%s", golden, &b)
	}
}

// TestNumbers checks that no metric changes its number: archives would lie.
func TestNumbers(t *testing.T) {
	t.Parallel()
	p := start(t, options(t), basic)
	lines := strings.Split(strings.TrimSpace(p.Run("pminfo", "-h", "local:", "-m", "rtime.lan")), "\n")
	slices.Sort(lines)
	golden := filepath.Join("testdata", "numbers.golden")
	got := strings.Join(lines, "\n") + "\n"
	if *update {
		if err := os.WriteFile(golden, []byte(got), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(golden)
	if err != nil {
		t.Fatal(err)
	}
	if got != string(want) {
		t.Errorf("numbers are not those of %s:\n%s", golden, got)
	}
}

func TestHelpTexts(t *testing.T) {
	t.Parallel()
	p := start(t, options(t), basic)
	metrics := paragraphs(p.Run("pminfo", "-h", "local:", "-tT", "rtime.lan"))
	if len(metrics) < 50 {
		t.Fatalf("only %d metrics", len(metrics))
	}
	for name, text := range metrics {
		first, rest, _ := strings.Cut(text, "\n")
		_, oneline, ok := strings.Cut(first, "[")
		oneline = strings.TrimSuffix(oneline, "]")
		if !ok || len(oneline) < 5 {
			t.Errorf("%s has no one-line help: %q", name, first)
		}
		long := strings.TrimSpace(strings.TrimPrefix(strings.TrimSpace(rest), "Help:"))
		// Where there is no long text, the client gets the short one again.
		if long == "" || long == oneline {
			t.Errorf("%s has no long help", name)
		}
	}
	const script = `
import cpmapi
from pcp import pmapi
c = pmapi.pmContext(cpmapi.PM_CONTEXT_HOST, "local:")
d = c.pmLookupDescs(c.pmLookupName("rtime.lan.rtt"))[0]
print(c.pmLookupInDomText(d, cpmapi.PM_TEXT_ONELINE), c.pmLookupInDomText(d, cpmapi.PM_TEXT_HELP))
`
	contains(t, p.Run("python3", "-c", script), "hosts whose response time is measured", "pmval -i NAME")
}

func TestLabels(t *testing.T) {
	t.Parallel()
	engines(t, testLabels)
}
