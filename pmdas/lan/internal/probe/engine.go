// Package probe sends ICMP echo requests to hosts and keeps account of the answers.
// It knows no PCP numbers and no names: an Engine turns addresses into events, a
// Prober decides when each host's turn comes and keeps its statistics.
package probe

import (
	"net/netip"
	"time"
)

// Engine sends echo requests and reports what comes back. One goroutine uses an
// Engine at a time.
type Engine interface {
	// Send sends one echo request. It does not wait: a request that cannot be sent
	// at once is an error, which is the operating system's (errors.Is with a
	// syscall.Errno works). token comes back in the events that concern the request.
	Send(addr netip.Addr, token uint64) error

	// Poll appends what has arrived since the last call to ev. It does not wait.
	Poll(ev []Event) []Event

	// Drops returns how many datagrams were lost because there was no room in the receive
	// buffer, since the engine was opened.
	Drops() uint64

	// Strays returns how many ICMP messages reached the engine that answered no
	// request of its own: wrong cookie, wrong address, unknown identifier.
	Strays() uint64

	// Close releases the sockets. Send and Poll after Close do nothing.
	Close() error
}

// EventKind says what an Event reports.
type EventKind uint8

const (
	// Reply is an echo reply, from the address that was asked, with our cookie. An
	// engine reports every one that arrives; the Prober tells late ones and
	// duplicates apart.
	Reply EventKind = iota
	// ICMPError is an ICMP error message that quotes a request of ours: Type and
	// Code tell which, From is the router or host that sent it.
	ICMPError
)

// Stamps says where the two time stamps of a round-trip time come from.
type Stamps uint8

const (
	StampsUser    Stamps = iota // both taken by this process
	StampsReceive               // the arrival by the kernel, the departure by this process
	StampsKernel                // both by the kernel
)

// Event is something that arrived.
type Event struct {
	Token  uint64 // of the request that it answers
	Kind   EventKind
	From   netip.Addr
	RTT    time.Duration // Reply: from departure to arrival; negative if not known
	At     time.Time     // arrival, with a monotonic reading
	Stamps Stamps        // Reply
	TTL    int           // Reply: time to live or hop limit on arrival; 0 unknown
	Type   uint8         // ICMPError: ICMP or ICMPv6 type
	Code   uint8         // ICMPError
}
