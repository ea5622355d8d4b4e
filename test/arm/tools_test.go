package arm

import (
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"github.com/pcp-rtime/rtime/test/pcptest"
)

// shop starts a PCP and a program in C with transactions to look at.
func shop(t *testing.T, conf string) (*pcptest.PCP, *program) {
	t.Helper()
	p := start(t, conf)
	q := run(t, p, cProgram(t), 0)
	q.do("init Shop")
	q.do("tran %s metrics", buy)
	q.do("tran Shop/Sell")
	q.do("do %s 100 0 2", buy)
	q.do("do %s 3 2 1", buy)
	q.do("start one %s n 5", buy)
	q.do("stop one 0 6")
	q.do("sleep Shop/Sell 20")
	is(t, p, "rtime.arm.failed", buy, "3")
	is(t, p, "rtime.arm.count", "Shop/Sell", "1")
	return p, q
}

func TestPminfo(t *testing.T) {
	t.Parallel()
	p, q := shop(t, fast)
	out := p.Run("pminfo", "-h", "local:", "-dtTfl", "rtime.arm")
	has(t, out, `inst [0 or "Shop/Buy"] value 201`, "rtime.arm.count", "transactions that ended with status good",
		`"application":"Shop"`, `"transaction":"Buy"`, `"description":"Sell"`, `"agent":"rtarm"`)
	if strings.Contains(out, "Error") || strings.Contains(out, "Unknown") {
		t.Errorf("%s", out)
	}
	for metric, want := range map[string][]string{
		"resptime":        {"64-bit unsigned int", "InDom: 471.0", "Semantics: instant", "Units: millisec"},
		"respavg":         {"double", "Units: millisec", "WEIGHT percent of what it was"},
		"count":           {"64-bit unsigned int", "Semantics: counter", "Units: count"},
		"time.total":      {"double", "Semantics: counter", "Units: microsec"},
		"active":          {"32-bit unsigned int", "Semantics: instant", "Units: count"},
		"oldest":          {"double", "Units: sec"},
		"window.rate":     {"Units: count / sec"},
		"metric.string":   {"Data Type: string", "InDom: 471.2", "Semantics: discrete"},
		"parent.count":    {"InDom: 471.3", "Semantics: counter"},
		"app.users":       {"InDom: 471.1", "Semantics: instant"},
		"trace.records":   {"highres event record array", "InDom: PM_INDOM_NULL"},
		"control.trace":   {"InDom: 471.0", "Root and the user that PCP runs as may store"},
		"agent.cycles":    {"InDom: PM_INDOM_NULL", "Semantics: counter"},
		"trace.param.pid": {"InDom: PM_INDOM_NULL"},
	} {
		has(t, p.Run("pminfo", "-h", "local:", "-dT", "rtime.arm."+metric), want...)
	}
	has(t, p.Run("pmprobe", "-h", "local:", "-v", "rtime.arm.count"), "rtime.arm.count 2 201 1")
	has(t, p.Run("pmprobe", "-h", "local:", "-I", "rtime.arm.resptime"), `"Shop/Buy"`, `"Shop/Sell"`)
	is(t, p, "mmv.rtarm.transactions", "", "2")
	is(t, p, "mmv.rtarm.processes", "", "1")
	q.quit()
	is(t, p, "mmv.rtarm.processes", "", "0")
}

// TestPmval: pmval shows the total of times as utilization, for a transaction that runs all
// the time.
func TestPmval(t *testing.T) {
	t.Parallel()
	p, q := shop(t, fast+longWindow)
	out := ""
	pcptest.Eventually(t, "pmval shows utilization", func() error {
		const orders = 20
		for range orders {
			q.order("sleep Shop/Sell 100")
		}
		out = p.Run("pmval", "-h", "local:", "-s", "4", "-t", "0.3", "-i", "Shop/Sell", "rtime.arm.time.total")
		for range orders {
			q.done()
		}
		// It is about 1, since a transaction that was kept waiting counts where it ends. In
		// the wrong units it would be off by a factor of a thousand or a million.
		if use := last(t, out); use < 0.02 || use > 50 {
			return fmt.Errorf("a transaction that runs all the time takes %v of it:\n%s", use, out)
		}
		return nil
	})
	has(t, out, "time utilization")
	atLeast(t, p, "rtime.arm.window.p95", buy, 0.001)
	atLeast(t, p, "rtime.arm.window.p95", "Shop/Sell", 1000)
	has(t, p.Run("pmval", "-h", "local:", "-s", "2", "-t", "0.1", "rtime.arm.window.p95"), "Shop/Buy", "Shop/Sell")
}

