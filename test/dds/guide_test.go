package dds

import (
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"syscall"
	"testing"

	"github.com/pcp-rtime/rtime/test/pcptest"
)

// has fails the test unless a text has all the parts.
func has(t *testing.T, text string, parts ...string) {
	t.Helper()
	for _, part := range parts {
		if !strings.Contains(text, part) {
			t.Errorf("no %q in:\n%s", part, text)
		}
	}
}

// is waits until a metric has the value. "" stands for no value.
func is(t *testing.T, p *pcptest.PCP, metric, inst, want string) {
	t.Helper()
	pcptest.Eventually(t, fmt.Sprintf("%s[%s] is %q", metric, inst, want), func() error {
		values, err := p.TryValues(metric)
		if err != nil && want != "" {
			return err
		}
		if got := values[inst].Text; got != want {
			return fmt.Errorf("%v", values)
		}
		return nil
	})
}

// TestGuide: the guide's tree, in PCP's tools.
func TestGuide(t *testing.T) {
	t.Parallel()
	p := start(t, "", true)
	s := startSupplier(t, p, 0)
	// No waiting: the next request sees it.
	if v := p.Values("dds.IBM.Test.gadgets"); v[""].Text != "0" {
		t.Errorf("gadgets: %v", v)
	}
	s.do("gadgets")
	if v := p.Value("dds.IBM.Test.gadgets"); v != "1" {
		t.Errorf("gadgets: %s", v)
	}
	s.do("add DDS/IBM/Moretest/Bingo")
	if v := p.Values("dds.IBM.Moretest.problems"); len(v) != 1 || v["Bingo"].Text != "7" {
		t.Errorf("problems: %v", v)
	}
	has(t, p.Run("pminfo", "-h", "local:", "-t", "dds"), "dds.IBM.Test.gadgets [Fake counter value]",
		"dds.IBM.Test.widgets [Another fake counter value]", "dds.IBM.Moretest.SubTest.level [Fake quantity value]",
		"dds.IBM.Moretest.SubTest.queue [Another fake quantity value]", "dds.IBM.Moretest.solutions [Another fake counter value]")
	has(t, p.Run("pminfo", "-h", "local:", "-dTl", "dds.IBM.Test.gadgets"), "Data Type: 64-bit unsigned int", "Semantics: counter",
		"Path DDS/IBM/Test/gadgets, ASN.1 number 1, scale from 0 to 100.", `"vendor":"IBM"`, `"supplier":"SpmiSupl"`, `"user":"root"`)
	has(t, p.Run("pminfo", "-h", "local:", "-l", "dds.IBM.Moretest.problems"), `"path":"DDS/IBM/Moretest/Bingo"`, `"description":"Dynamically added"`)
	has(t, p.Run("pmval", "-h", "local:", "-s", "2", "-t", "0.1", "dds.IBM.Moretest.SubTest.level"), "semantics: instantaneous value")
	s.do("delete DDS/IBM/Moretest/Bingo")
	if v := p.Values("dds.IBM.Moretest.problems"); len(v) != 0 {
		t.Errorf("problems of Bingo, who is gone: %v", v)
	}
	is(t, p, "rtime.dds.supplier.state", "SpmiSupl@root", "ready")
	is(t, p, "mmv.dds.suppliers", "", "1")
	s.do("end")
	if r := p.Try("pminfo", "-h", "local:", "-f", "dds.IBM.Test.gadgets"); !strings.Contains(r.Out+r.Err, "Missing metric value(s)") {
		t.Errorf("gadgets without supplier: %v", r)
	}
	is(t, p, "rtime.dds.supplier.state", "SpmiSupl@root", "ended")
	info, err := os.Stat(p.Path("run/dds"))
	uid, gid := pcptest.UID(t)
	if err != nil {
		t.Fatal(err)
	}
	if st := info.Sys().(*syscall.Stat_t); int(st.Uid) != uid || int(st.Gid) != gid || st.Mode&0o7777 != 0o3773 {
		t.Errorf("the directory: owner %d, group %d, mode %o", st.Uid, st.Gid, st.Mode&0o7777)
	}
}

var pmid = regexp.MustCompile(`PMID: (\S+)`)

