package arm

import (
	"fmt"
	"strconv"
	"sync"
	"testing"

	"github.com/pcp-rtime/rtime/test/pcptest"
)

const buy = "Shop/Buy"

// all waits until each of the metrics of an instance has the value that follows it. ""
// stands for no value.
func all(t *testing.T, p *pcptest.PCP, inst string, want ...string) {
	t.Helper()
	for i := 0; i < len(want); i += 2 {
		is(t, p, "rtime.arm."+want[i], inst, want[i+1])
	}
}

// longWindow has a window that moves every ten seconds and forgets nothing while a test
// runs.
const longWindow = "window 600\nbuffers 60\n"

// TestCounts: every metric of a transaction against what programs of two users did.
func TestCounts(t *testing.T) {
	t.Parallel()
	languages(t, func(t *testing.T, exe string) {
		p := start(t, fast+longWindow)
		root, other := run(t, p, exe, 0), run(t, p, exe, nobody)
		for _, q := range []*program{root, other} {
			q.do("init Shop")
			q.do("tran %s", buy)
		}
		all(t, p, buy, "count", "0", "aborted", "0", "failed", "0", "active", "0", "abandoned", "0", "bad_data", "0",
			"updates", "0", "time.total", "0", "window.count", "0", "window.rate", "0",
			"resptime", "", "respavg", "", "respmax", "", "respmin", "", "time.last", "", "time.average", "",
			"time.min", "", "time.max", "", "oldest", "", "window.median", "", "window.p99", "")
		all(t, p, "Shop", "app.users", "2", "app.processes", "2", "app.active", "1", "app.transactions", "1")
		root.do("do %s 1000 0 4", buy)
		other.do("do %s 500 0 8", buy)
		root.do("do %s 3 1 2", buy)
		other.do("do %s 5 2 1", buy)
		all(t, p, buy, "count", "8000", "aborted", "6", "failed", "5", "window.count", "8000")
		root.do("start one %s", buy)
		other.do("start two %s", buy)
		other.do("start three %s", buy)
		all(t, p, buy, "active", "3")
		atLeast(t, p, "rtime.arm.oldest", buy, 0.3) // while it is stuck
		root.do("stop one 0")
		other.do("stop two 1")
		all(t, p, buy, "active", "1", "count", "8001", "aborted", "7")
		root.do("bad %s", buy)
		all(t, p, buy, "bad_data", "1", "count", "8002")
		is(t, p, "rtime.arm.agent.processes", "", "2")
		is(t, p, "rtime.arm.agent.users", "", "2")
		root.do("end Shop")
		root.quit()
		all(t, p, "Shop", "app.users", "1", "app.processes", "1", "app.active", "1")
		other.kill()
		all(t, p, buy, "active", "0", "oldest", "", "abandoned", "1", "count", "8002", "aborted", "7", "failed", "5")
		all(t, p, "Shop", "app.users", "0", "app.processes", "0", "app.active", "0", "app.transactions", "1")
	})
}

// TestUsersApart: each user's transactions have instances of their own, if the configuration
// says so.
func TestUsersApart(t *testing.T) {
	t.Parallel()
	p := start(t, fast+"users apart\n")
	for i, uid := range []int{0, nobody} {
		q := run(t, p, cProgram(t), uid)
		q.do("init Shop")
		q.do("tran %s", buy)
		q.do("do %s %d 0 1", buy, 10*(i+1))
	}
	all(t, p, "root:"+buy, "count", "10")
	all(t, p, "nobody:"+buy, "count", "20")
	all(t, p, "nobody:Shop", "app.users", "1", "app.processes", "1")
	if v := p.Values("rtime.arm.count"); len(v) != 2 {
		t.Errorf("%v", v)
	}
	has(t, p.Run("pminfo", "-h", "local:", "-l", "rtime.arm.count"),
		`"application":"Shop"`, `"transaction":"Buy","user":"nobody"`)
}

// atLeast waits until a value is as large as that.
func atLeast(t *testing.T, p *pcptest.PCP, metric, inst string, least float64) {
	t.Helper()
	pcptest.Eventually(t, fmt.Sprintf("%s[%s] is %v or more", metric, inst, least), func() error {
		v, ok := p.Values(metric)[inst]
		if f, err := strconv.ParseFloat(v.Text, 64); !ok || err != nil || f < least {
			return fmt.Errorf("%v", v)
		}
		return nil
	})
}

