package probe

import (
	"errors"
	"math/bits"
	"net/netip"
	"syscall"
	"time"
)

// tracked is how many of its latest requests a host tells apart.
const tracked = 64

// host is the account of one host, guarded by the Prober's lock. Request seq is bit
// next-1-seq of the bitmaps. Times are since the Prober's start.
type host struct {
	id         uint32
	addr       netip.Addr
	prev, next *host  // neighbours in the cycle; nil without address
	cycle      uint64 // number of the last cycle that gave this host its turn

	first, seq uint32 // the first request's number, the next one's
	pending    uint64 // in flight
	replied    uint64 // has had a reply, in time or late

	Counters
	bands   [NumBands]uint64
	average float64 // milliseconds

	known, up bool
	latest    uint32 // the request that known and up are about
	settled   time.Duration
	rtt       time.Duration
	stamps    Stamps
	ttl       int
	lastReply time.Duration
	replyEver bool
	sendErr   error

	win window
}

func token(id, seq uint32) uint64 { return uint64(id)<<32 | uint64(seq) }

// bit returns the bitmap bit of request seq, or 0 if the host does not track it.
func (h *host) bit(seq uint32) uint64 {
	back := h.seq - 1 - seq
	if back >= tracked || back >= h.seq-h.first {
		return 0
	}
	return 1 << back
}

// advance makes room for a request. One that is still in flight tracked requests
// later can be tracked no longer: its timeout is then longer than 64 intervals, and
// it counts as timed out before its time. forced says so.
func (h *host) advance(now, span time.Duration) (forced bool) {
	if h.pending>>(tracked-1) != 0 {
		h.timeout(h.seq-tracked, now, span)
		forced = true
	}
	h.pending <<= 1
	h.replied <<= 1
	h.seq++
	return forced
}

// sent notes that the request for which advance made room is on its way.
func (h *host) sent() {
	h.Requests++
	h.pending |= 1
}

// sendFailed notes that it could not be sent. If there is no way to the host, or no address
// of our own to send from, the host is down. Any other error says nothing about the host,
// so nothing is known any more.
func (h *host) sendFailed(err error, now time.Duration) {
	h.SendErrors++
	h.sendErr = err
	h.settle(h.seq-1, false, now)
	h.known = errors.Is(err, syscall.ENETUNREACH) || errors.Is(err, syscall.EHOSTUNREACH) ||
		errors.Is(err, syscall.ENETDOWN) || errors.Is(err, syscall.EHOSTDOWN) ||
		errors.Is(err, syscall.EADDRNOTAVAIL)
}

// settle notes the outcome of request seq, unless a later one's is known.
func (h *host) settle(seq uint32, up bool, now time.Duration) bool {
	if h.known && int32(seq-h.latest) < 0 {
		return false
	}
	h.known, h.up, h.latest, h.settled = true, up, seq, now
	return true
}

// forget drops what is known of the host's present state; counters stay.
func (h *host) forget() { h.known, h.up = false, false }

// timeout ends request seq, which is in flight.
func (h *host) timeout(seq uint32, now, span time.Duration) {
	h.pending &^= h.bit(seq)
	h.Timeouts++
	h.settle(seq, false, now)
	h.win.push(makeLost(now), now, span)
}

// answer accounts for a reply. It says whether the reply ended a request in flight
// and whether it belongs to a request that the host tracks.
func (h *host) answer(ev *Event, at, now time.Duration, s *Settings) (ended, ours bool) {
	seq := uint32(ev.Token)
	bit := h.bit(seq)
	if bit == 0 {
		return false, false
	}
	if h.replied&bit != 0 {
		h.Duplicates++
		return false, true
	}
	ended = h.pending&bit != 0
	if ended && ev.RTT > s.Timeout {
		// The reply came too late, and the timeout had not been noticed yet.
		h.timeout(seq, now, s.Window)
	}
	h.replied |= bit
	if h.pending&bit == 0 {
		h.Late++
	} else {
		h.pending &^= bit
		h.observe(ev, now, s)
	}
	h.noteReply(ev, at)
	return ended, true
}

// observe counts the response time of a reply that came in time.
func (h *host) observe(ev *Event, now time.Duration, s *Settings) {
	h.Responses++
	latest := h.settle(uint32(ev.Token), true, now)
	if latest {
		h.rtt, h.stamps = ev.RTT, ev.Stamps
	}
	if ev.RTT < 0 {
		return // the host answered, and how fast is not known
	}
	rtt := ev.RTT
	ms := float64(rtt) / float64(time.Millisecond)
	if h.bands == [NumBands]uint64{} {
		h.average = ms
	} else {
		h.average = (s.Weight*h.average + (100-s.Weight)*ms) / 100
	}
	h.bands[band(rtt)]++
	h.win.push(makeSample(now, rtt), now, s.Window)
}

func (h *host) noteReply(ev *Event, at time.Duration) {
	if !h.replyEver || at >= h.lastReply {
		h.replyEver, h.lastReply, h.ttl = true, at, ev.TTL
	}
}

// fail accounts for an ICMP error, with results as answer has them.
func (h *host) fail(ev *Event, now time.Duration, s *Settings) (ended, ours bool) {
	seq := uint32(ev.Token)
	bit := h.bit(seq)
	if bit == 0 {
		return false, false
	}
	v6 := ev.From.Is6() && !ev.From.Is4In6()
	class, final := classify(v6, ev.Type, ev.Code)
	if !final {
		return false, true
	}
	h.Errors[class]++
	if h.pending&bit == 0 {
		return false, true
	}
	h.pending &^= bit
	h.Failed++
	h.settle(seq, false, now)
	h.win.push(makeLost(now), now, s.Window)
	return true, true
}

func (h *host) inFlight() int { return bits.OnesCount64(h.pending) }

func band(rtt time.Duration) int {
	switch {
	case rtt < 10*time.Millisecond:
		return Below10
	case rtt < 20*time.Millisecond:
		return Below20
	case rtt < 100*time.Millisecond:
		return Below100
	}
	return Above99
}
