//go:build linux

package probetest

import (
	"encoding/binary"
	"net/netip"
)

// request is an echo request: an IP packet and where its parts are.
type request struct {
	packet   []byte
	head     int // bytes of the IP header
	from, to netip.Addr
}

func (q *request) v6() bool { return q.to.Is6() }

// parseRequest reads an IP packet; ok says that it is an echo request.
func parseRequest(b []byte) (q *request, ok bool) {
	q = new(request)
	switch {
	case len(b) >= 28 && b[0]>>4 == 4 && b[9] == 1:
		q.head = int(b[0]&0xf) * 4
		n := int(binary.BigEndian.Uint16(b[2:]))
		if n < q.head+8 || n > len(b) || b[q.head] != 8 {
			return nil, false
		}
		b = b[:n]
		q.from, q.to = netip.AddrFrom4([4]byte(b[12:])), netip.AddrFrom4([4]byte(b[16:]))
	case len(b) >= 48 && b[0]>>4 == 6 && b[6] == 58:
		q.head = 40
		n := q.head + int(binary.BigEndian.Uint16(b[4:]))
		if n < q.head+8 || n > len(b) || b[q.head] != 128 {
			return nil, false
		}
		b = b[:n]
		q.from, q.to = netip.AddrFrom16([16]byte(b[8:])), netip.AddrFrom16([16]byte(b[24:]))
	default:
		return nil, false
	}
	q.packet = append([]byte(nil), b...)
	return q, true
}

// reply is the IP packet of an echo reply, spoiled as asked.
func (q *request) reply(s Spoil, ttl int) []byte {
	msg := append([]byte(nil), q.packet[q.head:]...)
	msg[0] = 0
	if q.v6() {
		msg[0] = 129
	}
	from := q.to
	switch s {
	case WrongCookie:
		msg[len(msg)-1] ^= 1
		// pro-bing has its cookie, a UUID, behind eight bytes of time.
		msg[8+8] ^= 1
	case WrongSource:
		from = from.Next()
	case WrongID:
		msg[4] ^= 0x55
	case Short:
		msg = msg[:8+(len(msg)-8)/2]
	}
	return packet(from, q.from, msg, ttl)
}

// problem is the IP packet of an ICMP error that quotes the request.
func (q *request) problem(p *Problem) []byte {
	quoted := q.packet[:q.head+8]
	if p.Whole {
		quoted = q.packet
	}
	from := p.From
	if !from.IsValid() {
		from = q.to
	}
	msg := append([]byte{p.Type, p.Code, 0, 0, 0, 0, 0, 0}, quoted...)
	return packet(from, q.from, msg, 0)
}

// packet puts an IP header before an ICMP message and computes the checksums.
func packet(from, to netip.Addr, msg []byte, ttl int) []byte {
	if ttl == 0 {
		ttl = 64
	}
	msg[2], msg[3] = 0, 0
	if to.Is6() {
		b := make([]byte, 40, 40+len(msg))
		b[0], b[6], b[7] = 0x60, 58, byte(ttl)
		binary.BigEndian.PutUint16(b[4:], uint16(len(msg)))
		f, t := from.As16(), to.As16()
		copy(b[8:], f[:])
		copy(b[24:], t[:])
		pseudo := append(append([]byte(nil), b[8:40]...), 0, 0, b[4], b[5], 0, 0, 0, 58)
		binary.BigEndian.PutUint16(msg[2:], checksum(append(pseudo, msg...)))
		return append(b, msg...)
	}
	b := make([]byte, 20, 20+len(msg))
	b[0], b[8], b[9] = 0x45, byte(ttl), 1
	binary.BigEndian.PutUint16(b[2:], uint16(20+len(msg)))
	f, t := from.As4(), to.As4()
	copy(b[12:], f[:])
	copy(b[16:], t[:])
	binary.BigEndian.PutUint16(b[10:], checksum(b))
	binary.BigEndian.PutUint16(msg[2:], checksum(msg))
	return append(b, msg...)
}

// checksum is that of RFC 1071.
func checksum(b []byte) uint16 {
	var sum uint32
	for i := 0; i+1 < len(b); i += 2 {
		sum += uint32(binary.BigEndian.Uint16(b[i:]))
	}
	if len(b)%2 == 1 {
		sum += uint32(b[len(b)-1]) << 8
	}
	for sum > 0xffff {
		sum = sum>>16 + sum&0xffff
	}
	return ^uint16(sum)
}
