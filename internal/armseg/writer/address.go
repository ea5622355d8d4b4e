package writer

import (
	"encoding/binary"
	"net"
	"net/netip"

	"github.com/pcp-rtime/rtime/internal/armseg/layout"
)

const pmcdPort = 44321

// hostAddress returns where others can ask the agent of this host: pmcd's port at the
// first IPv4 address of an interface that is up and no loopback. Without any it takes the
// first such IPv6 address.
func hostAddress() (format uint16, address []byte) {
	var four, six netip.Addr
	interfaces, _ := net.Interfaces()
	for _, i := range interfaces {
		if i.Flags&net.FlagUp == 0 || i.Flags&net.FlagLoopback != 0 {
			continue
		}
		addrs, _ := i.Addrs()
		for _, a := range addrs {
			p, err := netip.ParsePrefix(a.String())
			switch {
			case err != nil || p.Addr().IsLinkLocalUnicast() && p.Addr().Is6():
			case p.Addr().Is4() && !four.IsValid():
				four = p.Addr()
			case p.Addr().Is6() && !six.IsValid():
				six = p.Addr()
			}
		}
	}
	switch {
	case four.IsValid():
		format = layout.AddrIPv4Port
	case six.IsValid():
		format, four = layout.AddrIPv6Port, six
	default:
		format, four = layout.AddrIPv4Port, netip.AddrFrom4([4]byte{127, 0, 0, 1})
	}
	return format, binary.BigEndian.AppendUint16(four.AsSlice(), pmcdPort)
}
