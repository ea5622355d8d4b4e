package lan

import (
	"fmt"
	"maps"
	"regexp"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"github.com/pcp-rtime/rtime/test/pcptest"
)

// sample is the content of an archive at one moment: from metric and instance to value.
type sample map[string]string

var (
	dumpMetric = regexp.MustCompile(`^    [\d.]+ \((rtime\.[a-z0-9_.]+)\):(.*)$`)
	dumpInst   = regexp.MustCompile(`^\s+inst \[\d+ or "(.*)"\] value (.*)$`)
	dumpValue  = regexp.MustCompile(`^\s+value (.*)$`)
)

// dump reads the samples of an archive from what pmdumplog prints.
func dump(t *testing.T, p *pcptest.PCP, archive string) []sample {
	t.Helper()
	out := p.Run("pmdumplog", "-m", archive)
	if strings.Contains(out, "<mark>") {
		t.Errorf("the archive has <mark> records:\n%s", out)
	}
	var all []sample
	metric := ""
	for _, line := range strings.Split(out, "\n") {
		if strings.HasSuffix(line, " metrics") || strings.HasSuffix(line, " metric") {
			all = append(all, sample{})
		}
		rest := line
		if m := dumpMetric.FindStringSubmatch(line); m != nil {
			metric, rest = m[1], m[2]
		}
		if strings.Contains(line, "(pmcd.") || strings.Contains(line, "(event.") {
			metric = ""
		}
		if metric == "" || len(all) == 0 {
			continue
		}
		if m := dumpInst.FindStringSubmatch(rest); m != nil {
			all[len(all)-1][metric+"["+m[1]+"]"] = strings.Trim(m[2], `"`)
		} else if m := dumpValue.FindStringSubmatch(rest); m != nil {
			all[len(all)-1][metric] = strings.Trim(m[1], `"`)
		}
	}
	var ours []sample
	for _, s := range all {
		if len(s) > 0 {
			ours = append(ours, s)
		}
	}
	return ours
}

// record has pmlogger record metrics a number of times.
func record(p *pcptest.PCP, archive string, samples int, metrics ...string) {
	conf := p.WriteFile("logger.conf", "log mandatory on 250 msec {\n"+strings.Join(metrics, "\n")+"\n}\n")
	p.Run("pmlogger", "-h", "local:", "-c", conf, "-s", strconv.Itoa(samples), "-l", p.Path("log/logger.log"), archive)
}

func TestArchive(t *testing.T) {
	t.Parallel()
	engines(t, testArchive)
}

func testArchive(t *testing.T, o pcptest.Options) {
	p := start(t, o, basic)
	hosts := []string{"127.0.0.1", "::1", "127.0.0.2"}
	answered(p, t, hosts...)
	archive := p.Path("archive")
	record(p, archive, 8, "rtime.lan")
	samples := dump(t, p, archive)
	if len(samples) < 8 {
		t.Fatalf("%d samples, want 8", len(samples))
	}
	for _, host := range hosts {
		last := 0
		for i, s := range samples {
			n := func(metric string) int {
				v, err := strconv.Atoi(s["rtime.lan."+metric+"["+host+"]"])
				if err != nil {
					t.Fatalf("%s of %s in sample %d: %v", metric, host, i, err)
				}
				return v
			}
			if n("requests") < last {
				t.Errorf("%s: requests went from %d to %d", host, last, n("requests"))
			}
			last = n("requests")
			if sum := n("responses") + n("timeouts") + n("failed") + n("in_flight"); sum != last {
				t.Errorf("%s: %d requests, but %d in all", host, last, sum)
			}
			if s["rtime.lan.address["+host+"]"] != host {
				t.Errorf("%s: address %q", host, s["rtime.lan.address["+host+"]"])
			}
		}
	}
	metadata(t, p, archive)
}

// metadata checks instances, labels and help texts of an archive.
func metadata(t *testing.T, p *pcptest.PCP, archive string) {
	t.Helper()
	indom := p.Run("pmdumplog", "-i", archive)
	contains(t, indom, "InDom: 470.0", `0 or "127.0.0.1"`, `1 or "::1"`, `2 or "127.0.0.2"`)
	contains(t, p.Run("pmdumplog", "-e", archive), `"agent":"rtlan"`, `"host":"::1"`, `"family":"ipv6"`, `"address":"127.0.0.2"`)
	contains(t, p.Run("pmdumplog", "-h", archive), "hosts whose response time is measured", "latest response time, unrounded",
		"as the kernel\nstamped them")
	now := paragraphs(p.Run("pminfo", "-h", "local:", "-d", "rtime.lan"))
	if old := paragraphs(p.Run("pminfo", "-a", archive, "-d", "rtime.lan")); !maps.Equal(old, now) {
		t.Error("pminfo -d of the archive and live differ")
		for name := range now {
			if now[name] != old[name] {
				t.Errorf("%q in the archive, live %q", old[name], now[name])
			}
		}
	}
	out := p.Run("pmval", "-a", archive, "-t", "0.25", "-i", "127.0.0.1", "rtime.lan.requests")
	contains(t, out, "converting to rate", "127.0.0.1")
	if rate := column(t, out, 1); !(rate > 0) {
		t.Errorf("rate in the archive: %v\n%s", rate, out)
	}
}

