package probe

import (
	"errors"
	"net/netip"
	"time"

	"golang.org/x/sys/unix"
)

// maxUnread is how many send stamps may wait while no reply makes the engine look
// for them; they take room in the receive buffer.
const maxUnread = 512

// linuxEngine has one raw socket per address family. The kernel stamps requests when they
// leave and replies when they arrive, so it does not matter when they are read, and the
// process need not wake up for a reply.
type linuxEngine struct {
	echoer
	v4, v6 *socket // nil if the family could not be opened
	clock  stampClock
	ring   ring
	next   uint32
	zones  zones
	strays uint64

	in   *batch // replies
	sent *batch // send stamps
}

// OpenLinux opens the engine that uses Linux's raw sockets and kernel time stamps
// (raw(7), Documentation/networking/timestamping.rst). It needs CAP_NET_RAW, and
// CAP_NET_ADMIN for a large receive buffer; once it is open it needs neither. It
// fails only if no address family can be opened.
//
// Of the replies with an unknown identifier Strays counts only those that carry
// the payload of this engine; others belong to other programs.
func OpenLinux(o Options) (Engine, error) {
	e := &linuxEngine{
		echoer: newEchoer(),
		clock:  newStampClock(),
		ring:   newRing(o.Records),
		in:     newBatch(),
		sent:   newBatch(),
	}
	var err4, err6 error
	if e.v4, err4 = openSocket(false, &e.echoer, o); err4 != nil {
		o.report("IPv4: %w", err4)
	}
	if e.v6, err6 = openSocket(true, &e.echoer, o); err6 != nil {
		o.report("IPv6: %w", err6)
	}
	if e.v4 == nil && e.v6 == nil {
		return nil, errors.Join(err4, err6)
	}
	if o.stamps < noStamps && !awaitStamps() {
		o.report("the kernel does not stamp arrivals: response times are not known")
	}
	return e, nil
}

// Send is part of Engine.
func (e *linuxEngine) Send(addr netip.Addr, token uint64) error {
	addr = addr.Unmap()
	s := e.v4
	if addr.Is6() {
		s = e.v6
	}
	if s == nil || !addr.IsValid() {
		return unix.EAFNOSUPPORT
	}
	scope, err := e.zones.index(addr)
	if err != nil {
		return err
	}
	e.next++
	p := payload{no: e.next, sent: e.clock.now(), token: token}
	e.putEcho(s.echo[:], addr, &p)
	e.ring.put(&p)
	if err := s.send(addr, scope); err != nil {
		e.ring.drop(p.no)
		e.zones.forget(scope)
		return err
	}
	return nil
}

// Poll is part of Engine.
func (e *linuxEngine) Poll(ev []Event) []Event {
	start := e.clock.now()
	if e.v4 != nil {
		ev = e.poll(e.v4, ev)
	}
	if e.v6 != nil {
		ev = e.poll(e.v6, ev)
	}
	e.clock.readUpTo(start)
	return ev
}

// poll reads all replies and errors that a socket has. A request leaves before its
// reply arrives, so the send stamps are read after the replies: then those of all
// replies at hand are among them.
func (e *linuxEngine) poll(s *socket, ev []Event) []Event {
	for {
		n := e.in.receive(s.fd, 0)
		now := e.clock.now()
		if n > 0 || s.unread > maxUnread || e.clock.stepped {
			e.readSendStamps(s, now)
		}
		for i := range n {
			ev = e.take(s, i, now, ev)
		}
		if n < batchLen {
			return ev
		}
	}
}

// readSendStamps empties the error queue, where the kernel puts them.
func (e *linuxEngine) readSendStamps(s *socket, now int64) {
	s.unread = 0
	for s.stamps == StampsKernel {
		n := e.sent.receive(s.fd, unix.MSG_ERRQUEUE)
		for i := range n {
			e.takeSendStamp(i, now)
		}
		if n < batchLen {
			return
		}
	}
}

// takeSendStamp notes when the request that datagram i of the error queue is a
// copy of left. The request is at the end; what is before it depends on the device.
func (e *linuxEngine) takeSendStamp(i int, now int64) {
	b := e.sent.bytes(i)
	if len(b) < echoLen {
		return
	}
	p, ok := e.parsePayload(b[len(b)-echoLen:])
	if !ok {
		return
	}
	rec := e.ring.get(p.no)
	stamp, _ := e.sent.controls(i).read()
	if rec == nil || rec.check != uint32(p.cookie) || stamp == 0 {
		return
	}
	if m, ok := e.clock.mono(stamp, rec.sent-stepThreshold, now+stepThreshold); ok {
		rec.left = m
	}
}

