package probe

import (
	"encoding/binary"
	"net/netip"
)

// ICMP types, RFC 792 and RFC 4443.
const (
	icmpEchoReply        = 0
	icmpUnreachable      = 3
	icmpEcho             = 8
	icmpTimeExceeded     = 11
	icmpParameterProblem = 12

	icmp6Unreachable      = 1
	icmp6PacketTooBig     = 2
	icmp6TimeExceeded     = 3
	icmp6ParameterProblem = 4
	icmp6Echo             = 128
	icmp6EchoReply        = 129

	protocolICMP  = 1
	protocolICMP6 = 58
)

// Sizes in bytes of what a request is made of.
const (
	ipv4HeaderLen = 20
	ipv6HeaderLen = 40
	icmpHeaderLen = 8
	payloadLen    = 32
	echoLen       = icmpHeaderLen + payloadLen
)

// payload is what a request carries and its reply brings back. With its headers
// a request is longer than the shortest Ethernet frame, so none is padded.
//
//	 0  magic, the same in every request of an engine
//	 4  number of the request
//	 8  when it was sent, nanoseconds since the engine was opened
//	16  token
//	24  cookie over the above and the destination
type payload struct {
	no     uint32
	sent   int64
	token  uint64
	cookie uint64
}

// echoer writes the requests of one engine and knows their replies again.
type echoer struct {
	id    uint16
	magic uint32
	key   cookieKey
}

// putEcho writes an echo request for addr into b, which has room for echoLen
// bytes. The checksum of ICMPv6 is left to the kernel, which always computes it.
func (e *echoer) putEcho(b []byte, addr netip.Addr, p *payload) {
	p.cookie = e.key.cookie(addr, p)
	b = b[:echoLen]
	typ := byte(icmpEcho)
	if addr.Is6() {
		typ = icmp6Echo
	}
	b[0], b[1], b[2], b[3] = typ, 0, 0, 0
	binary.BigEndian.PutUint16(b[4:], e.id)
	binary.BigEndian.PutUint16(b[6:], uint16(p.no))
	binary.BigEndian.PutUint32(b[8:], e.magic)
	binary.BigEndian.PutUint32(b[12:], p.no)
	binary.BigEndian.PutUint64(b[16:], uint64(p.sent))
	binary.BigEndian.PutUint64(b[24:], p.token)
	binary.BigEndian.PutUint64(b[32:], p.cookie)
	if addr.Is4() {
		binary.BigEndian.PutUint16(b[2:], checksum(b))
	}
}

// parsePayload reads the ICMP message b of an echo request or reply of this
// engine. It does not check the cookie.
func (e *echoer) parsePayload(b []byte) (p payload, ok bool) {
	if len(b) < echoLen || binary.BigEndian.Uint16(b[4:]) != e.id ||
		binary.BigEndian.Uint32(b[8:]) != e.magic {
		return p, false
	}
	p.no = binary.BigEndian.Uint32(b[12:])
	p.sent = int64(binary.BigEndian.Uint64(b[16:]))
	p.token = binary.BigEndian.Uint64(b[24:])
	p.cookie = binary.BigEndian.Uint64(b[32:])
	return p, true
}

// parseReply reads an echo reply that came from addr. It is ours if the cookie is
// the one made for that address.
func (e *echoer) parseReply(b []byte, from netip.Addr) (p payload, ok bool) {
	p, ok = e.parsePayload(b)
	return p, ok && e.key.cookie(from, &p) == p.cookie
}

// quote is the request that an ICMP error message quotes: RFC 792 promises no more
// of it than the IP header and eight bytes.
type quote struct {
	to  netip.Addr
	id  uint16
	seq uint16
}

// parseQuote4 reads the request that the ICMP error message b quotes.
func parseQuote4(b []byte) (q quote, ok bool) {
	if len(b) < icmpHeaderLen+ipv4HeaderLen {
		return q, false
	}
	ip := b[icmpHeaderLen:]
	n := int(ip[0]&0xf) * 4
	if ip[0]>>4 != 4 || n < ipv4HeaderLen || len(ip) < n+icmpHeaderLen ||
		ip[9] != protocolICMP || ip[n] != icmpEcho {
		return q, false
	}
	q.to = netip.AddrFrom4([4]byte(ip[16:20]))
	q.id = binary.BigEndian.Uint16(ip[n+4:])
	q.seq = binary.BigEndian.Uint16(ip[n+6:])
	return q, true
}

// parseQuote6 reads the request that the ICMPv6 error message b quotes.
func parseQuote6(b []byte) (q quote, ok bool) {
	if len(b) < icmpHeaderLen+ipv6HeaderLen+icmpHeaderLen {
		return q, false
	}
	ip := b[icmpHeaderLen:]
	if ip[0]>>4 != 6 || ip[6] != protocolICMP6 || ip[ipv6HeaderLen] != icmp6Echo {
		return q, false
	}
	q.to = netip.AddrFrom16([16]byte(ip[24:40]))
	q.id = binary.BigEndian.Uint16(ip[ipv6HeaderLen+4:])
	q.seq = binary.BigEndian.Uint16(ip[ipv6HeaderLen+6:])
	return q, true
}

// isError says whether an ICMP message of that type reports an error.
func isError(typ uint8, v6 bool) bool {
	if v6 {
		return typ >= icmp6Unreachable && typ <= icmp6ParameterProblem
	}
	return typ == icmpUnreachable || typ == icmpTimeExceeded || typ == icmpParameterProblem
}

// trim4 takes the IPv4 header off a packet as a raw socket delivers it.
func trim4(b []byte) (msg []byte, from netip.Addr, ttl int, ok bool) {
	if len(b) < ipv4HeaderLen {
		return nil, from, 0, false
	}
	n := int(b[0]&0xf) * 4
	if n < ipv4HeaderLen || len(b) < n+icmpHeaderLen {
		return nil, from, 0, false
	}
	return b[n:], netip.AddrFrom4([4]byte(b[12:16])), int(b[8]), true
}

// checksum is the Internet checksum (RFC 1071) of b, whose own field is zero.
func checksum(b []byte) uint16 {
	var sum uint32
	for ; len(b) >= 2; b = b[2:] {
		sum += uint32(b[0])<<8 | uint32(b[1])
	}
	if len(b) == 1 {
		sum += uint32(b[0]) << 8
	}
	for sum>>16 != 0 {
		sum = sum&0xffff + sum>>16
	}
	return ^uint16(sum)
}