// TestRestarts: a supplier of another user is killed, the agent is killed, and both come
// back. The numbers are the same, and nobody had to remove anything.
func TestRestarts(t *testing.T) {
	t.Parallel()
	p := start(t, "", false)
	const user = 65534
	s := startSupplier(t, p, user)
	s.do("add DDS/IBM/Moretest/Bango")
	s.do("add DDS/IBM/Moretest/Bingo")
	numbers := func() string {
		out := p.Run("pminfo", "-h", "local:", "-d", "-f", "dds.IBM.Test.gadgets", "dds.IBM.Moretest.problems")
		return fmt.Sprint(pmid.FindAllString(out, -1), regexp.MustCompile(`InDom: \S+`).FindAllString(out, -1), p.IDs("dds.IBM.Moretest.problems"))
	}
	want := numbers()
	s.kill()
	if v, err := p.TryValues("dds.IBM.Moretest.problems"); err == nil && len(v) > 0 {
		t.Errorf("values of a supplier that was killed: %v", v)
	}
	is(t, p, "rtime.dds.supplier.state", "SpmiSupl@nobody", "died")
	if left, _ := filepath.Glob(p.Path("run/dds/*.dds")); len(left) > 0 {
		t.Errorf("left behind: %v", left)
	}
	s = startSupplier(t, p, user)
	s.do("add DDS/IBM/Moretest/Bingo")
	s.do("add DDS/IBM/Moretest/Bango")
	if got := numbers(); got != want {
		t.Errorf("after the supplier's restart %s, before %s", got, want)
	}
	restart(t, p)
	is(t, p, "dds.IBM.Moretest.problems", "Bingo", "7")
	if got := numbers(); got != want {
		t.Errorf("after the agent's restart %s, before %s", got, want)
	}
}

// TestBingo: a context comes and goes a thousand times while PCP's tools watch. What the
// archive shows was there.
func TestBingo(t *testing.T) {
	t.Parallel()
	p := start(t, "", false)
	s := startSupplier(t, p, 0)
	s.do("add DDS/IBM/Moretest/Bingo")
	p.WriteFile("logger.conf", "log mandatory on 50 msec { dds }\n")
	archive := p.Path("log/bingo")
	logger := p.Spawn("pmlogger", "-h", "local:", "-c", p.Path("logger.conf"), "-l", p.Path("log/pmlogger.log"), archive)
	val := p.Spawn("pmval", "-h", "local:", "-t", "0.02", "dds.IBM.Moretest.problems")
	pcptest.Eventually(t, "pmlogger writes", func() error {
		_, err := os.Stat(archive + ".0")
		return err
	})
	s.do("delete DDS/IBM/Moretest/Bingo")
	id := -1
	for i := range 1000 {
		s.do("add DDS/IBM/Moretest/Bingo")
		if i%50 == 0 {
			v := p.Values("dds.IBM.Moretest.problems")
			if len(v) != 1 || v["Bingo"].Text != "7" || id >= 0 && v["Bingo"].ID != id {
				t.Fatalf("round %d: %v", i, v)
			}
			id = v["Bingo"].ID
		}
		s.do("delete DDS/IBM/Moretest/Bingo")
		if i%50 == 25 {
			if v := p.Values("dds.IBM.Moretest.problems"); len(v) != 0 {
				t.Fatalf("round %d: %v", i, v)
			}
		}
	}
	s.do("add DDS/IBM/Moretest/Bingo")
	pcptest.Eventually(t, "pmval shows Bingo", func() error {
		if !val.Running() {
			t.Fatalf("pmval ended: %s", val.Output())
		}
		if !strings.Contains(val.Output(), "Bingo") {
			return fmt.Errorf("%s", val.Output())
		}
		return nil
	})
	logger.Signal(syscall.SIGTERM)
	if code := logger.Wait(); code != 0 {
		t.Errorf("pmlogger: exit status %d: %s", code, logger.Output())
	}
	val.Signal(syscall.SIGTERM) // SIGINT is ignored by what a shell has put in the background
	val.Wait()
	p.Run("pmlogcheck", archive)
	dump := p.Run("pmdumplog", "-a", archive)
	has(t, dump, `or "Bingo"] value 7`, "dds.IBM.Test.gadgets")
	for _, line := range regexp.MustCompile(`or "Bingo"\] value (\d+)`).FindAllStringSubmatch(dump, -1) {
		if line[1] != "0" && line[1] != "7" {
			t.Errorf("a value that never was: %s", line[0])
		}
	}
}

// logged waits until the agent's log has all the texts.
func logged(t *testing.T, p *pcptest.PCP, texts ...string) {
	t.Helper()
	pcptest.Eventually(t, fmt.Sprintf("the log has %q", texts), func() error {
		log := p.Log(name)
		for _, text := range texts {
			if !strings.Contains(log, text) {
				return fmt.Errorf("%s", log)
			}
		}
		return nil
	})
}
