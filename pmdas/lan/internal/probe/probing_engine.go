package probe

import (
	"cmp"
	"errors"
	"net"
	"net/netip"
	"sync"
	"syscall"
	"time"

	xicmp "golang.org/x/net/icmp"
)

// Defaults of Options for the portable engine.
const (
	defaultLate   = 10 * time.Second
	defaultLinger = time.Second
	defaultOpen   = 512

	discardPort = 9 // any would do
)

// probingEngine sends each request through a Pinger of pro-bing of its own, which
// has a socket of its own: an answer then cannot be taken for that of another
// request. Pingers call back on goroutines; their events wait for Poll.
type probingEngine struct {
	late, linger time.Duration
	limit        int
	raw4, raw6   bool // raw sockets, not datagram ones

	mu      sync.Mutex
	events  []Event
	open    map[uint16]*ping // by identifier
	first   *ping            // oldest of open
	last    *ping
	next    uint16
	strays  uint64
	closed  bool
	running sync.WaitGroup

	watchers []*xicmp.PacketConn
}

// OpenProbing opens the portable engine, on the pro-bing library. It needs
// CAP_NET_RAW as long as it is used, or a system that lets the process open ICMP
// datagram sockets.
//
// It takes time stamps itself, so its times are too long by what the process needs
// to wake up. Replies with a wrong cookie or identifier are dropped inside pro-bing:
// Strays counts those from a wrong address only. Drops is always 0. An answer later
// than Options.Late is not seen, nor is a duplicate after Options.Linger. ICMP
// errors are seen with raw sockets only.
func OpenProbing(o Options) (Engine, error) {
	e := &probingEngine{
		late:   cmp.Or(o.Late, defaultLate),
		linger: cmp.Or(o.Linger, defaultLinger),
		limit:  cmp.Or(o.Open, defaultOpen),
		open:   map[uint16]*ping{},
		next:   newEchoer().id,
	}
	var err4, err6 error
	if e.raw4, err4 = canOpen("ip4:icmp", "udp4"); err4 != nil {
		o.report("IPv4: %w", err4)
	}
	if e.raw6, err6 = canOpen("ip6:ipv6-icmp", "udp6"); err6 != nil {
		o.report("IPv6: %w", err6)
	}
	if err4 != nil && err6 != nil {
		return nil, errors.Join(err4, err6)
	}
	e.watch(o)
	return e, nil
}

// canOpen says whether raw sockets can be opened; if not even datagram ones can,
// it returns why.
func canOpen(raw, datagram string) (bool, error) {
	c, rawErr := xicmp.ListenPacket(raw, "")
	if rawErr == nil {
		c.Close()
		return true, nil
	}
	c, err := xicmp.ListenPacket(datagram, "")
	if err != nil {
		return false, errors.Join(rawErr, err)
	}
	c.Close()
	return false, nil
}

// Send is part of Engine. It returns when the request has been sent.
func (e *probingEngine) Send(addr netip.Addr, token uint64) error {
	addr = addr.Unmap()
	if !addr.IsValid() {
		return syscall.EAFNOSUPPORT
	}
	if err := routable(addr); err != nil {
		return err
	}
	p := newPing(e, addr, token)
	if err := e.begin(p); err != nil {
		return err
	}
	go p.run()
	return <-p.outcome
}

// routable asks the system whether it would send to addr, by connecting a datagram
// socket, which sends nothing. Pro-bing tries for ever where access is refused, and
// sends to broadcast addresses.
func routable(addr netip.Addr) error {
	d := net.Dialer{Control: noBroadcast}
	c, err := d.Dial("udp", netip.AddrPortFrom(addr, discardPort).String())
	if err != nil {
		return errnoOf(err)
	}
	return c.Close()
}

// errnoOf digs the system's error number out of the net package's errors.
func errnoOf(err error) error {
	var errno syscall.Errno
	if errors.As(err, &errno) {
		return errno
	}
	return err
}

// begin gives p an identifier and makes room for it.
func (e *probingEngine) begin(p *ping) error {
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.closed {
		return syscall.EBADF
	}
	for len(e.open) >= e.limit {
		e.giveUp(e.first)
	}
	for e.next++; e.open[e.next] != nil; e.next++ {
	}
	p.id = e.next
	p.pinger.SetID(int(p.id))
	p.prev = e.last
	if e.last != nil {
		e.last.next = p
	} else {
		e.first = p
	}
	e.last = p
	e.open[p.id] = p
	e.running.Add(1)
	return nil
}

// giveUp takes p off the books; the caller holds e.mu.
func (e *probingEngine) giveUp(p *ping) {
	if e.open[p.id] != p {
		return
	}
	delete(e.open, p.id)
	if p.prev != nil {
		p.prev.next = p.next
	} else {
		e.first = p.next
	}
	if p.next != nil {
		p.next.prev = p.prev
	} else {
		e.last = p.prev
	}
	p.stop()
}

// Poll is part of Engine.
func (e *probingEngine) Poll(ev []Event) []Event {
	e.mu.Lock()
	defer e.mu.Unlock()
	ev = append(ev, e.events...)
	e.events = e.events[:0]
	return ev
}

// Drops is part of Engine; see OpenProbing.
func (e *probingEngine) Drops() uint64 { return 0 }

// Strays is part of Engine; see OpenProbing.
func (e *probingEngine) Strays() uint64 {
	e.mu.Lock()
	defer e.mu.Unlock()
	return e.strays
}

// Close is part of Engine. It waits until every Pinger has ended.
func (e *probingEngine) Close() error {
	e.mu.Lock()
	e.closed = true
	for e.first != nil {
		e.giveUp(e.first)
	}
	watchers := e.watchers
	e.watchers, e.events = nil, nil
	e.mu.Unlock()
	var err error
	for _, w := range watchers {
		err = errors.Join(err, w.Close())
	}
	e.running.Wait()
	return err
}
