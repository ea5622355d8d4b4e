package main

import (
	"fmt"
	"slices"
	"time"

	"github.com/pcp-rtime/rtime/bench/agent/pipe"
	"github.com/pcp-rtime/rtime/pcp"
	"github.com/pcp-rtime/rtime/pdu"
)

// sample is what one round measured, per fetch.
type sample struct {
	cpu      float64 // microseconds of the agent
	rate     float64 // round trips per second
	switches float64 // context switches of the agent's threads
}

// round is one measurement: a peer that runs, and what is asked of it.
type round struct {
	peer    *peer
	conn    *pipe.Conn
	shape   shape
	fetch   []byte // the request
	profile *pdu.Profile
}

func newRound(p *peer, c *pipe.Conn, s shape) *round {
	pmids := p.metrics(s)
	if len(pmids) == 0 {
		return nil
	}
	f := pdu.Fetch{PMIDs: pmids}
	return &round{peer: p, conn: c, shape: s, fetch: f.Append(nil, 0), profile: s.profile()}
}

// prepare makes the agent ready, fetches once and checks what comes.
func (r *round) prepare() error {
	if r.peer.prepare != nil {
		if err := r.peer.prepare(r.conn, r.shape); err != nil {
			return err
		}
	}
	if err := r.conn.Profile(r.profile); err != nil {
		return err
	}
	b, err := r.conn.Fetch(r.fetch)
	if err != nil {
		return err
	}
	return r.check(b)
}

// check makes sure that the answer holds the right number of values, and for our own
// metrics the right values.
func (r *round) check(b []byte) error {
	var res pdu.Result
	if err := res.Parse(b); err != nil {
		return err
	}
	want := 1
	if r.shape.insts > 0 {
		want = items
	}
	if len(res.Sets) != want {
		return fmt.Errorf("%d value sets, want %d", len(res.Sets), want)
	}
	for i := range res.Sets {
		s := &res.Sets[i]
		if s.Err != 0 {
			return fmt.Errorf("metric %v: %w", s.PMID, s.Err)
		}
		if len(s.Values) != r.shape.values() {
			return fmt.Errorf("metric %v: %d values, want %d", s.PMID, len(s.Values), r.shape.values())
		}
		if err := r.checkValues(s); err != nil {
			return err
		}
	}
	return nil
}

func (r *round) checkValues(s *pdu.ValueSet) error {
	if !r.peer.exact {
		return nil
	}
	for _, v := range s.Values {
		want := int64(42)
		if v.Inst != pcp.InstNull {
			want = 1000*int64(v.Inst) + int64(s.PMID.Item())
		}
		if n, err := v.Value.Int64(); err != nil || n != want {
			return fmt.Errorf("metric %v instance %d: %v, want %d", s.PMID, v.Inst, v.Value, want)
		}
	}
	return nil
}

// measure fetches for about as long as given.
func (r *round) measure(d time.Duration) (sample, error) {
	slept := switches(r.conn.PID)
	cpu, err := cpuTime(r.conn.PID)
	if err != nil {
		return sample{}, err
	}
	begin := monotonic()
	n, end := 0, begin
	for end-begin < d {
		if r.shape.paced {
			sleepUntil(begin + time.Duration(n+1)*10*time.Millisecond)
		}
		if err := r.once(); err != nil {
			return sample{}, err
		}
		n++
		end = monotonic()
	}
	if r.shape.paced {
		sleepMs(8) // what the agent does after its answer, until it sleeps, counts
	}
	after, err := cpuTime(r.conn.PID)
	slept = switches(r.conn.PID) - slept
	return sample{
		cpu:      float64(after-cpu) / float64(n) / 1e3,
		rate:     float64(n) / (end - begin).Seconds(),
		switches: float64(slept) / float64(n),
	}, err
}

func (r *round) once() error {
	if r.shape.anew {
		if err := r.conn.Profile(r.profile); err != nil {
			return err
		}
	}
	_, err := r.conn.Fetch(r.fetch)
	return err
}

// median returns the middle of what f picks.
func median(samples []sample, f func(sample) float64) float64 {
	list := make([]float64, len(samples))
	for i, s := range samples {
		list[i] = f(s)
	}
	return middle(list)
}

// middle returns the median of a list that is not empty, and sorts the list.
func middle(list []float64) float64 {
	slices.Sort(list)
	n := len(list)
	return (list[(n-1)/2] + list[n/2]) / 2
}

// ratio returns the median of the rounds' ratios. The rounds of two agents follow one
// another closely, so other load on the machine affects both alike.
func ratio(samples, base []sample) float64 {
	list := make([]float64, min(len(samples), len(base)))
	for i := range list {
		list[i] = samples[i].cpu / base[i].cpu
	}
	return middle(list)
}