// last returns the number at the end of the last line.
func last(t *testing.T, out string) float64 {
	t.Helper()
	fields := strings.Fields(out)
	f, err := strconv.ParseFloat(fields[len(fields)-1], 64)
	if err != nil {
		t.Fatalf("%v:\n%s", err, out)
	}
	return f
}

// TestArchive records all metrics while a program works, and compares the archive.
func TestArchive(t *testing.T) {
	t.Parallel()
	p, q := shop(t, fast)
	for range 30 {
		q.order("sleep Shop/Sell 50")
	}
	atLeast(t, p, "rtime.arm.count", "Shop/Sell", 2)
	conf := p.WriteFile("logger.conf", "log mandatory on 200 msec {\nrtime.arm\n}\n")
	archive := p.Path("archive")
	p.Run("pmlogger", "-h", "local:", "-c", conf, "-s", "8", "-l", p.Path("log/logger.log"), archive)
	counts := regexp.MustCompile(`\(rtime\.arm\.count\):\s+inst \[0 or "Shop/Buy"\] value (\d+)\s+inst \[1 or "Shop/Sell"\] value (\d+)`)
	out := p.Run("pmdumplog", "-m", archive)
	if strings.Contains(out, "<mark>") {
		t.Errorf("the archive has <mark> records")
	}
	found, before := counts.FindAllStringSubmatch(out, -1), 0
	for _, m := range found {
		n, _ := strconv.Atoi(m[2])
		if m[1] != "201" || n < before {
			t.Errorf("%v after %d", m, before)
		}
		before = n
	}
	if len(found) < 8 || before < 2 {
		t.Errorf("%d counts, the last %d, in\n%s", len(found), before, out)
	}
	has(t, p.Run("pmdumplog", "-i", archive), "InDom: 471.0", `0 or "Shop/Buy"`, `1 or "Shop/Sell"`, `"Shop"`, `"Shop/Buy/bytes"`)
	has(t, p.Run("pmdumplog", "-e", archive), `"agent":"rtarm"`, `"application":"Shop"`, `"transaction":"Buy"`)
	has(t, p.Run("pmdumplog", "-h", archive), "transactions that are running", "This shows a transaction that is stuck, while it is stuck.")
	has(t, p.Run("pmval", "-a", archive, "-t", "0.2", "-i", "Shop/Sell", "rtime.arm.count"), "converting to rate")
	has(t, p.Run("pminfo", "-a", archive, "-d", "rtime.arm.time.total"), "Semantics: counter  Units: microsec")
	for range 30 {
		q.done()
	}
}

// shipped returns the path of a file or folder that comes with the agent.
func shipped(t *testing.T, elem ...string) string {
	t.Helper()
	path, err := filepath.Abs(filepath.Join(append([]string{"..", "..", "pmdas", "arm"}, elem...)...))
	if err == nil {
		_, err = os.Stat(path)
	}
	if err != nil {
		t.Fatal(err)
	}
	return path
}

func TestShippedPmrep(t *testing.T) {
	t.Parallel()
	p, q := shop(t, fast)
	q.do("start parent Shop/Sell")
	q.do("start child %s parent parent", buy)
	q.do("stop child 0")
	is(t, p, "rtime.arm.parent.count", "Shop/Sell>Shop/Buy", "1")
	for report, want := range map[string][]string{
		"rtarm":        {"last us", buy, "Shop/Sell"},
		"rtarm-window": {"p95", buy, "Shop/Sell"},
		"rtarm-count":  {"good/s", buy, "Shop/Sell"},
		"rtarm-app":    {"procs", "Shop"},
		"rtarm-parent": {"good/s", "Shop/Sell>Shop/Buy"},
		"rtarm-agent":  {"cycle us", "refused"},
	} {
		r := p.Try("pmrep", "-h", "local:", "-c", shipped(t, "pmrep", "rtarm.conf"), "-s", "3", "-t", "0.3", ":"+report)
		if r.Code != 0 || r.Err != "" {
			t.Errorf("pmrep :%s: %v", report, r)
		}
		has(t, r.Out, want...)
	}
}

// TestShippedPmlogconf records what the group says.
func TestShippedPmlogconf(t *testing.T) {
	t.Parallel()
	p, _ := shop(t, fast)
	conf := p.Path("generated.config")
	p.Run("pmlogconf", "-c", "-q", "-h", "local:", "-d", shipped(t, "pmlogconf"), conf)
	text := p.ReadFile("generated.config")
	has(t, text, "rtime.arm.respavg", "#+ rtime/arm:y:default:")
	p.WriteFile("fast.config", strings.ReplaceAll(text, "on default", "on 250 msec"))
	p.Run("pmlogger", "-h", "local:", "-c", p.Path("fast.config"), "-s", "3", "-l", p.Path("log/logger.log"), p.Path("archive"))
	if log := p.Log("logger"); strings.Contains(log, "Warning") || strings.Contains(log, "Error") {
		t.Errorf("pmlogger:\n%s", log)
	}
	for _, metric := range []string{"respavg", "count", "time.total", "window.count", "active"} {
		has(t, p.Run("pmprobe", "-a", p.Path("archive"), "-I", "rtime.arm."+metric), `"Shop/Buy"`)
	}
}

