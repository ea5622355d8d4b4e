package probe

import (
	"net/netip"
	"time"
)

// Counters count since the host was added. They never go back.
//
// Requests = Responses + Timeouts + Failed + requests in flight, at every moment.
type Counters struct {
	Requests   uint64 // echo requests sent
	Responses  uint64 // replies in time, the first to each request
	Timeouts   uint64 // requests without an answer for the timeout
	Failed     uint64 // requests ended by an ICMP error
	Late       uint64 // first replies to requests that had timed out or failed
	Duplicates uint64 // further replies to a request that has had one
	SendErrors uint64 // requests that could not be sent; they are not in Requests

	// Errors counts the ICMP errors that concern requests of ours, by ErrorClass.
	// An error for a request that is over by then counts here but not in Failed.
	Errors [NumErrorClasses]uint64
}

// The bands of Snapshot.Bands, as SpmiResp had them (docs/measuring-hosts.md, "Averages
// and bands"): a response time on a limit belongs to the band above it.
const (
	Below10  = iota // less than 10 ms
	Below20         // 10 ms to less than 20 ms
	Below100        // 20 ms to less than 100 ms
	Above99         // 100 ms or more
	NumBands
)

// Snapshot is the account of one host at one moment. A caller that keeps one
// Snapshot for all hosts costs no allocation in the long run.
type Snapshot struct {
	ID   uint32
	Addr netip.Addr // not valid: the host has no address and is not probed
	Counters
	InFlight int // requests neither answered nor given up

	// Known says that a probe has been completed, for the address in force and since
	// probing last resumed; Up that the one last sent of those completed was
	// answered in time.
	Known, Up bool

	// Of that answer; valid if Timed.
	RTT    time.Duration
	Stamps Stamps

	// Of the last reply, which may have been late; valid if LastReply is not zero.
	LastReply time.Time
	TTL       int

	// Average is the weighted average response time in milliseconds, fed by
	// unrounded times; valid if Percent is.
	Average float64

	Bands [NumBands]uint64 // responses by response time, those without a known one left out

	LastSendError error // of the last request that could not be sent; nil if none

	Window WindowStats // filled if asked for

	samples []sample
}

// Timed reports whether the host answers now, and how fast is known.
func (s *Snapshot) Timed() bool { return s.Up && s.RTT >= 0 }

// Percent returns the bands as percentages of the response times known. They sum to
// 100 but for floating-point rounding. ok is false before the first response.
func (s *Snapshot) Percent() (percent [NumBands]float64, ok bool) {
	sum := uint64(0)
	for _, n := range s.Bands {
		sum += n
	}
	if sum == 0 {
		return percent, false
	}
	for i, n := range s.Bands {
		percent[i] = 100 * float64(n) / float64(sum)
	}
	return percent, true
}

// Stats describe the Prober as a whole.
type Stats struct {
	Hosts     int           // added, with or without address
	Probed    int           // with an address
	InFlight  int           // requests neither answered nor given up
	Paused    bool          // because nobody has asked for values
	Cycles    uint64        // completed; a cycle that a pause cuts off does not count
	Overruns  uint64        // cycles more than 5 % longer than the interval
	LastCycle time.Duration // length of the last completed cycle; 0 before
	Sent      uint64        // echo requests, over all hosts there ever were
	Unmatched uint64        // answers to hosts removed since, or too old to be told apart
	Strays    uint64        // Engine.Strays as of the last poll
	Drops     uint64        // Engine.Drops as of the last poll

	SendErrors uint64 // requests that could not be sent, over all hosts
	LastError  error  // of the last of them
	LastFailed uint32 // the host of the last of them
}

// Snapshot fills into with the account of a host, and into.Window if window is set.
// It returns false and leaves into alone for an unknown id.
func (p *Prober) Snapshot(id uint32, into *Snapshot, window bool) bool {
	p.mu.Lock()
	h := p.hosts[id]
	if h == nil {
		p.mu.Unlock()
		return false
	}
	p.fill(h, into)
	into.samples = into.samples[:0]
	if window {
		h.win.prune(p.now(), p.settings.Window)
		into.samples = h.win.appendTo(into.samples)
	}
	p.mu.Unlock()

	into.Window = WindowStats{}
	if window {
		into.Window = windowStats(into.samples)
	}
	return true
}

func (p *Prober) fill(h *host, s *Snapshot) {
	s.ID, s.Addr, s.Counters = h.id, h.addr, h.Counters
	s.InFlight = h.inFlight()
	s.Known = h.known && (h.settled > p.resumed || p.resumed == 0)
	s.Up = s.Known && h.up
	s.RTT, s.Stamps = 0, StampsUser
	if s.Up {
		s.RTT, s.Stamps = h.rtt, h.stamps
	}
	s.LastReply, s.TTL = time.Time{}, h.ttl
	if h.replyEver {
		s.LastReply = p.start.Add(h.lastReply)
	}
	s.Average, s.Bands, s.LastSendError = h.average, h.bands, h.sendErr
}

// Stats returns the state of the Prober as a whole.
func (p *Prober) Stats() Stats {
	p.mu.Lock()
	defer p.mu.Unlock()
	s := p.stats
	s.Hosts, s.Probed = len(p.hosts), p.cycle.n
	s.Paused = p.idle.Load()
	return s
}
