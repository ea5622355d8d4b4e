package agent

import (
	"hash/maphash"
	"iter"
	"time"

	"github.com/pcp-rtime/rtime/pmda"
	"github.com/pcp-rtime/rtime/pmdas/dds/internal/conf"
	"github.com/pcp-rtime/rtime/pmdas/dds/internal/supply"
)

// demand knows which clients ask for which metrics, and how often. A client that asks for the
// same metrics a second time has a subscription. The subscription ends when the client has
// missed several turns.
type demand struct {
	conf    *conf.Config
	seed    maphash.Seed
	subs    map[subKey]*subscription
	now     subKey // of the fetch under way
	at      time.Time
	asking  bool
	touched []*source
	serial  uint64
}

// subKey tells subscriptions apart: by the client, and by the list of metrics. A client such
// as pmlogger asks for several lists at different intervals.
type subKey struct {
	client *pmda.Client
	list   uint64
}

type subscription struct {
	last     time.Time
	interval time.Duration // 0: asked once; otherwise at least the configuration's fastest
	parts    []part
}

// part is how many of a supplier's values a subscription asks for.
type part struct {
	sup    *supply.Supplier
	values int
}

const (
	maxSubs   = 10000            // subscriptions that are remembered
	missed    = 3                // turns after which a subscription is over
	slack     = 2 * time.Second  // and so much longer
	askedOnce = 10 * time.Minute // how long a single request is remembered
)

func newDemand(c *conf.Config) *demand {
	return &demand{conf: c, seed: maphash.MakeSeed(), subs: make(map[subKey]*subscription)}
}

// begin notes which client fetches which metrics.
func (d *demand) begin(r *pmda.Request, now time.Time) {
	d.asking, d.at = true, now
	d.serial++
	var h maphash.Hash
	h.SetSeed(d.seed)
	for _, id := range r.PMIDs {
		_, _ = h.Write([]byte{byte(id), byte(id >> 8), byte(id >> 16), byte(id >> 24)})
	}
	d.now = subKey{r.Client, h.Sum64()}
}

// touch notes that values of a supplier were asked for.
func (d *demand) touch(s *source, n int) {
	if !d.asking {
		return
	}
	if s.touched != d.serial {
		s.touched, s.asked = d.serial, 0
		d.touched = append(d.touched, s)
	}
	s.asked += n
}

// close takes the last fetch into account.
func (d *demand) close() {
	if !d.asking {
		return
	}
	d.asking = false
	if len(d.touched) == 0 {
		return
	}
	sub := d.subs[d.now]
	switch {
	case sub == nil && len(d.subs) >= maxSubs:
		d.touched = d.touched[:0]
		return
	case sub == nil:
		sub = &subscription{}
		d.subs[d.now] = sub
	default:
		sub.interval = max(d.at.Sub(sub.last), d.conf.Fastest)
	}
	sub.last = d.at
	sub.parts = sub.parts[:0]
	for _, s := range d.touched {
		sub.parts = append(sub.parts, part{s.sup, s.asked})
	}
	d.touched = d.touched[:0]
}

// gone forgets a client.
func (d *demand) gone(c *pmda.Client) {
	for key := range d.subs {
		if key.client == c {
			delete(d.subs, key)
		}
	}
}

// forget forgets a supplier.
func (d *demand) forget(s *supply.Supplier) {
	for _, sub := range d.subs {
		kept := sub.parts[:0]
		for _, p := range sub.parts {
			if p.sup != s {
				kept = append(kept, p)
			}
		}
		clear(sub.parts[len(kept):])
		sub.parts = kept
	}
}

// over reports whether the client is no longer expected to ask again.
func (sub *subscription) over(now time.Time) bool {
	silence := now.Sub(sub.last)
	if sub.interval == 0 {
		return silence > askedOnce
	}
	return silence > missed*sub.interval+slack
}

// sums adds up for each supplier how many of its values are being asked for, and at what
// interval.
func (d *demand) sums(now time.Time, all iter.Seq[*supply.Supplier]) map[*supply.Supplier]supply.Demand {
	sums := make(map[*supply.Supplier]supply.Demand)
	for s := range all {
		sums[s] = supply.Demand{} // it is news if somebody asked before
	}
	for key, sub := range d.subs {
		if sub.over(now) {
			delete(d.subs, key)
			continue
		}
		if sub.interval == 0 {
			continue
		}
		for _, p := range sub.parts {
			t := sums[p.sup]
			t.Values += uint32(p.values)
			if t.Interval == 0 || sub.interval < t.Interval {
				t.Interval = sub.interval
			}
			sums[p.sup] = t
		}
	}
	return sums
}