// TestShippedPmieconf has each rule fire when it should, and for no other transaction.
func TestShippedPmieconf(t *testing.T) {
	t.Parallel()
	p, q := shop(t, fast+longWindow)
	rules, conf := p.Path("rules"), p.Path("pmie.config")
	if err := os.MkdirAll(rules, 0o755); err != nil {
		t.Fatal(err)
	}
	for path, at := range map[string]string{"/var/lib/pcp/config/pmieconf/global": "global", shipped(t, "pmieconf", "rtime"): "rtime"} {
		if err := os.Symlink(path, filepath.Join(rules, at)); err != nil {
			t.Fatal(err)
		}
	}
	pmieconf := func(args ...string) { p.Run("pmieconf", append([]string{"-f", conf, "-r", rules}, args...)...) }
	pmieconf("modify", "global", "syslog_action", "no")
	pmieconf("modify", "global", "pcplog_action", "yes") // to the file NOTICES
	pmieconf("enable", "rtime.arm_slow")
	pmieconf("modify", "rtime.arm_slow", "threshold", "10")
	pmieconf("modify", "rtime.arm_slow", "samples", "1")
	pmieconf("enable", "rtime.arm_stuck")
	pmieconf("modify", "rtime.arm_stuck", "threshold", "0.5")
	for _, rule := range []string{"slow", "failing", "stuck"} {
		pmieconf("modify", "rtime.arm_"+rule, "delta", "1 sec")
	}
	pmie := p.Spawn("pmie", "-f", "-h", "local:", "-c", conf)
	noticed := func(what, inst string) {
		t.Helper()
		pcptest.Eventually(t, fmt.Sprintf("a notice %q of %s", what, inst), func() error {
			if !pmie.Running() {
				t.Fatalf("pmie ended: %s", pmie.Output())
			}
			notices := p.ReadFile("log", "NOTICES")
			if regexp.MustCompile(regexp.QuoteMeta(what) + ".*" + regexp.QuoteMeta("["+inst+"]@")).MatchString(notices) {
				return nil
			}
			if what == "Transactions abort or fail" { // between two looks of pmie
				q.do("do %s 1 1 1", buy)
			}
			return fmt.Errorf("%s%s", pmie.Output(), notices)
		})
	}
	q.do("start stuck %s", buy)
	noticed("Slow transactions", "Shop/Sell")
	noticed("Transactions abort or fail", buy)
	noticed("Stuck transaction", buy)
	notices := p.ReadFile("log", "NOTICES")
	for _, line := range strings.Split(notices, "\n") {
		sell := strings.Contains(line, "[Shop/Sell]") || strings.Contains(line, " Shop/Sell")
		if slow := strings.Contains(line, "Slow"); sell != slow && strings.Contains(line, "Shop/") {
			t.Errorf("%s", line)
		}
	}
}

// TestWhoMayStore: root may, others may not.
func TestWhoMayStore(t *testing.T) {
	t.Parallel()
	p, _ := shop(t, fast)
	p.Run("pmstore", "-h", "local:", "rtime.arm.control.weight", "50")
	if v := p.Value("rtime.arm.control.weight"); v != "50" {
		t.Errorf("weight %s", v)
	}
	p.Run("pmstore", "-h", "local:", "-i", buy, "rtime.arm.control.trace", "1")
	if v := p.Values("rtime.arm.control.trace"); v[buy].Text != "1" || v["Shop/Sell"].Text != "0" {
		t.Errorf("%v", v)
	}
	for _, args := range [][]string{{"rtime.arm.control.weight", "20"}, {"-i", buy, "rtime.arm.control.trace", "0"}, {"rtime.arm.control.interval", "3600"}} {
		r := p.TryAs(nobody, nobody, "pmstore", append([]string{"-h", "local:"}, args...)...)
		has(t, r.Out+r.Err, "No permission to perform requested operation")
	}
	if v := p.Value("rtime.arm.control.weight"); v != "50" {
		t.Errorf("weight %s", v)
	}
	for _, args := range [][]string{{"rtime.arm.control.weight", "101"}, {"rtime.arm.count", "0"}} {
		if r := p.Try("pmstore", append([]string{"-h", "local:"}, args...)...); r.Code == 0 {
			t.Errorf("%v", r)
		}
	}
}
