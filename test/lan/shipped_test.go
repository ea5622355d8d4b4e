package lan

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/pcp-rtime/rtime/test/pcptest"
)

// shipped is a file or folder that comes with the agent.
func shipped(t *testing.T, elem ...string) string {
	t.Helper()
	path, err := filepath.Abs(filepath.Join(append([]string{"..", "..", "pmdas", "lan"}, elem...)...))
	if err == nil {
		_, err = os.Stat(path)
	}
	if err != nil {
		t.Fatal(err)
	}
	return path
}

func TestShippedConfiguration(t *testing.T) {
	t.Parallel()
	text, err := os.ReadFile(shipped(t, "rtlan.conf"))
	if err != nil {
		t.Fatal(err)
	}
	p := start(t, options(t), string(text))
	present(p, t, "localhost")
	answered(p, t, "localhost")
	settings(t, p, "10", "10", "75")
	// The defaults that the file shows in comments are the defaults.
	var b strings.Builder
	for _, line := range strings.Split(string(text), "\n") {
		if line, ok := strings.CutPrefix(line, "#"); ok && strings.Contains(line, "\t") {
			b.WriteString(line + "\n")
		}
	}
	all := b.String()
	contains(t, all, "interval\t", "maxrate\t", "timeout\t", "weight\t", "window\t", "idle\t", "create\t", "store\t")
	p.WriteFile("iphosts", "127.0.0.1\n")
	p.WriteFile("rtlan.conf", all)
	reload(p, t)
	logged(p, t, "configuration read: 1 hosts, interval 10s, maxrate 10")
	present(p, t, "127.0.0.1")
	settings(t, p, "10", "10", "75")
}

func TestShippedPmrep(t *testing.T) {
	t.Parallel()
	p := start(t, options(t), basic)
	answered(p, t, "127.0.0.1", "::1", "127.0.0.2")
	for report, want := range map[string][]string{
		"rtlan":        {"rtt", "127.0.0.1", "::1", "127.0.0.2"},
		"rtlan-window": {"p95", "127.0.0.1", "::1", "127.0.0.2"},
		"rtlan-count":  {"req/s", "127.0.0.1", "::1", "127.0.0.2"},
		"rtlan-agent":  {"cycle", "overrun/s"},
	} {
		r := p.Try("pmrep", "-h", "local:", "-c", shipped(t, "pmrep", "rtlan.conf"), "-s", "3", "-t", "0.3", ":"+report)
		if r.Code != 0 || r.Err != "" {
			t.Errorf("pmrep :%s: %v", report, r)
		}
		contains(t, r.Out, want...)
	}
}

// TestShippedPmlogconf records what the group says.
func TestShippedPmlogconf(t *testing.T) {
	t.Parallel()
	p := start(t, options(t), basic)
	answered(p, t, "127.0.0.1")
	conf := p.Path("generated.config")
	p.Run("pmlogconf", "-c", "-q", "-h", "local:", "-d", shipped(t, "pmlogconf"), conf)
	text := p.ReadFile("generated.config")
	contains(t, text, "rtime.lan.respavg", "#+ rtime/lan:y:default:")
	p.WriteFile("fast.config", strings.ReplaceAll(text, "on default", "on 250 msec"))
	p.Run("pmlogger", "-h", "local:", "-c", p.Path("fast.config"), "-s", "3", "-l", p.Path("log/logger.log"), p.Path("archive"))
	if log := p.Log("logger"); strings.Contains(log, "Warning") || strings.Contains(log, "Error") {
		t.Errorf("pmlogger:\n%s", log)
	}
	for _, metric := range []string{"respavg", "responses", "window.p95", "errors.total", "up"} {
		contains(t, p.Run("pmprobe", "-a", p.Path("archive"), "-I", "rtime.lan."+metric), `"127.0.0.1"`)
	}
}

// TestShippedPmieconf has each rule fire when it should.
func TestShippedPmieconf(t *testing.T) {
	t.Parallel()
	o := options(t)
	o.Namespace = true
	p := start(t, o, "interval 0.2\nmaxrate 200\ntimeout 5\nwindow 3600\nhost 127.0.0.1 ::1\n")
	answered(p, t, "127.0.0.1", "::1")
	rules, conf := p.Path("rules"), p.Path("pmie.config")
	for path, at := range map[string]string{"/var/lib/pcp/config/pmieconf/global": "global", shipped(t, "pmieconf", "rtime"): "rtime"} {
		if err := os.MkdirAll(rules, 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.Symlink(path, filepath.Join(rules, at)); err != nil {
			t.Fatal(err)
		}
	}
	pmieconf := func(args ...string) { p.Run("pmieconf", append([]string{"-f", conf, "-r", rules}, args...)...) }
	pmieconf("modify", "global", "syslog_action", "no")
	pmieconf("modify", "global", "pcplog_action", "yes") // to the file NOTICES
	pmieconf("enable", "rtime.lan_slow")
	pmieconf("modify", "rtime.lan_slow", "threshold", "0.0001")
	pmieconf("modify", "rtime.lan_loss", "threshold", "0.5")
	for _, rule := range []string{"lan_down", "lan_loss", "lan_slow"} {
		pmieconf("modify", "rtime."+rule, "delta", "1 sec")
	}
	pmie := p.Spawn("pmie", "-f", "-h", "local:", "-c", conf)
	noticed := func(parts ...string) {
		t.Helper()
		pcptest.Eventually(t, fmt.Sprintf("a notice with %q", parts), func() error {
			if !pmie.Running() {
				t.Fatalf("pmie ended: %s", pmie.Output())
			}
			notices := p.ReadFile("log", "NOTICES")
			for _, line := range strings.Split(notices, "\n") {
				if n := 0; line != "" {
					for _, part := range parts {
						if strings.Contains(line, part) {
							n++
						}
					}
					if n == len(parts) {
						return nil
					}
				}
			}
			return fmt.Errorf("%s%s", pmie.Output(), notices)
		})
	}
	noticed("High response time of a host", "127.0.0.1", "::1")
	p.Silence(true)
	noticed("Host does not answer", "127.0.0.1@")
	noticed("Lost packets on the way to a host", "[127.0.0.1]@")
	if notices := p.ReadFile("log", "NOTICES"); strings.Contains(notices, "Host does not answer ::1") {
		t.Errorf("a host that answers is said not to:\n%s", notices)
	}
}
