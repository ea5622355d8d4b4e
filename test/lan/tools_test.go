package lan

import (
	"fmt"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"github.com/pcp-rtime/rtime/test/pcptest"
)

// TestValues checks the values of hosts that answer at once, as pminfo shows them.
func TestValues(t *testing.T) {
	t.Parallel()
	engines(t, func(t *testing.T, o pcptest.Options) {
		p := start(t, o, basic)
		hosts := []string{"127.0.0.1", "::1", "127.0.0.2"}
		answered(p, t, hosts...)
		for _, host := range hosts {
			one := func(metric string) float64 { return p.Number("rtime.lan."+metric, host) }
			if up := one("up"); up != 1 {
				t.Errorf("%s: up %v", host, up)
			}
			if rtt := one("rtt"); !(rtt > 0 && rtt < 20000) {
				t.Errorf("%s: rtt %v", host, rtt)
			}
			if ttl := one("ttl"); ttl < 1 || ttl > 255 {
				t.Errorf("%s: ttl %v", host, ttl)
			}
			if age := one("age"); age < 0 || age > 120 {
				t.Errorf("%s: age %v", host, age)
			}
			if a := p.Values("rtime.lan.address")[host].Text; a != host {
				t.Errorf("%s: address %q", host, a)
			}
		}
		bands(t, p, hosts)
		sums(t, p, hosts)
		if got := p.Number("rtime.lan.agent.hosts", ""); got != 3 {
			t.Errorf("agent.hosts %v, want 3", got)
		}
		if got, want := p.Value("rtime.lan.agent.engine"), o.Agents[0].Args[1]; got != want {
			t.Errorf("agent.engine %q, want %q", got, want)
		}
	})
}

// row fetches several metrics at once, so that their values belong together.
func row(p *pcptest.PCP, t *testing.T, host string, metrics ...string) []float64 {
	t.Helper()
	args := []string{"-h", "local:", "-f"}
	for _, m := range metrics {
		args = append(args, "rtime.lan."+m)
	}
	line := regexp.MustCompile(`inst \[\d+ or "` + regexp.QuoteMeta(host) + `"\] value (.*)`)
	var values []float64
	for _, m := range line.FindAllStringSubmatch(p.Run("pminfo", args...), -1) {
		f, err := strconv.ParseFloat(m[1], 64)
		if err != nil {
			t.Fatal(err)
		}
		values = append(values, f)
	}
	if len(values) != len(metrics) {
		t.Fatalf("%s: %d values of %v", host, len(values), metrics)
	}
	return values
}

// bands checks that the shares of the bands add up.
func bands(t *testing.T, p *pcptest.PCP, hosts []string) {
	t.Helper()
	for _, host := range hosts {
		sum := 0.0
		for _, share := range row(p, t, host, "below10", "below20", "below100", "above99") {
			sum += share
		}
		if sum < 99.999 || sum > 100.001 {
			t.Errorf("%s: the bands add up to %v", host, sum)
		}
	}
}

// sums checks that each request is accounted for.
func sums(t *testing.T, p *pcptest.PCP, hosts []string) {
	t.Helper()
	for _, host := range hosts {
		v := row(p, t, host, "requests", "responses", "timeouts", "failed", "in_flight")
		if v[0] != v[1]+v[2]+v[3]+v[4] {
			t.Errorf("%s: %v requests, but responses, timeouts, failed, in flight are %v", host, v[0], v[1:])
		}
	}
}

func TestPmval(t *testing.T) {
	t.Parallel()
	p := start(t, options(t), basic)
	answered(p, t, "127.0.0.1", "::1")
	out := p.Run("pmval", "-h", "local:", "-s", "4", "-t", "1", "-i", "127.0.0.1,::1", "rtime.lan.requests")
	contains(t, out, "cumulative counter (converting to rate)", "units:     count (converting to count / sec)",
		"127.0.0.1", "::1")
	if rate := column(t, out, 0); !(rate > 0 && rate < 100) {
		t.Errorf("rate of requests to 127.0.0.1: %v\n%s", rate, out)
	}
	out = p.Run("pmval", "-h", "local:", "-s", "1", "rtime.lan.rtt[127.0.0.2]")
	contains(t, out, "semantics: instantaneous value", "units:     millisec")
	contains(t, p.Run("pmval", "-h", "local:", "-s", "1", "rtime.lan.control.interval"), "0.5")
}

// column adds up a column of numbers at the end of what pmval prints.
func column(t *testing.T, out string, i int) float64 {
	t.Helper()
	sum := 0.0
	for _, line := range strings.Split(out, "\n") {
		fields := strings.Fields(line)
		if len(fields) <= i {
			continue
		}
		if f, err := strconv.ParseFloat(fields[i], 64); err == nil {
			sum += f
		}
	}
	return sum
}

func TestPmprobe(t *testing.T) {
	t.Parallel()
	p := start(t, options(t), basic)
	answered(p, t, "127.0.0.1", "::1", "127.0.0.2")
	pcptest.Eventually(t, "a cycle has ended", func() error {
		if n := p.Number("rtime.lan.agent.cycles", ""); n == 0 {
			return fmt.Errorf("%v cycles", n)
		}
		return nil
	})
	contains(t, p.Run("pmprobe", "-h", "local:", "-I", "rtime.lan.up"), `rtime.lan.up 3 "127.0.0.1" "::1" "127.0.0.2"`)
	contains(t, p.Run("pmprobe", "-h", "local:", "-i", "rtime.lan.up"), "rtime.lan.up 3 ?0 ?1 ?2")
	contains(t, p.Run("pmprobe", "-h", "local:", "-v", "rtime.lan.up"), "rtime.lan.up 3 1 1 1")
	contains(t, p.Run("pmprobe", "-h", "local:", "-v", "rtime.lan.control.maxrate"), "rtime.lan.control.maxrate 1 200")
	for _, line := range strings.Split(strings.TrimSpace(p.Run("pmprobe", "-h", "local:", "rtime.lan")), "\n") {
		if f := strings.Fields(line); len(f) < 2 || strings.HasPrefix(f[1], "-") {
			t.Errorf("pmprobe: %s", line)
		}
	}
}

func TestPmrep(t *testing.T) {
	t.Parallel()
	p := start(t, options(t), basic)
	answered(p, t, "127.0.0.1", "::1", "127.0.0.2")
	out := p.Run("pmrep", "-h", "local:", "-s", "3", "-t", "0.5", "-o", "csv", "rtime.lan.requests", "rtime.lan.up")
	lines := strings.Split(strings.TrimSpace(out), "\n")
	if len(lines) != 4 {
		t.Fatalf("%d lines, want 4:\n%s", len(lines), out)
	}
	head := strings.NewReplacer("[", "-", "]", "").Replace(lines[0]) // PCP 7 writes [INSTANCE], PCP 6 -INSTANCE
	contains(t, head, `"rtime.lan.requests-127.0.0.1"`, `"rtime.lan.requests-::1"`, `"rtime.lan.up-127.0.0.2"`)
	for _, line := range lines[2:] { // the first sample has no rates yet
		fields := strings.Split(line, ",")
		if len(fields) != 7 || strings.Join(fields[4:], ",") != "1,1,1" {
			t.Errorf("pmrep: %s", line)
		}
		for _, f := range fields[1:4] {
			if rate, err := strconv.ParseFloat(f, 64); err != nil || rate < 0 {
				t.Errorf("rate %q: %v", f, err)
			}
		}
	}
}
