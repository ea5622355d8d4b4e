package lan

import (
	"encoding/json"
	"regexp"
	"strings"
	"testing"

	"github.com/pcp-rtime/rtime/test/pcptest"
)

var labelLine = regexp.MustCompile(`inst \[\d+ or "(.*)"\] labels (\{.*\})`)

// labelsOf returns the labels of the hosts, without those of the machine.
func labelsOf(t *testing.T, p *pcptest.PCP) map[string]map[string]any {
	t.Helper()
	all := make(map[string]map[string]any)
	out := p.Run("pminfo", "-h", "local:", "-l", "rtime.lan.rtt")
	for _, line := range strings.Split(out, "\n") {
		m := labelLine.FindStringSubmatch(line)
		if m == nil {
			continue
		}
		var labels map[string]any
		if err := json.Unmarshal([]byte(m[2]), &labels); err != nil {
			t.Fatalf("%v: %s", err, m[2])
		}
		all[m[1]] = labels
	}
	return all
}

func testLabels(t *testing.T, o pcptest.Options) {
	p := start(t, o, basic+"host localhost\nfamily any\n")
	answered(p, t, "127.0.0.1", "::1", "127.0.0.2", "localhost")
	got := labelsOf(t, p)
	for host, want := range map[string][2]string{
		"127.0.0.1": {"127.0.0.1", "ipv4"}, "127.0.0.2": {"127.0.0.2", "ipv4"}, "::1": {"::1", "ipv6"},
	} {
		for label, value := range map[string]string{"agent": name, "host": host, "address": want[0], "family": want[1]} {
			if got[host][label] != value {
				t.Errorf("label %s of %s: %v, want %q", label, host, got[host][label], value)
			}
		}
	}
	address := p.Values("rtime.lan.address")["localhost"].Text
	if got["localhost"]["host"] != "localhost" || got["localhost"]["address"] != address || address == "" {
		t.Errorf("localhost at %q: %v", address, got["localhost"])
	}
	contains(t, p.Run("pminfo", "-h", "local:", "-l", "rtime.lan.agent.hosts"), `"agent":"rtlan"`)
}