// TestTimes: the response times of transactions that take at least a known time. The
// rounded and the unrounded ones agree.
func TestTimes(t *testing.T) {
	t.Parallel()
	languages(t, func(t *testing.T, exe string) {
		p := start(t, fast+longWindow+"weight 50\n")
		q := run(t, p, exe, 0)
		q.do("init Shop")
		q.do("tran %s", buy)
		var last float64
		sum, average := 0.0, 0.0
		for i, ms := range []float64{30, 5, 50, 15} {
			q.do("sleep %s %v", buy, ms)
			is(t, p, "rtime.arm.count", buy, strconv.Itoa(i+1))
			last = p.Number("rtime.arm.time.last", buy)
			if last < ms*1000 {
				t.Errorf("a transaction of %v ms took %v us", ms, last)
			}
			if i == 0 {
				average = last
			}
			sum, average = sum+last, (average+last)/2
			near(t, "time.average", p.Number("rtime.arm.time.average", buy), average)
			near(t, "respavg", p.Number("rtime.arm.respavg", buy), average/1000)
			near(t, "time.total", p.Number("rtime.arm.time.total", buy), sum)
			near(t, "resptime", p.Number("rtime.arm.resptime", buy), float64(int(last/1000)))
		}
		shortest, longest := p.Number("rtime.arm.time.min", buy), p.Number("rtime.arm.time.max", buy)
		if shortest < 5000 || longest < 50000 || shortest >= longest || longest > sum {
			t.Errorf("from %v to %v us, %v in all", shortest, longest, sum)
		}
		near(t, "respmin", p.Number("rtime.arm.respmin", buy), float64(int(shortest/1000)))
		near(t, "respmax", p.Number("rtime.arm.respmax", buy), float64(int(longest/1000)))
		is(t, p, "rtime.arm.window.count", buy, "4")
		near(t, "window.mean", p.Number("rtime.arm.window.mean", buy), sum/4)
		near(t, "window.min", p.Number("rtime.arm.window.min", buy), shortest)
		near(t, "window.max", p.Number("rtime.arm.window.max", buy), longest)
		for _, w := range []string{"min", "median", "p80", "p95", "p99", "max"} {
			if v := p.Number("rtime.arm.window."+w, buy); v < shortest*15/16 || v > longest*17/16 {
				t.Errorf("window.%s is %v us, not between %v and %v", w, v, shortest, longest)
			}
		}
		q.do("do %s 1 1 1", buy)
		is(t, p, "rtime.arm.aborted", buy, "1")
		near(t, "time.last after an aborted one", p.Number("rtime.arm.time.last", buy), last)
		if v := p.Number("rtime.arm.time.aborted", buy); v <= 0 {
			t.Errorf("time.aborted is %v", v)
		}
	})
}

// near compares times that were printed and read again.
func near(t *testing.T, what string, got, want float64) {
	t.Helper()
	if d := got - want; d > want/1e5+0.01 || d < -want/1e5-0.01 {
		t.Errorf("%s is %v, want %v", what, got, want)
	}
}

// TestNothingIsLost: eight processes of eight threads each, in both languages, on one
// transaction, a hundred million times.
func TestNothingIsLost(t *testing.T) {
	t.Parallel()
	const each = 100_000_000 / 64
	p := start(t, fast)
	exes := []string{cProgram(t), goProgram(t)}
	var wg sync.WaitGroup
	for i := range 8 {
		q := run(t, p, exes[i%2], 0)
		q.do("init Shop")
		q.do("tran %s", buy)
		q.order("do %s %d 0 8", buy, each)
		wg.Add(1)
		go func() {
			defer wg.Done()
			q.out.Scan()
		}()
		t.Cleanup(func() {
			if q.out.Text() != "ok" {
				t.Errorf("a program says %q", q.out.Text())
			}
		})
	}
	done := make(chan struct{})
	go func() { wg.Wait(); close(done) }()
	atLeast(t, p, "rtime.arm.count", buy, 0)
	last := 0.0
	for running := true; running; {
		select {
		case <-done:
			running = false
		default:
		}
		if n := p.Number("rtime.arm.count", buy); n < last {
			t.Errorf("the count went from %v to %v", last, n)
		} else {
			last = n
		}
	}
	is(t, p, "rtime.arm.count", buy, strconv.Itoa(64*each))
	all(t, p, buy, "active", "0", "abandoned", "0", "aborted", "0", "failed", "0")
}
