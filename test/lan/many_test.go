package lan

import (
	"errors"
	"fmt"
	"maps"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"github.com/pcp-rtime/rtime/test/pcptest"
)

// TestManyHosts has ten thousand of them.
func TestManyHosts(t *testing.T) {
	const n = 10000
	var b strings.Builder
	for i := range n {
		fmt.Fprintf(&b, "127.%d.%d.%d\n", 1+i%7, i/250, 1+i%250)
	}
	p := prepare(t, options(t), "interval 5\nmaxrate 2500\nhosts hosts\n")
	p.WriteFile("hosts", b.String())
	p.StartPmcd()
	for metric, want := range map[string]float64{"hosts": n, "probed": n, "on_demand": 0, "without_address": 0} {
		if got := p.Number("rtime.lan.agent."+metric, ""); got != want {
			t.Errorf("agent.%s is %v, want %v", metric, got, want)
		}
	}
	counts(t, p, n)
	ids := p.IDs("rtime.lan.requests")
	if len(ids) != n {
		t.Fatalf("%d instances, want %d", len(ids), n)
	}
	used := make(map[int]bool)
	for _, id := range ids {
		if id < 0 || id >= n || used[id] {
			t.Fatalf("id %d is out of range or has two hosts", id)
		}
		used[id] = true
	}
	pcptest.Eventually(t, "every host has answered", func() error {
		silent := 0
		for _, v := range p.Values("rtime.lan.responses") {
			if v.Text == "0" {
				silent++
			}
		}
		if silent > 0 {
			return fmt.Errorf("%d have not", silent)
		}
		return nil
	})
	// One of them, by name: a profile of one among ten thousand.
	if got := len(strings.Fields(p.Run("pmprobe", "-h", "local:", "-f", "-v", "rtime.lan.address"))); got != n+2 {
		t.Errorf("pmprobe -v shows %d addresses, want %d", got-2, n)
	}
	contains(t, p.Run("pmval", "-h", "local:", "-s", "1", "-i", "127.1.0.1", "rtime.lan.address"), `"127.1.0.1"`)
	archive := p.Path("archive")
	record(p, archive, 2, "rtime.lan")
	for metric, want := range map[string]int{"rtime.lan.responses": n, "rtime.lan.address": n} {
		out := p.Run("pmprobe", "-a", archive, "-I", metric)
		if got := len(strings.Fields(out)) - 2; got != want {
			t.Errorf("the archive has %d instances of %s, want %d", got, metric, want)
		}
	}
	// The ids are the same after a restart, whatever the order of the hosts.
	lines := strings.Split(strings.TrimSpace(b.String()), "\n")
	for i, j := 0, len(lines)-1; i < j; i, j = i+1, j-1 {
		lines[i], lines[j] = lines[j], lines[i]
	}
	p.WriteFile("hosts", strings.Join(lines, "\n")+"\n")
	signal(p, t, syscall.SIGKILL)
	pcptest.Eventually(t, "pmcd has started the agent again", func() error {
		v, err := p.TryValues("rtime.lan.requests")
		if err == nil && len(v) == 0 {
			err = errors.New("no values")
		}
		return err
	})
	if now := p.IDs("rtime.lan.requests"); !maps.Equal(now, ids) {
		t.Error("ids are not what they were before the restart")
	}
}

// counts checks that all metrics can be fetched. Those that always have a value have one
// for each host.
func counts(t *testing.T, p *pcptest.PCP, n int) {
	t.Helper()
	always := map[string]bool{"requests": true, "responses": true, "timeouts": true, "late": true, "duplicates": true,
		"failed": true, "in_flight": true, "send_errors": true, "address": true, "errors.total": true, "window.samples": true}
	for _, line := range strings.Split(strings.TrimSpace(p.Run("pmprobe", "-h", "local:", "rtime.lan")), "\n") {
		f := strings.Fields(line)
		got, err := strconv.Atoi(f[1])
		metric := strings.TrimPrefix(f[0], "rtime.lan.")
		if metric == "agent.cycle" && got < 0 {
			continue // there is none before the first cycle has ended
		}
		if err != nil || got < 0 || always[metric] && got != n {
			t.Errorf("%s: %d values for %d hosts", metric, got, n)
		}
		delete(always, metric)
	}
	if len(always) > 0 {
		t.Errorf("not there: %v", always)
	}
}
