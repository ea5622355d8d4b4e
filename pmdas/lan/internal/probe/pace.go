package probe

import (
	"math"
	"time"
)

const (
	// shared is the spacing up to which (100 packets/s and faster) requests share
	// wake-ups, because one costs several times what a request does. At slower rates
	// no two requests are ever closer than 1/maxrate.
	shared = 10 * time.Millisecond

	// tick is the shortest sleep between two batches of requests that share one; if
	// that is too short for two requests, it is twice their spacing.
	tick = 10 * time.Millisecond

	// rateSlack is what sharing allows for a batch, and for a timer that fires late:
	// no span of time T holds more than 1 + (T + rateSlack) * maxrate requests.
	rateSlack = 2*shared + 5*time.Millisecond
)

// pacer decides when the next turn comes. Its times are durations since the
// Prober's start. Turns lie on an even grid, one gap apart; the rate limit is kept
// apart from the grid by a theoretical departure time, as in the generic cell rate
// algorithm (ITU-T I.371).
type pacer struct {
	interval time.Duration
	minGap   time.Duration // 1/maxrate
	slack    time.Duration
	lastTurn time.Duration // place on the grid of the last turn taken or skipped
	fresh    bool          // there is no grid yet
	limit    time.Duration // when a request would be right on time for the rate
	sent     bool          // limit is of a request
}

// set changes interval and rate. The next request keeps the new rate's distance
// from the last one sent under the old rate.
func (p *pacer) set(interval time.Duration, maxRate float64) {
	gap := time.Duration(math.Ceil(min(float64(time.Second)/maxRate, math.MaxInt64/4)))
	if p.sent {
		p.limit += gap - p.minGap
	}
	p.interval, p.minGap, p.slack = interval, gap, 0
	if gap <= shared {
		p.slack = rateSlack
	}
}

// rest is how long Run sleeps at least between two batches with n hosts.
func (p *pacer) rest(n int) time.Duration {
	gap := p.gap(n)
	if gap > shared || p.minGap > shared {
		return 0
	}
	return max(tick, 2*gap)
}

// restart lets the next turn come at once, if the rate allows, and the grid begin
// with it.
func (p *pacer) restart() { p.fresh = true }

// gap is the distance of two turns with n hosts: a cycle lasts the interval, or
// longer if the rate does not allow n requests in it.
func (p *pacer) gap(n int) time.Duration {
	return max(p.interval/time.Duration(n), p.minGap)
}

// due returns when the next turn may be taken.
func (p *pacer) due(n int) time.Duration {
	earliest := p.limit - p.slack
	if p.fresh {
		return earliest
	}
	return max(p.lastTurn+p.gap(n), earliest)
}

// take takes the turn that is due at now. Turns missed are skipped, but for as many
// as the slack has room for: they are not made up for by a burst.
func (p *pacer) take(now time.Duration, n int) {
	gap := p.gap(n)
	turn := p.lastTurn + gap
	if p.fresh {
		turn, p.fresh = now, false
	}
	if missed := (now-turn)/gap - p.slack/gap; missed > 0 {
		turn += missed * gap
	}
	p.lastTurn = turn
	p.limit = max(now, p.limit) + p.minGap
	p.sent = true
}

// departed notes that a request left at t, which is well after its turn if this
// process did not get to run in between.
func (p *pacer) departed(t time.Duration) {
	p.limit = max(p.limit, t+p.minGap)
}