// TestArchiveIsTrue compares an archive with what the agent says before and after, while
// probing stands still: the values must be exactly the same.
func TestArchiveIsTrue(t *testing.T) {
	t.Parallel()
	engines(t, func(t *testing.T, o pcptest.Options) {
		p := start(t, o, basic)
		hosts := []string{"127.0.0.1", "::1", "127.0.0.2"}
		answered(p, t, hosts...)
		p.Run("pmstore", "-h", "local:", "rtime.lan.control.interval", "86400")
		metrics := []string{"rtime.lan.requests", "rtime.lan.responses", "rtime.lan.rtt", "rtime.lan.respavg", "rtime.lan.up",
			"rtime.lan.resptime", "rtime.lan.ttl", "rtime.lan.below10", "rtime.lan.control.interval", "rtime.lan.agent.engine"}
		n := 0
		pcptest.Eventually(t, "an archive from a time when nothing changed", func() error {
			before := live(p, metrics)
			n++
			archive := p.Path(fmt.Sprintf("archive%d", n))
			record(p, archive, 4, metrics...)
			if after := live(p, metrics); !maps.Equal(before, after) {
				return fmt.Errorf("%v became %v", before, after)
			}
			for i, s := range dump(t, p, archive) {
				if !maps.Equal(s, before) {
					t.Errorf("sample %d is %v, the agent says %v", i, s, before)
				}
			}
			return nil
		})
	})
}

func live(p *pcptest.PCP, metrics []string) sample {
	s := sample{}
	for _, metric := range metrics {
		for inst, v := range p.Values(metric) {
			if inst != "" {
				inst = "[" + inst + "]"
			}
			s[metric+inst] = v.Text
		}
	}
	return s
}

// TestArchiveAcrossRestart: when the agent is killed its counters begin anew. The archive
// must have a mark there, or rates over that gap would be wrong.
func TestArchiveAcrossRestart(t *testing.T) {
	t.Parallel()
	p := start(t, options(t), basic)
	answered(p, t, "127.0.0.1")
	conf := p.WriteFile("logger.conf", "log mandatory on 200 msec {\nrtime.lan.requests\n}\n")
	archive := p.Path("archive")
	logger := p.Spawn("pmlogger", "-h", "local:", "-c", conf, "-l", p.Path("log/logger.log"), archive)
	recorded := func(least int) []string {
		t.Helper()
		var lines []string
		pcptest.Eventually(t, fmt.Sprintf("%d values in the archive", least), func() error {
			if !logger.Running() {
				t.Fatalf("pmlogger has ended: %s", p.Log("logger"))
			}
			lines = counters(p, archive)
			if len(lines) < least {
				return fmt.Errorf("%v", lines)
			}
			return nil
		})
		return lines
	}
	before := recorded(8)
	signal(p, t, syscall.SIGKILL)
	recorded(len(before) + 10)
	logger.Signal(syscall.SIGTERM)
	logger.Wait()
	last, fell := -1, false
	for _, line := range counters(p, archive) {
		if line == "<mark>" {
			last, fell = -1, true
			continue
		}
		n, err := strconv.Atoi(line)
		if err != nil {
			t.Fatal(err)
		}
		if n < last {
			t.Errorf("requests went from %d to %d without a mark", last, n)
		}
		last = n
	}
	if !fell {
		t.Errorf("no mark in the archive: %v", counters(p, archive))
	}
}

// counters returns the requests to 127.0.0.1 in an archive, and its marks.
func counters(p *pcptest.PCP, archive string) []string {
	line := regexp.MustCompile(`inst \[\d+ or "127\.0\.0\.1"\] value (\d+)|(<mark>)`)
	var list []string
	for _, m := range line.FindAllStringSubmatch(p.Try("pmdumplog", "-m", archive).Out, -1) {
		list = append(list, m[1]+m[2])
	}
	return list
}
