// Package conf reads the configuration file of the agent rtlan; see package keyword for
// its form. The keywords interval, maxrate and weight are those that the SpmiResp daemon
// of AIX had.
package conf

import (
	"net/netip"
	"time"

	"github.com/pcp-rtime/rtime/pmdas/internal/kit"
	"github.com/pcp-rtime/rtime/pmdas/lan/internal/hosts"
)

// Engine says how echo requests are sent.
type Engine string

// The engines.
const (
	EngineAuto    Engine = "auto" // linux where it works, else pro-bing
	EngineLinux   Engine = "linux"
	EngineProBing Engine = "pro-bing"
)

// Config is what the configuration file can say. Times have a resolution of a
// nanosecond; the file gives them in seconds.
type Config struct {
	Interval time.Duration // between two requests to a host
	MaxRate  float64       // requests per second over all hosts
	Weight   float64       // percent of the previous average
	Idle     time.Duration // probing pauses when nobody has asked for this long; 0 means never
	Timeout  time.Duration // after which a request counts as lost
	Window   time.Duration // of the sliding statistics
	Resolve  time.Duration // a name is looked up again after this
	Family   hosts.Family
	Engine   Engine // a change needs a restart
	Hosts    []string
	Create   hosts.Users    // who may create hosts by look-up
	Store    hosts.Users    // who may store into the control metrics
	Allow    []netip.Prefix // for hosts on demand
	Deny     []netip.Prefix
	MaxHosts int           // on demand at most
	Expire   time.Duration // a host on demand is removed when nobody has asked for it this long; 0 means never
}

// Defaults returns what holds without a configuration file. Users that this machine
// does not have are left out.
func Defaults() Config {
	admins := hosts.Users{UIDs: kit.Administrators()}
	return Config{
		Interval: 10 * time.Second,
		MaxRate:  10,
		Weight:   75,
		Idle:     300 * time.Second,
		Timeout:  3 * time.Second,
		Window:   60 * time.Second,
		Resolve:  300 * time.Second,
		Engine:   EngineAuto,
		Create:   admins,
		Store:    admins,
		MaxHosts: 100,
		Expire:   time.Hour,
	}
}

// Policy returns what package hosts needs of the configuration.
func (c Config) Policy() hosts.Policy {
	return hosts.Policy{
		Create: c.Create, Allow: c.Allow, Deny: c.Deny,
		MaxHosts: c.MaxHosts, Expire: c.Expire,
	}
}
