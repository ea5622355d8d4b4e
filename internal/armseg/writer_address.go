package armseg

import (
	"encoding/binary"
	"net"
	"net/netip"
)

// Formats of addresses in correlators, as the ARM 2.0 guide's appendix numbers them.
const (
	AddrIPv4Port = 2
	AddrIPv6Port = 4
)

const pmcdPort = 44321

// hostAddress is where the agent of this host is asked: the address of the first
// interface that is up and no loopback, IPv4 if it has one, and pmcd's port.
func hostAddress() (format uint16, address []byte) {
	best := netip.AddrFrom4([4]byte{127, 0, 0, 1})
	interfaces, _ := net.Interfaces()
	for _, i := range interfaces {
		if i.Flags&net.FlagUp == 0 || i.Flags&net.FlagLoopback != 0 {
			continue
		}
		if a, ok := firstAddress(i); ok {
			best = a
			break
		}
	}
	format = AddrIPv6Port
	if best.Is4() {
		format = AddrIPv4Port
	}
	return format, binary.BigEndian.AppendUint16(best.AsSlice(), pmcdPort)
}

func firstAddress(i net.Interface) (first netip.Addr, ok bool) {
	addrs, _ := i.Addrs()
	for _, a := range addrs {
		p, err := netip.ParsePrefix(a.String())
		if err != nil || p.Addr().IsLinkLocalUnicast() {
			continue
		}
		if p.Addr().Is4() {
			return p.Addr(), true
		}
		if !ok {
			first, ok = p.Addr(), true
		}
	}
	return first, ok
}