// take turns datagram i into an event or counts it as a stray.
func (e *linuxEngine) take(s *socket, i int, now int64, ev []Event) []Event {
	msg := e.in.bytes(i)
	from, ttl, ok := netip.Addr{}, 0, true
	if s.v6 {
		from = netip.AddrFrom16(e.in.from[i].Addr)
	} else {
		msg, from, ttl, ok = trim4(msg)
	}
	if !ok || len(msg) < icmpHeaderLen {
		e.strays++
		return ev
	}
	stamp, hops := e.in.controls(i).read()
	if s.v6 {
		ttl = hops
	}
	x := Event{From: e.zones.zoned(from, e.in.from[i].Scope_id), TTL: ttl, Type: msg[0], Code: msg[1]}
	if isError(x.Type, s.v6) {
		ok = e.takeError(msg, s.v6, stamp, now, &x)
	} else {
		ok = e.takeReply(s, msg, from, stamp, now, &x)
	}
	if !ok {
		e.strays++
		return ev
	}
	return append(ev, x)
}

func (e *linuxEngine) takeError(msg []byte, v6 bool, stamp, now int64, x *Event) bool {
	parse := parseQuote4
	if v6 {
		parse = parseQuote6
	}
	q, ok := parse(msg)
	if !ok || q.id != e.id {
		return false
	}
	rec := e.ring.bySeq(q.seq, e.next)
	if rec == nil {
		return false
	}
	p := payload{no: rec.no, sent: rec.sent, token: rec.token}
	if uint32(e.key.cookie(q.to, &p)) != rec.check {
		return false
	}
	arrived, ok := e.clock.mono(stamp, rec.sent, now)
	if !ok {
		arrived = now
	}
	x.Kind, x.Token, x.TTL, x.At = ICMPError, rec.token, 0, e.clock.at(arrived)
	return true
}

func (e *linuxEngine) takeReply(s *socket, msg []byte, from netip.Addr, stamp, now int64, x *Event) bool {
	p, ok := e.parseReply(msg, from)
	if !ok {
		return false
	}
	x.Kind, x.Token, x.Type, x.Code = Reply, p.token, 0, 0
	arrived, rtt, stamps := e.times(s, &p, stamp, now)
	x.At, x.RTT, x.Stamps = e.clock.at(arrived), time.Duration(rtt), stamps
	return true
}

// times returns when a reply arrived, engine's time, and how long it took, from the best
// stamps that can be true: a reply arrives after its request was sent and before it was
// read. A reply lies in the socket until it is read. So if the kernel ought to have stamped
// it and has not, nobody knows how long it took.
func (e *linuxEngine) times(from *socket, p *payload, stamp, now int64) (arrived, rtt int64, s Stamps) {
	arrived, ok := e.clock.mono(stamp, p.sent, now+stepThreshold)
	if from.stamps == StampsUser {
		return now, now - p.sent, StampsUser
	}
	if stamp == 0 || !ok {
		return now, -1, StampsUser
	}
	if rec := e.ring.get(p.no); rec != nil && rec.left != 0 && rec.left <= arrived {
		return arrived, arrived - rec.left, StampsKernel
	}
	return arrived, arrived - p.sent, StampsReceive
}

// Drops is part of Engine. It costs a system call per address family. Send stamps
// lie in the receive buffer too. While it is full, newer kernels (seen on 6.18) count
// every ICMP message that comes, also those that the filter would have kept out.
func (e *linuxEngine) Drops() uint64 {
	var n uint64
	for _, s := range []*socket{e.v4, e.v6} {
		if s != nil {
			n += dropsOf(s.fd)
		}
	}
	return n
}

// Strays is part of Engine.
func (e *linuxEngine) Strays() uint64 { return e.strays }

// Close is part of Engine.
func (e *linuxEngine) Close() error {
	var err error
	for _, s := range []*socket{e.v4, e.v6} {
		if s != nil {
			err = errors.Join(err, s.close())
		}
	}
	e.v4, e.v6 = nil, nil
	return err
}
