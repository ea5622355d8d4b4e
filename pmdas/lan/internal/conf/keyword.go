package conf

import (
	"errors"
	"fmt"
	"math"
	"net/netip"
	"os/user"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/pcp-rtime/rtime/pmdas/lan/internal/hosts"
)

// keyword says how one keyword of the file is read.
type keyword struct {
	// list keywords may stand on several lines, with several values each; others
	// once, with one value.
	list bool
	// set reads a value into the configuration.
	set func(c *Config, value string) error
	// copy takes the keyword's value over from another configuration.
	copy func(to, from *Config)
}

var keywords = map[string]keyword{
	"interval": seconds(func(c *Config) *time.Duration { return &c.Interval }, 0.1, 86400),
	"maxrate":  number(func(c *Config) *float64 { return &c.MaxRate }, 0.001, 100000),
	"weight":   number(func(c *Config) *float64 { return &c.Weight }, 0, 100),
	"idle":     seconds(func(c *Config) *time.Duration { return &c.Idle }, 0, maxSeconds),
	"timeout":  seconds(func(c *Config) *time.Duration { return &c.Timeout }, 0.01, 60),
	"window":   seconds(func(c *Config) *time.Duration { return &c.Window }, 1, 3600),
	"resolve":  seconds(func(c *Config) *time.Duration { return &c.Resolve }, 1, maxSeconds),
	"expire":   seconds(func(c *Config) *time.Duration { return &c.Expire }, 0, maxSeconds),
	"family": {
		set:  func(c *Config, v string) (err error) { c.Family, err = hosts.ParseFamily(v); return err },
		copy: func(to, from *Config) { to.Family = from.Family },
	},
	"engine": {
		set:  setEngine,
		copy: func(to, from *Config) { to.Engine = from.Engine },
	},
	"host": {
		list: true,
		set:  addHost,
		copy: func(to, from *Config) { to.Hosts = slices.Clone(from.Hosts) },
	},
	"hosts": {list: true}, // the parser opens these files; they add to host
	"create": {
		list: true,
		set:  func(c *Config, v string) error { return addUser(&c.Create, v) },
		copy: func(to, from *Config) { to.Create = from.Create },
	},
	"store": {
		list: true,
		set:  addStorer,
		copy: func(to, from *Config) { to.Store = from.Store },
	},
	"allow": {
		list: true,
		set:  func(c *Config, v string) error { return addPrefix(&c.Allow, v, "all") },
		copy: func(to, from *Config) { to.Allow = slices.Clone(from.Allow) },
	},
	"deny": {
		list: true,
		set:  func(c *Config, v string) error { return addPrefix(&c.Deny, v, "none") },
		copy: func(to, from *Config) { to.Deny = slices.Clone(from.Deny) },
	},
	"maxhosts": {
		set:  setMaxHosts,
		copy: func(to, from *Config) { to.MaxHosts = from.MaxHosts },
	},
}

const (
	maxSeconds  = 365 * 86400
	maxOnDemand = 100000
	maxHosts    = 100000 // in the file and the files it names
)

// seconds is the keyword of a time between low and high seconds.
func seconds(field func(*Config) *time.Duration, low, high float64) keyword {
	return keyword{
		set: func(c *Config, v string) error {
			f, err := parseNumber(v, low, high)
			if err == nil {
				*field(c) = time.Duration(math.Round(f * float64(time.Second)))
			}
			return err
		},
		copy: func(to, from *Config) { *field(to) = *field(from) },
	}
}

func number(field func(*Config) *float64, low, high float64) keyword {
	return keyword{
		set: func(c *Config, v string) error {
			f, err := parseNumber(v, low, high)
			if err == nil {
				*field(c) = f
			}
			return err
		},
		copy: func(to, from *Config) { *field(to) = *field(from) },
	}
}

// parseNumber reads a decimal number. Go's other notations (hexadecimal, infinity,
// underscores) are not taken.
func parseNumber(v string, low, high float64) (float64, error) {
	f, err := strconv.ParseFloat(v, 64)
	if strings.Trim(v, "0123456789.eE+-") != "" || err != nil {
		return 0, fmt.Errorf("%q is not a number", v)
	}
	if !(f >= low && f <= high) {
		return 0, fmt.Errorf("%s is not between %s and %s", v, plain(low), plain(high))
	}
	return f, nil
}

func plain(f float64) string { return strconv.FormatFloat(f, 'f', -1, 64) }

func setEngine(c *Config, v string) error {
	switch e := Engine(v); e {
	case EngineAuto, EngineLinux, EngineProBing:
		c.Engine = e
		return nil
	}
	return fmt.Errorf("%q is not auto, linux or pro-bing", v)
}

func setMaxHosts(c *Config, v string) error {
	n, err := strconv.ParseUint(v, 10, 32)
	if err != nil || n > maxOnDemand {
		return fmt.Errorf("%q is not a whole number between 0 and %d", v, maxOnDemand)
	}
	c.MaxHosts = int(n)
	return nil
}

func addHost(c *Config, v string) error {
	if err := hosts.CheckHost(v); err != nil {
		return fmt.Errorf("%q: %w", v, err)
	}
	if len(c.Hosts) >= maxHosts {
		return fmt.Errorf("more than %d hosts", maxHosts)
	}
	c.Hosts = append(c.Hosts, v)
	return nil
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

// addStorer can only narrow the default: what the control metrics change concerns
// all users of the agent.
func addStorer(c *Config, v string) error {
	var u hosts.Users
	if err := addUser(&u, v); err != nil {
		return err
	}
	for _, uid := range u.UIDs {
		if !slices.Contains(adminUIDs(), uid) {
			return fmt.Errorf("%q: only root and pcp can be allowed to store", v)
		}
	}
	if u.All {
		return errors.New(`only root and pcp can be allowed to store, not "all"`)
	}
	return addUser(&c.Store, v)
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
		return fmt.Errorf("%q: write IPv4 ranges as such", v)
	case p != p.Masked():
		return fmt.Errorf("%q has bits set beyond its length; %v?", v, p.Masked())
	}
	*list = append(*list, p)
	return nil
}
