package lan

import (
	"fmt"
	"maps"
	"strings"
	"syscall"
	"testing"

	"github.com/pcp-rtime/rtime/test/pcptest"
)

func TestReload(t *testing.T) {
	t.Parallel()
	engines(t, func(t *testing.T, o pcptest.Options) {
		p := start(t, o, basic)
		answered(p, t, "127.0.0.1", "::1", "127.0.0.2")
		requests := p.Number("rtime.lan.requests", "127.0.0.1")
		p.WriteFile("rtlan.conf", "interval 0.4\nhost 127.0.0.1 127.0.0.71\nhost 127.0.0.72\nweight 10\n")
		reload(p, t)
		present(p, t, "127.0.0.1", "127.0.0.71", "127.0.0.72")
		answered(p, t, "127.0.0.71", "127.0.0.72")
		if now := p.Number("rtime.lan.requests", "127.0.0.1"); now < requests {
			t.Errorf("requests to a host that stayed went from %v to %v", requests, now)
		}
		want := map[string]int{"127.0.0.1": 0, "127.0.0.71": 3, "127.0.0.72": 4}
		if ids := p.IDs("rtime.lan.requests"); !maps.Equal(ids, want) {
			t.Errorf("ids are %v, want %v", ids, want)
		}
		settings(t, p, "0.4", "200", "10") // what a file does not give stays
		p.WriteFile("more", "::1\n127.0.0.2 # and a comment\n")
		p.WriteFile("rtlan.conf", "host 127.0.0.1\nhosts more\nmaxrate 150\n")
		reload(p, t)
		present(p, t, "127.0.0.1", "::1", "127.0.0.2")
		settings(t, p, "0.4", "150", "10")
		if ids := p.IDs("rtime.lan.requests"); ids["::1"] != 1 || ids["127.0.0.2"] != 2 {
			t.Errorf("hosts that came back have other ids: %v", ids)
		}
	})
}

// reload makes the agent read its configuration again.
func reload(p *pcptest.PCP, t *testing.T) {
	t.Helper()
	signal(p, t, syscall.SIGHUP)
}

func settings(t *testing.T, p *pcptest.PCP, interval, maxrate, weight string) {
	t.Helper()
	for metric, want := range map[string]string{"interval": interval, "maxrate": maxrate, "weight": weight} {
		if got := p.Value("rtime.lan.control." + metric); got != want {
			t.Errorf("%s is %s, want %s", metric, got, want)
		}
	}
}

// TestBadConfiguration: the agent refuses a bad file as a whole and names the line and the
// reason.
func TestBadConfiguration(t *testing.T) {
	t.Parallel()
	p := start(t, options(t), basic)
	for n, tt := range []struct{ text, want string }{
		{"interval 3\nhost 127.0.0.80\nweight 101\n", "rtlan.conf:3: weight: 101 is not between 0 and 100"},
		{"host 127.0.0.80\n interval 3\n", `rtlan.conf:2: white space before "interval"`},
		{"interval 3\nnonsense 4\n", `rtlan.conf:2: unknown keyword "nonsense"`},
		{"interval\n", "rtlan.conf:1: interval: no value"},
		{"interval 3\ninterval 4\n", "rtlan.conf:2: interval: stands on line 1 already"},
		{"interval 3\nhosts /nonexistent\n", "rtlan.conf:2: hosts: open /nonexistent"},
		{"host 10.1\n", `rtlan.conf:1: host: "10.1"`},
		{"interval 0x10\n", `rtlan.conf:1: interval: "0x10" is not a number`},
		{"maxrate 1\nstore nobody\n", `rtlan.conf:2: store: "nobody": only root and pcp`},
		{"deny 10.0.0.1/8\n", "rtlan.conf:1: deny: "},
	} {
		p.WriteFile("rtlan.conf", tt.text)
		reload(p, t)
		logged(p, t, tt.want)
		pcptest.Eventually(t, "each bad file is reported once", func() error {
			if got := strings.Count(p.Log(name), "the old settings stay"); got != n+1 {
				return fmt.Errorf("%d times after %d files", got, n+1)
			}
			return nil
		})
	}
	present(p, t, "127.0.0.1", "::1", "127.0.0.2")
	settings(t, p, "0.5", "200", "75")
	// After that it takes a good one.
	p.WriteFile("rtlan.conf", basic+"weight 33\n")
	reload(p, t)
	logged(p, t, "configuration read: 3 hosts")
	settings(t, p, "0.5", "200", "33")
}

// TestBadStart: with a bad configuration at start the agent runs, and says why it
// has no hosts.
func TestBadStart(t *testing.T) {
	t.Parallel()
	p := start(t, options(t), "interval 3\nweight 101\n")
	logged(p, t, "rtlan.conf:2: weight: 101 is not between 0 and 100")
	if got := p.Value("rtime.lan.agent.hosts"); got != "0" {
		t.Errorf("%s hosts", got)
	}
	settings(t, p, "10", "10", "75")
	p.WriteFile("rtlan.conf", basic)
	reload(p, t)
	present(p, t, "127.0.0.1", "::1", "127.0.0.2")
}
