//go:build linux

package agent

import (
	"math"
	"net/netip"
	"testing"
	"time"

	"github.com/pcp-rtime/rtime/pmda/pmdatest"
	"github.com/pcp-rtime/rtime/pmdas/lan/internal/probe"
	"github.com/pcp-rtime/rtime/pmdas/lan/internal/probe/probetest"
)

// patience is how long a test waits for what must happen.
const patience = 60 * time.Second

// rig is the agent, served to the test, and hosts that play a script.
type rig struct {
	t     *testing.T
	agent *Agent
	conn  *pmdatest.Conn
}

func newRig(t *testing.T, engine string) *rig {
	t.Helper()
	a := newAgent()
	a.ConfigFile, a.engineFlag, a.Mute = "", engine, true
	a.conf.Interval, a.conf.MaxRate = 100*time.Millisecond, 1000
	a.conf.Timeout = 5 * time.Second // no answer is that late by itself
	a.conf.Window = 10 * time.Minute // holds all of a test
	r := &rig{t: t, agent: a}
	r.conn = pmdatest.Start(t, a.declare())
	r.conn.Client(0, 0, 0, 1)
	return r
}

// get returns a number of a host.
func (r *rig) get(metric, host string) float64 {
	r.t.Helper()
	v, err := r.conn.Value("rtime.lan."+metric, host)
	if err != nil {
		r.t.Fatalf("rtime.lan.%s of %q: %v", metric, host, err)
	}
	f, err := v.Float64()
	if err != nil {
		r.t.Fatal(err)
	}
	return f
}

// until waits for a condition.
func (r *rig) until(what string, ok func() bool) {
	r.t.Helper()
	for end := time.Now().Add(patience); !ok(); time.Sleep(10 * time.Millisecond) {
		if time.Now().After(end) {
			r.t.Fatalf("waited in vain for %s", what)
		}
	}
}

// plays are what hosts do, and what the metrics must say of n requests.
var plays = []struct {
	name   string
	script []probetest.Behaviour
	err    string // errors.NAME that counts the ICMP errors played
}{
	{"answers", []probetest.Behaviour{{}}, ""},
	{"slow", []probetest.Behaviour{{Delay: 25 * time.Millisecond}}, ""},
	{"lossy", []probetest.Behaviour{{}, {Lose: true}, {}, {Lose: true}, {Lose: true}}, ""},
	{"dead", []probetest.Behaviour{{Lose: true}}, ""},
	{"doubles", []probetest.Behaviour{{Duplicates: 2}, {}}, ""},
	{"late", []probetest.Behaviour{{Delay: 6500 * time.Millisecond}, {}}, ""},
	{"forged", []probetest.Behaviour{{Spoil: probetest.WrongCookie}, {}}, ""},
	{"elsewhere", []probetest.Behaviour{{Spoil: probetest.WrongSource}, {}}, ""},
	{"unreachable", []probetest.Behaviour{{Error: &probetest.Problem{Type: 3, Code: 1, Whole: true}}, {}}, "host_unreachable"},
	{"prohibited", []probetest.Behaviour{{Error: &probetest.Problem{Type: 3, Code: 13, Whole: true}}}, "admin_prohibited"},
}

// TestMetricsSayWhatWasPlayed has hosts play their scripts, and compares every count
// with what the responder noted.
func TestMetricsSayWhatWasPlayed(t *testing.T) {
	lab := probetest.New(t)
	for i, engine := range []string{probe.EngineLinux, probe.EngineProbing} {
		t.Run(engine, func(t *testing.T) {
			r := newRig(t, engine)
			addr := func(n int) netip.Addr { return lab.Addr(100*i + 2*n) }
			for n, p := range plays {
				lab.Play(addr(n), p.script...)
				if _, err := r.conn.Lookup(r.agent.hosts.ID(), addr(n).String()); err != nil {
					t.Fatal(err)
				}
			}
			for n := range plays {
				r.until("requests", func() bool { return r.get("requests", addr(n).String()) >= 20 })
			}
			now := r.agent.prober.Settings()
			now.Interval = 24 * time.Hour // no further requests
			r.agent.prober.Update(now)
			for n, p := range plays {
				t.Run(p.name, func(t *testing.T) { r.compare(t, lab, addr(n), p.err) })
			}
		})
	}
}

// compare waits until all answers are in, and compares.
func (r *rig) compare(t *testing.T, lab *probetest.Lab, addr netip.Addr, class string) {
	name := addr.String()
	get := func(metric string) float64 { return r.get(metric, name) }
	r.until("the last answer", func() bool {
		c := lab.Played(addr)
		over := c.Replies-c.Duplicates+c.Lost+c.Spoiled+c.Errors == c.Requests // all that will be played
		return over && get("in_flight") == 0 && int(get("responses")+get("late")+get("duplicates")) == c.Replies
	})
	played := lab.Played(addr)
	late, first := 0, 0
	for _, d := range played.Delays {
		if d > r.agent.conf.Timeout {
			late++
		}
	}
	first = played.Replies - played.Duplicates - late
	for _, row := range []struct {
		metric string
		want   int
	}{
		{"requests", played.Requests},
		{"responses", first},
		{"late", late},
		{"duplicates", played.Duplicates},
		{"failed", played.Errors},
		{"timeouts", played.Requests - first - played.Errors},
		{"errors.total", played.Errors},
		{"send_errors", 0},
	} {
		if got := get(row.metric); got != float64(row.want) {
			t.Errorf("%s = %v, played %d (%+v)", row.metric, got, row.want, played)
		}
	}
	if class != "" && get("errors."+class) != float64(played.Errors) {
		t.Errorf("errors.%s = %v, played %d", class, get("errors."+class), played.Errors)
	}
	r.compareWindow(t, name, played.Requests, first)
	if first > 0 {
		r.compareShares(t, name, played.Delays)
	}
}

// compareWindow checks loss, which the window holds in full.
func (r *rig) compareWindow(t *testing.T, name string, requests, first int) {
	if got := r.get("window.samples", name); got != float64(requests) {
		t.Errorf("window.samples = %v, played %d", got, requests)
	}
	want := 100 * float64(requests-first) / float64(requests)
	if got := r.get("window.loss", name); math.Abs(got-want) > 1e-9 {
		t.Errorf("window.loss = %v, played %v", got, want)
	}
}

// compareShares checks the bands and that no response time is shorter than the delay
// that was played.
func (r *rig) compareShares(t *testing.T, name string, delays []time.Duration) {
	sum := 0.0
	for _, band := range []string{"below10", "below20", "below100", "above99"} {
		sum += r.get(band, name)
	}
	if math.Abs(sum-100) > 1e-9 {
		t.Errorf("the bands sum to %v", sum)
	}
	least := time.Duration(math.MaxInt64)
	for _, d := range delays {
		least = min(least, d)
	}
	if got := r.get("window.min", name); got < milliseconds(least) {
		t.Errorf("window.min = %v ms, the shortest delay played is %v", got, least)
	}
}
