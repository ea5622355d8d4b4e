package probe

import (
	"net"
	"net/netip"
	"time"

	xicmp "golang.org/x/net/icmp"
	"golang.org/x/net/ipv4"
	"golang.org/x/net/ipv6"
)

// Pro-bing sees echo replies only. A socket per address family beside it listens
// for the ICMP errors that quote its requests.

// watch opens those sockets where raw sockets are allowed.
func (e *probingEngine) watch(o Options) {
	if e.raw4 {
		c, err := xicmp.ListenPacket("ip4:icmp", "")
		e.watchOn(c, err, false, o)
	}
	if e.raw6 {
		c, err := xicmp.ListenPacket("ip6:ipv6-icmp", "")
		e.watchOn(c, err, true, o)
	}
	if !e.raw4 || !e.raw6 {
		o.report("datagram sockets: no ICMP errors")
	}
}

func (e *probingEngine) watchOn(c *xicmp.PacketConn, err error, v6 bool, o Options) {
	if err != nil {
		o.report("no ICMP errors: %w", err)
		return
	}
	if err := passErrors(c, v6); err != nil {
		o.report("every ICMP message wakes the agent: %w", err)
	}
	e.watchers = append(e.watchers, c)
	e.running.Add(1)
	go e.watchErrors(c, v6)
}

// passErrors keeps messages that are no errors from the socket, where the system
// can do that.
func passErrors(c *xicmp.PacketConn, v6 bool) error {
	if v6 {
		var f ipv6.ICMPFilter
		f.SetAll(true)
		for t := icmp6Unreachable; t <= icmp6ParameterProblem; t++ {
			f.Accept(ipv6.ICMPType(t))
		}
		return c.IPv6PacketConn().SetICMPFilter(&f)
	}
	var f ipv4.ICMPFilter
	f.SetAll(true)
	for _, t := range []ipv4.ICMPType{icmpUnreachable, icmpTimeExceeded, icmpParameterProblem} {
		f.Accept(t)
	}
	return c.IPv4PacketConn().SetICMPFilter(&f)
}

// watchErrors reads one socket until it is closed.
func (e *probingEngine) watchErrors(c *xicmp.PacketConn, v6 bool) {
	defer e.running.Done()
	b := make([]byte, 512)
	for {
		n, from, err := c.ReadFrom(b)
		if err != nil {
			if ne, ok := err.(net.Error); ok && ne.Timeout() {
				continue
			}
			return
		}
		e.takeError(b[:n], from, v6)
	}
}

// takeError reports the ICMP message b, if it is an error that quotes a request
// which is still open. Each request has its own identifier.
func (e *probingEngine) takeError(b []byte, from net.Addr, v6 bool) {
	if len(b) < icmpHeaderLen || !isError(b[0], v6) {
		return
	}
	parse := parseQuote4
	if v6 {
		parse = parseQuote6
	}
	q, ok := parse(b)
	if !ok {
		return
	}
	e.mu.Lock()
	defer e.mu.Unlock()
	p := e.open[q.id]
	if p == nil || q.seq != 0 || q.to != p.addr.WithZone("") || !e.raw(q.to) {
		return
	}
	e.events = append(e.events, Event{
		Token: p.token, Kind: ICMPError, From: addrOf(from), At: time.Now(),
		Type: b[0], Code: b[1],
	})
}

// addrOf is the address that the net package gives for a raw socket.
func addrOf(a net.Addr) netip.Addr {
	ip, ok := a.(*net.IPAddr)
	if !ok {
		return netip.Addr{}
	}
	addr, _ := netip.AddrFromSlice(ip.IP)
	return addr.Unmap().WithZone(ip.Zone)
}
