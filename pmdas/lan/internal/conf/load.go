package conf

import (
	"fmt"
	"net/netip"
	"os/user"
	"slices"
	"strconv"

	"github.com/pcp-rtime/rtime/pmdas/internal/kit"
	"github.com/pcp-rtime/rtime/pmdas/internal/kit/keyword"
	"github.com/pcp-rtime/rtime/pmdas/lan/internal/hosts"
)

const (
	maxSeconds  = 365 * 86400
	maxOnDemand = 100000
	maxHosts    = 100000 // in the file and the files that it names
)

// Load reads the configuration file at path. Numbers and words that it does not give are as
// in current; lists that it does not give are as in Defaults.
func Load(path string, current Config) (Config, error) {
	c, d := current, Defaults()
	c.Hosts, c.Create, c.Store, c.Allow, c.Deny = nil, hosts.Users{}, hosts.Users{}, nil, nil
	given, err := keyword.Load(path, map[string]keyword.Keyword{
		"interval": keyword.Seconds(&c.Interval, 0.1, 86400),
		"maxrate":  keyword.Number(&c.MaxRate, 0.001, 100000),
		"weight":   keyword.Number(&c.Weight, 0, 100),
		"idle":     keyword.Seconds(&c.Idle, 0, maxSeconds),
		"timeout":  keyword.Seconds(&c.Timeout, 0.01, 60),
		"window":   keyword.Seconds(&c.Window, 1, 3600),
		"resolve":  keyword.Seconds(&c.Resolve, 1, maxSeconds),
		"expire":   keyword.Seconds(&c.Expire, 0, maxSeconds),
		"maxhosts": keyword.Whole(&c.MaxHosts, 0, maxOnDemand),
		"family": keyword.Choice(&c.Family, []string{"any", "ipv4", "ipv6"},
			[]hosts.Family{hosts.AnyFamily, hosts.IPv4, hosts.IPv6}),
		"engine": keyword.Choice(&c.Engine, []string{"auto", "linux", "pro-bing"},
			[]Engine{EngineAuto, EngineLinux, EngineProBing}),
		"host":   keyword.List(addHost(&c.Hosts)),
		"hosts":  keyword.Files("host"),
		"create": keyword.List(func(v string) error { return addUser(&c.Create, v) }, "none", "all"),
		"store":  keyword.List(func(v string) error { return addStorer(&c.Store, v) }, "none"),
		"allow":  keyword.List(func(v string) error { return addPrefix(&c.Allow, v, "all") }, "all"),
		"deny":   keyword.List(func(v string) error { return addPrefix(&c.Deny, v, "none") }, "none"),
	})
	if err != nil {
		return current, err
	}
	if !given["create"] {
		c.Create = d.Create
	}
	if !given["store"] {
		c.Store = d.Store
	}
	return c, nil
}

// addHost adds a host, once.
func addHost(list *[]string) func(string) error {
	there := make(map[string]bool)
	return func(v string) error {
		if there[v] {
			return nil
		}
		if err := hosts.CheckHost(v); err != nil {
			return fmt.Errorf("%q: %w", v, err)
		}
		if len(there) >= maxHosts {
			return fmt.Errorf("there are more than %d hosts", maxHosts)
		}
		there[v] = true
		*list = append(*list, v)
		return nil
	}
}

// addUser adds a user by name or number, "all" (local users) or "none".
func addUser(u *hosts.Users, v string) error {
	switch v {
	case "all":
		u.All = true
		return nil
	case "none":
		return nil
	}
	uid, err := strconv.ParseUint(v, 10, 32)
	if err != nil {
		known, lookupErr := user.Lookup(v)
		if lookupErr != nil {
			return fmt.Errorf("no user %q on this machine", v)
		}
		if uid, err = strconv.ParseUint(known.Uid, 10, 32); err != nil {
			return fmt.Errorf("user %q has no numeric id", v)
		}
	}
	if !slices.Contains(u.UIDs, int(uid)) {
		u.UIDs = append(u.UIDs, int(uid))
	}
	return nil
}

// addStorer adds a user who may store. The list can only be shorter than the default: what
// the control metrics change concerns all users of the agent.
func addStorer(to *hosts.Users, v string) error {
	var u hosts.Users
	if err := addUser(&u, v); err != nil {
		return err
	}
	for _, uid := range u.UIDs {
		if !slices.Contains(kit.Administrators(), uid) {
			return fmt.Errorf("%q: only %s can be allowed to store", v, kit.AdministratorNames())
		}
	}
	if u.All {
		return fmt.Errorf(`only %s can be allowed to store, not "all"`, kit.AdministratorNames())
	}
	return addUser(to, v)
}

// addPrefix adds a range of addresses or a single one. The word empty stands for
// the empty list.
func addPrefix(list *[]netip.Prefix, v, empty string) error {
	if v == empty {
		return nil
	}
	p, err := netip.ParsePrefix(v)
	if addr, addrErr := netip.ParseAddr(v); addrErr == nil && addr.Zone() == "" {
		addr = addr.Unmap()
		p, err = netip.PrefixFrom(addr, addr.BitLen()), nil
	}
	switch {
	case err != nil:
		return fmt.Errorf("%q is neither an address nor a range like 10.0.0.0/8 or fd00::/8", v)
	case p.Addr().Is4In6():
		return fmt.Errorf("%q: write an IPv4 range like 10.0.0.0/8", v)
	case p != p.Masked():
		return fmt.Errorf("%q has bits set beyond its length; write %v", v, p.Masked())
	}
	*list = append(*list, p)
	return nil
}
