package probe

import (
	"net/netip"
	"testing"
)

func TestSipHash(t *testing.T) {
	// Key 00 01 .. 0f and message 00 01 .. 27: entry 40 of the 64-bit test vectors
	// of the reference implementation.
	k := cookieKey{0x0706050403020100, 0x0f0e0d0c0b0a0908}
	m := [5]uint64{
		0x0706050403020100, 0x0f0e0d0c0b0a0908, 0x1716151413121110,
		0x1f1e1d1c1b1a1918, 0x2726252423222120,
	}
	if got, want := k.sum(&m), uint64(0x0e3ea96b5304a7d0); got != want {
		t.Errorf("sum = %#x, want %#x", got, want)
	}
}

func TestCookieCoversEverything(t *testing.T) {
	e := newEchoer()
	addr, other := netip.MustParseAddr("192.0.2.1"), netip.MustParseAddr("192.0.2.2")
	p := payload{no: 77, sent: 12345, token: 1 << 60}
	b := make([]byte, echoLen)
	e.putEcho(b, addr, &p)

	got, ok := e.parseReply(b, addr)
	if !ok || got != p {
		t.Fatalf("parseReply = %+v, %v, want %+v", got, ok, p)
	}
	if checksum(b) != 0 {
		t.Errorf("checksum over the message is %#x, want 0", checksum(b))
	}
	if _, ok := e.parseReply(b, other); ok {
		t.Error("a reply from another address is taken")
	}
	for i := 4; i < len(b); i++ {
		if i == 6 || i == 7 { // sequence number: the payload has it whole
			continue
		}
		bad := append([]byte(nil), b...)
		bad[i] ^= 0x40
		if _, ok := e.parseReply(bad, addr); ok {
			t.Errorf("a reply with byte %d changed is taken", i)
		}
	}
	for n := range b {
		if _, ok := e.parseReply(b[:n], addr); ok {
			t.Errorf("a reply of %d bytes is taken", n)
		}
	}
}

func TestParseQuote(t *testing.T) {
	e := newEchoer()
	to4, to6 := netip.MustParseAddr("192.0.2.1"), netip.MustParseAddr("2001:db8::1")
	tests := []struct {
		name  string
		to    netip.Addr
		head  []byte
		parse func([]byte) (quote, bool)
	}{
		{"plain", to4, header4(to4, 20), parseQuote4},
		{"with options", to4, header4(to4, 32), parseQuote4},
		{"version 6", to6, header6(to6), parseQuote6},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			echo := make([]byte, echoLen)
			e.putEcho(echo, tt.to, &payload{no: 0x12345})
			msg := append(make([]byte, icmpHeaderLen), tt.head...)
			msg = append(msg, echo[:icmpHeaderLen]...)
			want := quote{to: tt.to, id: e.id, seq: 0x2345}
			if got, ok := tt.parse(msg); !ok || got != want {
				t.Fatalf("got %+v, %v, want %+v", got, ok, want)
			}
			for n := range msg {
				if _, ok := tt.parse(msg[:n]); ok {
					t.Errorf("%d of %d bytes are taken", n, len(msg))
				}
			}
			msg[len(msg)-icmpHeaderLen] ^= 1 // no longer an echo request
			if _, ok := tt.parse(msg); ok {
				t.Error("a quote of something else is taken")
			}
		})
	}
}

// header4 is the header of an IPv4 packet of n bytes to addr.
func header4(addr netip.Addr, n int) []byte {
	b := make([]byte, n)
	b[0] = 0x40 | byte(n/4)
	b[9] = protocolICMP
	copy(b[16:], addr.AsSlice())
	return b
}

func header6(addr netip.Addr) []byte {
	b := make([]byte, ipv6HeaderLen)
	b[0] = 0x60
	b[6] = protocolICMP6
	copy(b[24:], addr.AsSlice())
	return b
}

func TestRing(t *testing.T) {
	r := newRing(3) // rounds up to 4
	for no := uint32(1); no <= 6; no++ {
		r.put(&payload{no: no, sent: int64(no), token: uint64(no), cookie: uint64(no)})
	}
	r.drop(5)
	for no, want := range []bool{0: false, 1: false, 2: false, 3: true, 4: true, 5: false, 6: true, 7: false} {
		if got := r.get(uint32(no)) != nil; got != want {
			t.Errorf("get(%d) = %v, want %v", no, got, want)
		}
	}
	if rec := r.bySeq(4, 6); rec == nil || rec.no != 4 {
		t.Errorf("bySeq(4) = %+v", rec)
	}
	r.put(&payload{no: 0x1fffe, sent: 1})
	if rec := r.bySeq(0xfffe, 0x20001); rec == nil || rec.no != 0x1fffe {
		t.Errorf("bySeq(0xfffe) after the sequence began anew = %+v", rec)
	}
	if rec := r.bySeq(9, 6); rec != nil {
		t.Errorf("bySeq of a request that was not sent = %+v", rec)
	}
}
