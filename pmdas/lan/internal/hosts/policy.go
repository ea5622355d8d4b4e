package hosts

import (
	"errors"
	"fmt"
	"net/netip"
	"slices"
	"time"
)

// Who is the client that asks for something, as far as pmcd tells.
type Who struct {
	UID   int  // meaningless unless Known
	Known bool // pmcd has passed on the user's id
	Local bool // the client is on this machine's socket
}

func (w Who) String() string {
	if !w.Known {
		return "unknown user"
	}
	return fmt.Sprintf("uid %d", w.UID)
}

// Users is a set of users. The zero value holds none.
type Users struct {
	All  bool  // all local users, whoever they are
	UIDs []int // these, if known by their id
}

// Has says whether w belongs to the set.
func (u Users) Has(w Who) bool {
	return u.All && w.Local || w.Known && slices.Contains(u.UIDs, w.UID)
}

// Policy limits what clients can cause by looking up the names of hosts.
type Policy struct {
	Create   Users          // who may add hosts this way
	Allow    []netip.Prefix // if not empty, only hosts with addresses in these are added
	Deny     []netip.Prefix // no hosts with addresses in these are added, whatever Allow says
	MaxHosts int            // the most such hosts at one time
	Expire   time.Duration  // such hosts are removed when nobody has asked for this long; 0 means never
}

// Rules that refuse a host. A Refusal matches one of them with errors.Is.
var (
	ErrName       = errors.New("not a valid host name or address")
	ErrUser       = errors.New("rule create: the user may not add hosts")
	ErrLimit      = errors.New("rule maxhosts: too many hosts by look-up")
	ErrDenied     = errors.New("rule allow/deny: the address may not be probed")
	ErrUnresolved = errors.New("the name has no usable address")
	ErrPending    = errors.New("the name server has not answered yet; ask again")
)

// Refusal says which host was refused to whom, by which rule, and why.
type Refusal struct {
	Name  string
	Who   Who
	Rule  error // wraps one of ErrName to ErrPending
	Cause error // nil if there is nothing to add to the rule
}

func (r *Refusal) Error() string {
	s := fmt.Sprintf("host %q refused to %v: %v", clip(r.Name), r.Who, r.Rule)
	if r.Cause != nil {
		s += ": " + r.Cause.Error()
	}
	return s
}

// Unwrap lets errors.Is see the rule and the cause.
func (r *Refusal) Unwrap() []error { return []error{r.Rule, r.Cause} }

// clip keeps a hostile name from filling a log.
func clip(name string) string {
	if len(name) > MaxName {
		return name[:MaxName] + "..."
	}
	return name
}

// CheckHost checks a host that is named by somebody who may name any. It reports what is
// wrong with the name, or that the name is an address that nobody may probe.
func CheckHost(name string) error {
	if err := CheckName(name); err != nil {
		return err
	}
	addr, err := netip.ParseAddr(name)
	if err != nil {
		return nil // its address is known later
	}
	return new(Policy).check(addr.Unmap(), Stored)
}

// check says why addr may not be probed for a host of the given origin. It returns nil if
// it may. Addresses that stand for many hosts or for none are always refused, because
// answers, if any, come from other addresses. Broadcast addresses of subnets are not known
// here; the kernel refuses to send to them.
func (p *Policy) check(addr netip.Addr, origin Origin) error {
	switch {
	case addr.IsMulticast():
		return fmt.Errorf("%v is a multicast address", addr)
	case addr.IsUnspecified():
		return fmt.Errorf("%v is the unspecified address", addr)
	case addr == netip.AddrFrom4([4]byte{255, 255, 255, 255}):
		return fmt.Errorf("%v is the broadcast address", addr)
	case origin != OnDemand:
		return nil
	}
	plain := addr.WithZone("")
	for _, prefix := range p.Deny {
		if prefix.Contains(plain) {
			return fmt.Errorf("%v is in deny %v", addr, prefix)
		}
	}
	if len(p.Allow) == 0 {
		return nil
	}
	for _, prefix := range p.Allow {
		if prefix.Contains(plain) {
			return nil
		}
	}
	return fmt.Errorf("%v is in none of the ranges of allow", addr)
}
