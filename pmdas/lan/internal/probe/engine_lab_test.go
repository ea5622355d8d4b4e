//go:build linux

package probe

import (
	"fmt"
	"net/netip"
	"slices"
	"testing"
	"time"

	"github.com/pcp-rtime/rtime/pmdas/lan/internal/probe/probetest"
)

// engines are the engines that have to pass the same tests.
var engines = []struct {
	name   string
	open   func() (Engine, error)
	stamps Stamps
	blind  bool // does not see a reply with a wrong cookie or identifier
}{
	{"linux", func() (Engine, error) { return OpenLinux(Options{}) }, StampsKernel, false},
	{"linux without send stamps", func() (Engine, error) {
		return OpenLinux(Options{stamps: noSendStamps})
	}, StampsReceive, false},
	{"linux without stamps", func() (Engine, error) {
		return OpenLinux(Options{stamps: noStamps})
	}, StampsUser, false},
	{"pro-bing", func() (Engine, error) {
		return OpenProbing(Options{Late: time.Minute, Linger: time.Minute})
	}, StampsUser, true},
}

// patience is how long a test waits for what must happen.
const patience = 60 * time.Second

func unreachableCode(code uint8) *probetest.Problem { return &probetest.Problem{Type: 3, Code: code} }

// plays are the behaviours that every engine must report as they were played. Each
// request gets the whole script's turn; events are what is to come for each.
var plays = []struct {
	name    string
	only    string // "4" or "6": address family
	script  []probetest.Behaviour
	asks    int
	replies []int // per request
	errors  []int
	strays  int
	unseen  int // of strays, those that pro-bing drops in silence
}{
	{name: "at once", script: []probetest.Behaviour{{}}, asks: 5, replies: []int{1, 1, 1, 1, 1}},
	{name: "delay", script: []probetest.Behaviour{{Delay: 30 * time.Millisecond}}, asks: 2, replies: []int{1, 1}},
	{name: "other ttl", script: []probetest.Behaviour{{TTL: 7}}, asks: 1, replies: []int{1}},
	{
		name:   "loss",
		script: []probetest.Behaviour{{}, {Lose: true}, {Lose: true}, {}},
		asks:   6, replies: []int{1, 0, 0, 1, 1, 0},
	},
	{
		name:   "duplicates",
		script: []probetest.Behaviour{{Duplicates: 2}, {Duplicates: 1, Gap: 40 * time.Millisecond}},
		asks:   2, replies: []int{3, 2},
	},
	{name: "late", script: []probetest.Behaviour{{Delay: 400 * time.Millisecond}, {}}, asks: 2, replies: []int{1, 1}},
	{
		name:   "any order",
		script: []probetest.Behaviour{{Spread: 50 * time.Millisecond}},
		asks:   20, replies: slices.Repeat([]int{1}, 20),
	},
	{
		name:   "wrong cookie",
		script: []probetest.Behaviour{{Spoil: probetest.WrongCookie}, {}},
		asks:   2, replies: []int{0, 1}, strays: 1, unseen: 1,
	},
	{
		name:   "wrong source",
		script: []probetest.Behaviour{{Spoil: probetest.WrongSource, Duplicates: 1}, {}},
		asks:   2, replies: []int{0, 1}, strays: 2,
	},
	{
		name:   "wrong identifier",
		script: []probetest.Behaviour{{Spoil: probetest.WrongID}, {}},
		asks:   2, replies: []int{0, 1}, strays: 1, unseen: 1,
	},
	{
		name:   "cut short",
		script: []probetest.Behaviour{{Spoil: probetest.Short}, {}},
		asks:   2, replies: []int{0, 1}, strays: 1, unseen: 1,
	},
	{
		name: "unreachable", only: "4",
		script: []probetest.Behaviour{{Error: unreachableCode(1)}, {Error: unreachableCode(13)}, {}},
		asks:   3, replies: []int{0, 0, 1}, errors: []int{0x301, 0x30d, 0},
	},
	{
		name: "time exceeded, parameter problem", only: "4",
		script: []probetest.Behaviour{
			{Error: &probetest.Problem{Type: 11, Code: 0, Whole: true}},
			{Error: &probetest.Problem{Type: 12, Code: 1}},
		},
		asks: 2, replies: []int{0, 0}, errors: []int{0xb00, 0xc01},
	},
	{
		name: "errors of version 6", only: "6",
		script: []probetest.Behaviour{
			{Error: &probetest.Problem{Type: 1, Code: 3, Whole: true}},
			{Error: &probetest.Problem{Type: 2, Code: 0}},
			{Error: &probetest.Problem{Type: 3, Code: 0}},
			{Error: &probetest.Problem{Type: 4, Code: 2}},
		},
		asks: 4, replies: []int{0, 0, 0, 0}, errors: []int{0x103, 0x200, 0x300, 0x402},
	},
}

func TestEnginesReportWhatWasPlayed(t *testing.T) {
	lab := probetest.New(t)
	next := 0
	for _, en := range engines {
		for _, pl := range plays {
			for _, family := range []string{"4", "6"} {
				if pl.only != "" && pl.only != family {
					continue
				}
				t.Run(fmt.Sprintf("%s/%s/%s", en.name, pl.name, family), func(t *testing.T) {
					want := uint64(pl.strays)
					if en.blind {
						want -= uint64(pl.unseen)
					}
					// By chance a pinger of another test may have our 16-bit identifier,
					// and its replies are strays then. That does not happen three times in
					// a row.
					got := uint64(0)
					for range 3 {
						next += 4
						host := lab.Addr
						if family == "6" {
							host = lab.Addr6
						}
						e, err := en.open()
						if err != nil {
							t.Fatal(err)
						}
						r := labRun{Engine: e, t: t, lab: lab}
						got = r.play(pl.script, pl.asks, pl.replies, pl.errors, want, en.stamps, host(next), host(next+2), host(next+3))
						r.Close()
						if got == want {
							return
						}
					}
					t.Errorf("%d strays, want %d", got, want)
				})
			}
		}
	}
}

