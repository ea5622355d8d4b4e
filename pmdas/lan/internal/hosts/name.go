// Package hosts keeps the list of hosts to probe: their names, who asked for them, and
// their addresses. It resolves names while probing goes on, resolves them again when they
// expire, and decides who may add a host by looking it up.
//
// It knows no PCP numbers: instance ids come from its caller, refusals are errors.
package hosts

import (
	"errors"
	"fmt"
	"net/netip"
	"strings"
)

// MaxName is the longest name of a host in bytes (RFC 1035 3.1).
const MaxName = 255

// CheckName says what is wrong with the name of a host. It returns nil for a host name
// (letters, digits, hyphens and underscores, in labels of up to 63), an IPv4 address, or an
// IPv6 address with or without a zone. A name that only looks like an IPv4 address ("10.1",
// "0x7f.1") is refused, because resolvers differ about it.
func CheckName(name string) error {
	switch {
	case name == "":
		return errors.New("the name is empty")
	case len(name) > MaxName:
		return fmt.Errorf("the name has %d bytes; at most %d are allowed", len(name), MaxName)
	case strings.Contains(name, ":"):
		return checkIPv6(name)
	}
	if _, err := netip.ParseAddr(name); err == nil {
		return nil
	}
	return checkLabels(name)
}

func checkIPv6(name string) error {
	addr, err := netip.ParseAddr(name)
	if err != nil {
		return errors.New("not an IPv6 address")
	}
	for _, c := range []byte(addr.Zone()) {
		if !isLetterOrDigit(c) && !strings.ContainsRune("._-", rune(c)) {
			return fmt.Errorf("the zone holds %q; letters, digits, hyphens, underscores and dots are allowed", c)
		}
	}
	return nil
}

func checkLabels(name string) error {
	labels := strings.Split(strings.TrimSuffix(name, "."), ".")
	for _, label := range labels {
		if err := checkLabel(label); err != nil {
			return err
		}
	}
	last := labels[len(labels)-1]
	if isNumber(last) {
		return errors.New("neither an IPv4 address nor a host name")
	}
	return nil
}

func checkLabel(label string) error {
	switch {
	case label == "":
		return errors.New("the host name has an empty label")
	case len(label) > 63:
		return fmt.Errorf("a label of the host name has %d bytes; at most 63 are allowed", len(label))
	case label[0] == '-' || label[len(label)-1] == '-':
		return errors.New("a label of the host name begins or ends with a hyphen")
	}
	for _, c := range []byte(label) {
		if !isLetterOrDigit(c) && c != '-' && c != '_' {
			return fmt.Errorf("the host name holds %q; letters, digits, hyphens and underscores are allowed", c)
		}
	}
	return nil
}

// isNumber says whether a resolver may take label for part of an address.
func isNumber(label string) bool {
	if len(label) > 1 && (label[:2] == "0x" || label[:2] == "0X") {
		return strings.Trim(label[2:], "0123456789abcdefABCDEF") == ""
	}
	return strings.Trim(label, "0123456789") == ""
}

func isLetterOrDigit(c byte) bool {
	return '0' <= c && c <= '9' || 'a' <= c && c <= 'z' || 'A' <= c && c <= 'Z'
}

// Family says which addresses are probed.
type Family uint8

// The families.
const (
	AnyFamily Family = iota // in the order in which the resolver prefers them
	IPv4
	IPv6
)

var familyNames = [...]string{"any", "ipv4", "ipv6"}

func (f Family) String() string {
	if int(f) < len(familyNames) {
		return familyNames[f]
	}
	return "unknown"
}

// network is the family in the words of net.Resolver.
func (f Family) network() string { return [...]string{"ip", "ip4", "ip6"}[f] }

// has says whether an address that has been unmapped is of the family.
func (f Family) has(a netip.Addr) bool {
	return f == AnyFamily || a.Is4() == (f == IPv4)
}
