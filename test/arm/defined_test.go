package arm

import "testing"

// TestDefinedMetrics: the metrics that a program defines for its transactions, of each
// kind.
func TestDefinedMetrics(t *testing.T) {
	t.Parallel()
	languages(t, func(t *testing.T, exe string) {
		p := start(t, fast)
		q := run(t, p, exe, 0)
		q.do("init Shop")
		q.do("tran %s metrics", buy)
		q.do("start r %s n 7", buy)
		q.do("update r 8")
		q.do("stop r 0 10")
		for _, c := range []struct{ metric, name, value string }{
			{"type", "bytes", "counter64"}, {"values", "bytes", "3"}, {"counter", "bytes", "25769803776"}, {"gauge.last", "bytes", ""},
			{"type", "queue", "gauge32"}, {"values", "queue", "3"}, {"gauge.last", "queue", "-10"}, {"gauge.min", "queue", "-10"},
			{"gauge.max", "queue", "-7"}, {"gauge.mean", "queue", "-8.333333333333334"}, {"counter", "queue", ""},
			{"type", "load", "gauge32/divisor"}, {"gauge.last", "load", "2.5"}, {"gauge.min", "load", "1.75"}, {"gauge.max", "load", "2.5"},
			{"type", "error", "id32"}, {"id", "error", "10"}, {"values", "error", "3"}, {"string", "error", ""},
			{"type", "seconds", "counter32/divisor"}, {"counter", "seconds", "0.375"},
			{"type", "room", "string8"}, {"string", "room", "room"}, {"id", "room", ""},
			{"type", "who", "string32"}, {"string", "who", "guest 10"}, {"values", "who", "3"},
		} {
			is(t, p, "rtime.arm.metric."+c.metric, buy+"/"+c.name, c.value)
		}
		all(t, p, buy, "updates", "1", "bad_data", "0", "count", "1")
		// The next one begins anew: what counts is between start and stop.
		q.do("start r %s n 100", buy)
		q.do("stop r 0 101")
		is(t, p, "rtime.arm.metric.counter", buy+"/bytes", "34359738368")
		is(t, p, "rtime.arm.metric.counter", buy+"/seconds", "0.5")
	})
}

// TestParents: transactions that are parts of another one.
func TestParents(t *testing.T) {
	t.Parallel()
	languages(t, func(t *testing.T, exe string) {
		p := start(t, fast)
		q := run(t, p, exe, nobody)
		q.do("init Shop")
		q.do("tran %s", buy)
		q.do("tran Shop/Sell")
		q.do("start parent Shop/Sell")
		for status, n := range []int{3, 2, 1} {
			for range n {
				q.do("start child %s parent parent", buy)
				q.do("stop child %d", status)
			}
		}
		q.do("start orphan %s", buy)
		q.do("stop orphan 0")
		const pair = "Shop/Sell>Shop/Buy"
		all(t, p, pair, "parent.count", "3", "parent.aborted", "2", "parent.failed", "1")
		all(t, p, buy, "count", "4", "aborted", "2", "failed", "1")
		if v := p.Values("rtime.arm.parent.count"); len(v) != 1 {
			t.Errorf("%v", v)
		}
		if total, all := p.Number("rtime.arm.parent.total", pair), p.Number("rtime.arm.time.total", buy); total <= 0 || total >= all {
			t.Errorf("children took %v us, all took %v", total, all)
		}
		has(t, p.Run("pminfo", "-h", "local:", "-l", "rtime.arm.parent.count"), `"parent":"Shop/Sell"`, `"transaction":"Buy"`)
		q.kill()
		is(t, p, "rtime.arm.abandoned", "Shop/Sell", "1")
		all(t, p, pair, "parent.count", "3", "parent.aborted", "2", "parent.failed", "1")
	})
}