// play has a host play a script, checks what the engine reports, and returns how many
// strays it counts.
func (r *labRun) play(script []probetest.Behaviour, asks int, replies, errs []int, strays uint64, stamps Stamps, addr, router, other netip.Addr) uint64 {
	r.t.Helper()
	played := slices.Clone(script)
	for i, b := range played {
		if b.Error != nil {
			p := *b.Error
			p.From = router
			played[i].Error = &p
		}
	}
	r.lab.Play(addr, played...)
	r.ask(addr, asks)
	r.wait(replies, errs)
	r.waitStrays(strays)
	r.flush(other)
	r.check(addr, replies, stamps)
	r.checkErrors(errs, router)
	r.checkTTL(script)
	if got := r.Drops(); got != 0 {
		r.t.Errorf("%d drops, want 0", got)
	}
	return r.Strays()
}

// labRun is an engine in a test, and what it reported.
type labRun struct {
	Engine
	t      *testing.T
	lab    *probetest.Lab
	events []Event
	began  time.Time
}

// ask sends n requests with the tokens 0 to n-1, each after the one before reached
// the host, so that the script's order is the tokens'.
func (r *labRun) ask(addr netip.Addr, n int) {
	r.t.Helper()
	r.began = time.Now()
	before := r.lab.Played(addr).Requests
	for i := range n {
		if err := r.Send(addr, uint64(i)); err != nil {
			r.t.Fatalf("Send(%v): %v", addr, err)
		}
		r.until("request arrives", func() bool { return r.lab.Played(addr).Requests == before+i+1 })
	}
}

// until polls until cond holds.
func (r *labRun) until(what string, cond func() bool) {
	r.t.Helper()
	for deadline := time.Now().Add(patience); !cond(); {
		if time.Now().After(deadline) {
			r.t.Fatalf("%s: not within %v; events %+v", what, patience, r.events)
		}
		time.Sleep(time.Millisecond)
		r.events = r.Poll(r.events)
	}
}

// wait waits for as many events as are to come.
func (r *labRun) wait(replies, errs []int) {
	r.t.Helper()
	want := 0
	for _, n := range replies {
		want += n
	}
	for _, e := range errs {
		if e != 0 {
			want++
		}
	}
	r.until("events", func() bool { return len(r.events) >= want })
}

// waitStrays waits until n strays have come.
func (r *labRun) waitStrays(n uint64) {
	r.t.Helper()
	r.until("strays", func() bool { return r.Strays() >= n })
}

// flush asks another host and waits for its answer: what came before that has been
// reported then.
func (r *labRun) flush(other netip.Addr) {
	r.t.Helper()
	const token = 1 << 40
	if err := r.Send(other, token); err != nil {
		r.t.Fatal(err)
	}
	is := func(e Event) bool { return e.Token == token }
	r.until("last answer", func() bool { return slices.ContainsFunc(r.events, is) })
	r.events = slices.DeleteFunc(r.events, is)
}

// check compares the replies with what was played, and their times with those that
// the host's kernel stamped.
func (r *labRun) check(addr netip.Addr, want []int, stamps Stamps) {
	r.t.Helper()
	got := make([]int, len(want))
	var rtts []time.Duration
	for _, e := range r.events {
		if e.Kind != Reply {
			continue
		}
		if e.Token >= uint64(len(want)) || e.From != addr || e.Stamps != stamps {
			r.t.Errorf("reply %+v, want from %v with stamps %d", e, addr, stamps)
			continue
		}
		got[e.Token]++
		rtts = append(rtts, e.RTT)
		if e.RTT > e.At.Sub(r.began) || e.At.After(time.Now()) {
			r.t.Errorf("reply %+v, sent after %v", e, r.began)
		}
	}
	if !slices.Equal(got, want) {
		r.t.Errorf("replies per request %v, want %v", got, want)
	}
	played := r.lab.Played(addr)
	if len(rtts) != played.Replies {
		r.t.Errorf("%d replies reported, %d played", len(rtts), played.Replies)
		return
	}
	slices.Sort(rtts)
	slices.Sort(played.Delays)
	for i := range rtts {
		if rtts[i] < played.Delays[i] {
			r.t.Errorf("round-trip times %v, shorter than what was played, %v", rtts, played.Delays)
			break
		}
	}
}

func (r *labRun) checkErrors(want []int, router netip.Addr) {
	r.t.Helper()
	got := make([]int, len(want))
	for _, e := range r.events {
		if e.Kind != ICMPError {
			continue
		}
		if e.Token >= uint64(len(want)) || e.From != router || got[e.Token] != 0 {
			r.t.Errorf("error %+v, want one from %v", e, router)
			continue
		}
		got[e.Token] = int(e.Type)<<8 | int(e.Code)
	}
	if !slices.Equal(got, want) {
		r.t.Errorf("errors per request %#x, want %#x", got, want)
	}
}

func (r *labRun) checkTTL(script []probetest.Behaviour) {
	r.t.Helper()
	want := script[0].TTL
	if want == 0 {
		want = 64
	}
	for _, e := range r.events {
		if e.Kind == Reply && e.TTL != want {
			r.t.Errorf("reply with TTL %d, want %d", e.TTL, want)
		}
	}
}
