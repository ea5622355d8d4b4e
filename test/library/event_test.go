package library

import (
	"fmt"
	"strings"
	"testing"

	"github.com/pcp-rtime/rtime/test/pcptest"
)

// TestEvents: pmevent and a program of the PMAPI follow event metrics. Each gets every
// record once, from its first fetch on.
func TestEvents(t *testing.T) {
	t.Parallel()
	for metric, stamp := range map[string]string{"test.event": "22:13:20.123 ", "test.hires": "22:13:20.123456789 "} {
		t.Run(metric, func(t *testing.T) {
			t.Parallel()
			p := start(t)
			one := p.Spawn("pmevent", "-h", "local:", "-t", "0.3", metric)
			two := p.Spawn("pmevent", "-h", "local:", "-t", "0.2", metric)
			follows(t, p, one)
			follows(t, p, two)
			var texts []string
			for i := range 5 {
				texts = append(texts, fmt.Sprintf("happening %d", i))
				store(p, "test.control.event", texts[i])
			}
			for _, q := range []*pcptest.Process{one, two} {
				pcptest.Eventually(t, "pmevent has the last event", func() error {
					if !strings.Contains(q.Output(), texts[4]) {
						return fmt.Errorf("%s", q.Output())
					}
					return nil
				})
				rest := q.Output()
				for _, text := range texts {
					before, after, _ := strings.Cut(rest, `test.parameter "`+text+`"`)
					if after == "" && text != texts[4] || strings.Count(q.Output(), text) != 1 {
						t.Fatalf("event %q, after %d bytes, is not there just once and in order:\n%s", text, len(before), q.Output())
					}
					rest = after
				}
				contains(t, q.Output(), stamp, "(point)")
			}
		})
	}
}

// follows waits until a pmevent has fetched for the first time.
func follows(t *testing.T, p *pcptest.PCP, q *pcptest.Process) {
	t.Helper()
	pcptest.Eventually(t, "pmevent follows", func() error {
		if !q.Running() {
			t.Fatalf("pmevent has ended: %s", q.Output())
		}
		if !strings.Contains(q.Output(), "No values available") && !strings.Contains(q.Output(), "0 event records") {
			return fmt.Errorf("%s", q.Output())
		}
		return nil
	})
}

// TestEventsOnce: a client does not get the same record twice, and a new client gets no old
// records.
func TestEventsOnce(t *testing.T) {
	t.Parallel()
	p := start(t)
	store(p, "test.control.event", "before anybody followed")
	out := p.Run("pminfo", "-h", "local:", "-x", "test.event", "test.hires")
	if strings.Contains(out, "before anybody") || strings.Contains(out, "Error") {
		t.Errorf("pminfo -x of a new client:\n%s", out)
	}
	contains(t, p.Run("pminfo", "-h", "local:", "-d", "test.event"), "Data Type: event record array")
	contains(t, p.Run("pminfo", "-h", "local:", "-d", "test.hires"), "Data Type: highres event record array")
}
