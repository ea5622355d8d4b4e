package probe

import (
	"crypto/rand"
	"encoding/binary"
	"math/bits"
	"net/netip"
)

// cookieKey is the key of an engine's cookies. Nobody can make the cookie of a request
// without having seen it, so a reply that carries it comes from the host that was asked or
// from someone on the way.
type cookieKey struct {
	k0, k1 uint64
}

// newEchoer returns an echoer with a random identifier, magic and key.
func newEchoer() echoer {
	var b [22]byte
	rand.Read(b[:]) // never fails, see crypto/rand
	return echoer{
		id:    binary.NativeEndian.Uint16(b[0:]),
		magic: binary.NativeEndian.Uint32(b[2:]),
		key: cookieKey{
			k0: binary.NativeEndian.Uint64(b[6:]),
			k1: binary.NativeEndian.Uint64(b[14:]),
		},
	}
}

// cookie authenticates the request with that destination, number, time and token.
// The zone of addr does not count.
func (k cookieKey) cookie(addr netip.Addr, p *payload) uint64 {
	a := addr.As16()
	return k.sum(&[5]uint64{
		binary.LittleEndian.Uint64(a[:8]),
		binary.LittleEndian.Uint64(a[8:]),
		p.token,
		uint64(p.sent),
		uint64(p.no),
	})
}

// sum is SipHash-2-4 (Aumasson and Bernstein, 2012) of forty bytes.
func (k cookieKey) sum(m *[5]uint64) uint64 {
	v := sipState{
		k.k0 ^ 0x736f6d6570736575,
		k.k1 ^ 0x646f72616e646f6d,
		k.k0 ^ 0x6c7967656e657261,
		k.k1 ^ 0x7465646279746573,
	}
	for _, w := range m {
		v.absorb(w)
	}
	v.absorb(uint64(len(m)*8) << 56)
	v.v2 ^= 0xff
	for range 4 {
		v.round()
	}
	return v.v0 ^ v.v1 ^ v.v2 ^ v.v3
}

type sipState struct {
	v0, v1, v2, v3 uint64
}

func (v *sipState) absorb(w uint64) {
	v.v3 ^= w
	v.round()
	v.round()
	v.v0 ^= w
}

func (v *sipState) round() {
	v.v0 += v.v1
	v.v1 = bits.RotateLeft64(v.v1, 13) ^ v.v0
	v.v0 = bits.RotateLeft64(v.v0, 32)
	v.v2 += v.v3
	v.v3 = bits.RotateLeft64(v.v3, 16) ^ v.v2
	v.v0 += v.v3
	v.v3 = bits.RotateLeft64(v.v3, 21) ^ v.v0
	v.v2 += v.v1
	v.v1 = bits.RotateLeft64(v.v1, 17) ^ v.v2
	v.v2 = bits.RotateLeft64(v.v2, 32)
}
