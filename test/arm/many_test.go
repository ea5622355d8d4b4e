package arm

import (
	"fmt"
	"strconv"
	"testing"

	"github.com/pcp-rtime/rtime/test/pcptest"
)

// TestManyTransactions: with the default limits, ten thousand transactions of one
// application have instances of their own. Beyond the limit, the instance other has the
// rest.
func TestManyTransactions(t *testing.T) {
	t.Parallel()
	const n = 10000
	languages(t, func(t *testing.T, exe string) {
		p := start(t, fast+"maxperapplication 10000\n")
		q := run(t, p, exe, 0)
		q.do("init Shop")
		q.do("many Shop %d", n-500)
		is(t, p, "rtime.arm.agent.transactions", "", strconv.Itoa(n-500))
		ids := p.IDs("rtime.arm.count")
		if len(ids) != n-500 {
			t.Errorf("%d instances, want %d", len(ids), n-500)
		}
		q.do("many Shop %d", n+500)
		// Each of the first n-500 ran twice.
		pcptest.Eventually(t, "all are counted", func() error {
			values, sum := p.Values("rtime.arm.count"), 0
			for _, v := range values {
				k, err := strconv.Atoi(v.Text)
				if err != nil {
					return err
				}
				sum += k
			}
			if sum != 2*n || values["Shop/t0"].Text != "2" {
				return fmt.Errorf("%d in all, of %d, t0: %v, other: %v", sum, len(values), values["Shop/t0"], values["Shop/other"])
			}
			if len(values) > n+1 || values["Shop/other"].Text == "" {
				return fmt.Errorf("%d instances, other: %v", len(values), values["Shop/other"])
			}
			for name, id := range ids {
				if values[name].ID != id {
					t.Fatalf("%s was %d and is %d", name, id, values[name].ID)
				}
			}
			return nil
		})
		if v := p.Number("rtime.arm.agent.over_limit", ""); v < 500 {
			t.Errorf("%v transactions are over the limit, want 500 or more", v)
		}
	})
}

// TestManyRunning: a hundred thousand transactions of one process run at once. When there
// is no room the next ones are refused, and accepted again when there is.
func TestManyRunning(t *testing.T) {
	t.Parallel()
	languages(t, func(t *testing.T, exe string) {
		p := start(t, fast)
		q := run(t, p, exe, 0)
		q.do("init Shop")
		q.do("tran %s", buy)
		q.do("hold %s 100000", buy)
		is(t, p, "rtime.arm.active", buy, "100000")
		q.do("overflow %s", buy)
		atLeast(t, p, "rtime.arm.agent.no_room", "", 1)
		q.do("release 100000")
		all(t, p, buy, "active", "0", "count", "100000", "abandoned", "0")
		q.do("hold %s 1000", buy)
		is(t, p, "rtime.arm.active", buy, "1000")
		q.do("release 1000")
		all(t, p, buy, "active", "0", "count", "101000", "abandoned", "0")
	})
}

// TestManyProcesses: a thousand processes, all there at once, none of which is lost when
// all are killed.
func TestManyProcesses(t *testing.T) {
	t.Parallel()
	const n = 1000
	p := start(t, fast)
	exe := cProgram(t)
	var all []*program
	for range n {
		q := run(t, p, exe, 0)
		q.order("init Shop")
		q.order("tran %s", buy)
		q.order("do %s 10 0 1", buy)
		q.order("start r %s", buy)
		all = append(all, q)
	}
	for _, q := range all {
		for range 4 {
			q.done()
		}
	}
	is(t, p, "rtime.arm.agent.processes", "", strconv.Itoa(n))
	is(t, p, "rtime.arm.app.processes", "Shop", strconv.Itoa(n))
	is(t, p, "rtime.arm.count", buy, strconv.Itoa(10*n))
	is(t, p, "rtime.arm.active", buy, strconv.Itoa(n))
	for _, q := range all {
		q.kill()
	}
	is(t, p, "rtime.arm.agent.files", "", "0")
	is(t, p, "rtime.arm.count", buy, strconv.Itoa(10*n))
	is(t, p, "rtime.arm.abandoned", buy, strconv.Itoa(n))
	is(t, p, "rtime.arm.active", buy, "0")
}
