//go:build linux

package probetest

import (
	"net/netip"
	"time"
)

// Behaviour is what a host does with an echo request. The zero value answers it at
// once.
type Behaviour struct {
	Delay  time.Duration // before the answer; longer than a timeout makes it late
	Spread time.Duration // further delay, random up to this: answers overtake each other
	Lose   bool          // no answer

	Duplicates int           // further copies of the answer
	Gap        time.Duration // between copies

	Spoil Spoil    // an answer that must not count
	Error *Problem // an ICMP error in place of the answer
	TTL   int      // of the answer, or its hop limit; 0 means 64
}

// Spoil says what is wrong with an answer.
type Spoil uint8

// What can be wrong with an answer.
const (
	Good        Spoil = iota
	WrongCookie       // the payload differs
	WrongSource       // it comes from another address, that of the next host
	WrongID           // it has another identifier
	Short             // the payload is cut to half
)

// Problem is an ICMP error.
type Problem struct {
	Type, Code uint8
	From       netip.Addr // zero: the host itself
	Whole      bool       // quotes the whole request, not the least that RFC 792 asks for
}

// Counts is what a host was asked and has played.
type Counts struct {
	Requests   int
	Replies    int // good ones, duplicates included
	Duplicates int // good ones beyond the first for a request
	Lost       int // requests without an answer
	Spoiled    int // replies that must not count, duplicates included
	Errors     int // ICMP errors

	// Delays holds how long each good reply took, from the arrival of its request
	// to its departure, by the kernel's stamps, in the order in which they left. A
	// round-trip time cannot be shorter.
	Delays []time.Duration
}

type host struct {
	script []Behaviour
	asked  int
	counts Counts
}

// Play sets what the host at addr does: with the first request after this call
// script[0], with the next script[1], and after the last again script[0].
// Its counts go on.
func (l *Lab) Play(addr netip.Addr, script ...Behaviour) {
	l.mu.Lock()
	defer l.mu.Unlock()
	h := l.host(addr)
	h.script, h.asked = script, 0
}

// Played returns what the host at addr has played.
func (l *Lab) Played(addr netip.Addr) Counts {
	l.mu.Lock()
	defer l.mu.Unlock()
	c := l.host(addr).counts
	c.Delays = append([]time.Duration(nil), c.Delays...)
	return c
}

// Total returns what all hosts have played, without the delays.
func (l *Lab) Total() Counts {
	l.mu.Lock()
	defer l.mu.Unlock()
	var sum Counts
	for _, h := range l.hosts {
		sum.Requests += h.counts.Requests
		sum.Replies += h.counts.Replies
		sum.Duplicates += h.counts.Duplicates
		sum.Lost += h.counts.Lost
		sum.Spoiled += h.counts.Spoiled
		sum.Errors += h.counts.Errors
	}
	return sum
}

// host returns the host at addr; the caller holds l.mu.
func (l *Lab) host(addr netip.Addr) *host {
	addr = addr.WithZone("")
	h := l.hosts[addr]
	if h == nil {
		h = new(host)
		l.hosts[addr] = h
	}
	return h
}

// asked counts a request to addr and returns what to do with it.
func (l *Lab) asked(addr netip.Addr) Behaviour {
	l.mu.Lock()
	defer l.mu.Unlock()
	h := l.host(addr)
	h.counts.Requests++
	if len(h.script) == 0 {
		return Behaviour{}
	}
	b := h.script[h.asked%len(h.script)]
	h.asked++
	if b.Lose {
		h.counts.Lost++
	}
	return b
}

// sent counts what left for a request.
func (l *Lab) sent(a *answer, took time.Duration) {
	l.mu.Lock()
	defer l.mu.Unlock()
	c := &l.host(a.host).counts
	switch {
	case a.isError:
		c.Errors++
	case a.spoiled:
		c.Spoiled++
	default:
		c.Replies++
		if a.copy > 0 {
			c.Duplicates++
		}
		c.Delays = append(c.Delays, took)
	}
}
