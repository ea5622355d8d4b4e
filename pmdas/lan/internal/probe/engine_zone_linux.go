package probe

import (
	"net"
	"net/netip"
	"strconv"

	"golang.org/x/sys/unix"
)

// zones keeps the numbers of the interfaces that link-local addresses name, because
// asking for one takes several system calls.
type zones struct {
	byName map[string]uint32
	byNo   map[uint32]string
}

// index returns the interface of a link-local address, and 0 for any other.
func (z *zones) index(addr netip.Addr) (uint32, error) {
	name := addr.Zone()
	if name == "" {
		return 0, nil
	}
	if n, ok := z.byName[name]; ok {
		return n, nil
	}
	n, err := interfaceIndex(name)
	if err != nil {
		return 0, unix.ENODEV
	}
	if z.byName == nil {
		z.byName, z.byNo = map[string]uint32{}, map[uint32]string{}
	}
	z.byName[name], z.byNo[n] = n, name
	return n, nil
}

func interfaceIndex(name string) (uint32, error) {
	if n, err := strconv.ParseUint(name, 10, 32); err == nil {
		return uint32(n), nil
	}
	i, err := net.InterfaceByName(name)
	if err != nil {
		return 0, err
	}
	return uint32(i.Index), nil
}

// forget makes the next index ask again: an interface that could not be sent to
// may be gone and another have its name.
func (z *zones) forget(n uint32) {
	if name, ok := z.byNo[n]; ok {
		delete(z.byName, name)
		delete(z.byNo, n)
	}
}

// zoned is addr with the zone that the user called interface n by.
func (z *zones) zoned(addr netip.Addr, n uint32) netip.Addr {
	if name, ok := z.byNo[n]; ok && addr.IsLinkLocalUnicast() && addr.Is6() {
		return addr.WithZone(name)
	}
	return addr
}
