package arm

import (
	"fmt"
	"strings"
	"testing"

	"github.com/pcp-rtime/rtime/test/pcptest"
)

// follow starts a pmevent, and waits until it has fetched for the first time.
func follow(t *testing.T, p *pcptest.PCP) *pcptest.Process {
	t.Helper()
	q := p.Spawn("pmevent", "-h", "local:", "-t", "0.2", "rtime.arm.trace.records")
	pcptest.Eventually(t, "pmevent follows", func() error {
		if !strings.Contains(q.Output(), "No values available") && !strings.Contains(q.Output(), "0 event records") {
			return fmt.Errorf("%s", q.Output())
		}
		return nil
	})
	return q
}

// says waits until a process has printed all of the texts.
func says(t *testing.T, q *pcptest.Process, parts ...string) {
	t.Helper()
	pcptest.Eventually(t, fmt.Sprintf("%q is printed", parts), func() error {
		for _, part := range parts {
			if !strings.Contains(q.Output(), part) {
				return fmt.Errorf("no %q in:\n%s", part, q.Output())
			}
		}
		return nil
	})
}

// TestEvents: pmevent shows all of a transaction that is traced, because its program or a
// user who may store asks for it, and nothing of others.
func TestEvents(t *testing.T) {
	t.Parallel()
	p, q := shop(t, fast)
	one, two := follow(t, p), follow(t, p)
	q.do("start parent Shop/Sell")
	q.do("start traced %s n 7 parent parent trace x", buy)
	q.do("text traced half-way")
	q.do("update traced 8")
	q.do("stop traced 2 9")
	q.do("start untraced %s", buy)
	q.do("stop untraced 0")
	for _, e := range []*pcptest.Process{one, two} {
		says(t, e, `rtime.arm.trace.param.kind "start"`, `rtime.arm.trace.param.kind "stop"`, "(start)", "(point)", "(end)",
			`rtime.arm.trace.param.text "half-way"`, `rtime.arm.trace.param.status "failed"`, "rtime.arm.trace.param.duration ",
			`rtime.arm.trace.param.transaction "Shop/Buy"`, `rtime.arm.trace.param.user "root"`, `rtime.arm.trace.param.program "program-c"`,
			fmt.Sprintf("rtime.arm.trace.param.pid %d", q.cmd.Process.Pid), "bytes=60129542144", "queue=-7", "load=7/4", "error=7", "seconds=7/8",
			`rtime.arm.trace.param.parent "`, `rtime.arm.trace.param.correlator "`, "guest 9")
	}
	is(t, p, "rtime.arm.trace.count", "", "4")
	p.Run("pmstore", "-h", "local:", "-i", "Shop/Sell", "rtime.arm.control.trace", "1")
	pcptest.Eventually(t, "a transaction is traced by order", func() error {
		q.do("sleep Shop/Sell 1")
		if !strings.Contains(one.Output(), `rtime.arm.trace.param.transaction "Shop/Sell"`) {
			return fmt.Errorf("%s", one.Output())
		}
		return nil
	})
	p.Run("pmstore", "-h", "local:", "-i", "Shop/Sell", "rtime.arm.control.trace", "0")
	pcptest.Eventually(t, "tracing ends", func() error {
		before := p.Value("rtime.arm.trace.count")
		q.do("do Shop/Sell 10 0 1")
		sold := p.Values("rtime.arm.count")["Shop/Sell"].Text
		q.do("do Shop/Sell 1 0 1")
		pcptest.Eventually(t, "the agent has come by", func() error {
			if p.Values("rtime.arm.count")["Shop/Sell"].Text == sold {
				return fmt.Errorf("%s", sold)
			}
			return nil
		})
		if after := p.Value("rtime.arm.trace.count"); after != before {
			return fmt.Errorf("%s records became %s", before, after)
		}
		return nil
	})
	if out := one.Output(); strings.Count(out, "half-way") != 1 {
		t.Errorf("a record is not there just once:\n%s", out)
	}
	if out := p.Run("pminfo", "-h", "local:", "-x", "rtime.arm.trace.records"); strings.Contains(out, "Error") || strings.Contains(out, "half-way") {
		t.Errorf("pminfo -x of a new client:\n%s", out)
	}
}

// TestEventsMissed: a process that traces more than its ring holds between two looks
// overwrites records, which are counted.
func TestEventsMissed(t *testing.T) {
	t.Parallel()
	p, q := shop(t, fast)
	p.Run("pmstore", "-h", "local:", "-i", buy, "rtime.arm.control.trace", "1")
	e := follow(t, p)
	pcptest.Eventually(t, "records were missed", func() error {
		q.do("do %s 1000 0 1", buy)
		if v := p.Value("rtime.arm.trace.missed"); v == "0" {
			return fmt.Errorf("%s missed", v)
		}
		return nil
	})
	says(t, e, `rtime.arm.trace.param.transaction "Shop/Buy"`)
}
