// Package agent is the table of the agent rtlan: its metrics, and where their values come
// from. Package probe sends the requests, package hosts knows the names, and the agent
// hands each what it needs from the other.
package agent

import (
	"errors"
	"flag"
	"fmt"
	"io/fs"
	"net"
	"net/netip"
	"sync/atomic"
	"time"

	"github.com/pcp-rtime/rtime/internal/version"
	"github.com/pcp-rtime/rtime/pmda"
	"github.com/pcp-rtime/rtime/pmdas/internal/kit"
	"github.com/pcp-rtime/rtime/pmdas/lan/internal/conf"
	"github.com/pcp-rtime/rtime/pmdas/lan/internal/hosts"
	"github.com/pcp-rtime/rtime/pmdas/lan/internal/probe"
)

// Name and Domain identify the agent in pmcd.conf.
const (
	Name   = "rtlan"
	Domain = 470
)

// Agent is the agent rtlan. All fields belong to the serving goroutine, except those that
// say otherwise.
type Agent struct {
	kit.Base
	engineFlag string
	resolver   hosts.Resolver

	conf       conf.Config
	engine     probe.Engine
	engineName string
	prober     *probe.Prober
	registry   *hosts.Registry
	hosts      *pmda.InDom[*host]
	fetches    uint64
	refused    uint64
	paused     bool // whether probing was paused until the present fetch

	moved   atomic.Uint64 // how often hosts got an address; see addresses
	told    uint64        // the changes of moved that clients know of
	seconds int           // since the start
	failed  uint64        // requests that could not be sent and are in the log
}

// New declares the agent.
func New() *pmda.Agent { return newAgent().declare() }

func newAgent() *Agent {
	a := &Agent{conf: conf.Defaults(), resolver: net.DefaultResolver}
	a.Base = kit.Base{Name: Name, Load: a.load, Second: a.second}
	a.Numbers = a.numbers()
	a.hosts = &pmda.InDom[*host]{
		Serial: 0, Name: "hosts", Keep: true,
		OneLine: "hosts whose response time is measured",
		Help: "A host is there because the configuration names it, because its name was stored\n" +
			"into rtime.lan.control.add, or because a client looked it up by name, as\n" +
			"pmval -i NAME does. The instance has the name as it was given; what it stands for\n" +
			"is in rtime.lan.address.",
		InstanceLabels: (*host).labels,
		Lookup:         a.lookup,
	}
	return a
}

func (a *Agent) declare() *pmda.Agent {
	return &pmda.Agent{
		Name: Name, Domain: Domain, Version: version.String(), Metrics: a.metrics(),
		Flags: a.flags, Setup: a.setup, Start: a.start, Refresh: a.refresh, Reload: a.reload, Stop: a.close,
		Try: a.try, TryColumns: tryColumns,
	}
}

func (a *Agent) flags(f *flag.FlagSet) {
	a.Flags(f)
	f.StringVar(&a.engineFlag, "engine", "", "engine in place of the configured one: auto, linux or pro-bing")
}

// capNetRaw is CAP_NET_RAW of capabilities(7).
const capNetRaw = 13

// setup reads the configuration and opens the sockets, which needs privileges.
func (a *Agent) setup(o *pmda.Options) error {
	if o.Try && !o.Given["config"] {
		a.ConfigFile = "" // the hosts to try are named on the command line
	}
	if err := a.Setup(o); err != nil {
		return err
	}
	name := string(a.conf.Engine)
	if a.engineFlag != "" {
		name = a.engineFlag
	}
	var err error
	a.engine, err = probe.Open(name, probe.Options{Report: func(e error) { a.Log.Print(e) }})
	if errors.Is(err, fs.ErrPermission) {
		return fmt.Errorf("%w: probing needs root, the capability CAP_NET_RAW, or a group in net.ipv4.ping_group_range", err)
	}
	if err != nil {
		return err
	}
	a.engineName = probe.NameOf(a.engine)
	if a.engineName == probe.EngineProbing {
		o.KeepCapability(capNetRaw)
	}
	return nil
}

// load reads a configuration file.
func (a *Agent) load(path string) (err error) {
	a.conf, err = conf.Load(path, a.conf)
	return err
}

func (a *Agent) probing() probe.Settings {
	return probe.Settings{Interval: a.conf.Interval, MaxRate: a.conf.MaxRate, Weight: a.conf.Weight,
		Timeout: a.conf.Timeout, Window: a.conf.Window, Idle: a.conf.Idle}
}

func (a *Agent) naming() hosts.Settings {
	return hosts.Settings{Policy: a.conf.Policy(), Family: a.conf.Family, Refresh: a.conf.Resolve}
}

// start begins to probe.
func (a *Agent) start(s *pmda.Server) error {
	a.prober = probe.New(a.engine, a.probing())
	a.registry = hosts.New(a.resolver, &addresses{a.prober, &a.moved}, a.naming())
	for _, name := range a.conf.Hosts {
		if err := a.add(name, hosts.Configured); err != nil {
			a.Log.Printf("%v", err)
		}
	}
	if err := a.Start(s); err != nil {
		return err
	}
	a.Go(a.prober.Run)
	a.Go(a.registry.Run)
	if !a.Trying {
		a.Log.Printf("probing %d hosts with the engine %s", a.hosts.Len(), a.engineName)
	}
	return nil
}

// close stops probing.
func (a *Agent) close() {
	a.Stop()
	a.engine.Close()
}

// refresh begins a new snapshot: see host.now.
func (a *Agent) refresh(r *pmda.Request) {
	a.fetches++
	if r.Fetch {
		a.paused = a.prober.Stats().Paused
		a.prober.Wake()
	}
}

// add adds a host, or changes the origin of one that is there.
func (a *Agent) add(name string, origin hosts.Origin) error {
	if err := hosts.CheckName(name); err != nil {
		return err
	}
	h, there := a.hosts.Get(name)
	if !there {
		h = &host{agent: a, name: name}
		id, err := a.hosts.Add(name, h)
		if err != nil {
			return err
		}
		h.id = uint32(id)
	}
	if err := a.registry.Add(h.id, name, origin); err != nil {
		if !there {
			a.hosts.Remove(name)
		}
		return err
	}
	return nil
}

// drop removes a host.
func (a *Agent) drop(h *host) {
	a.registry.Remove(h.id)
	a.hosts.Remove(h.name)
}

// reload reads the configuration again. A bad file changes nothing.
func (a *Agent) reload() error {
	engine := a.conf.Engine
	now := a.prober.Settings() // with what was stored
	a.conf.Interval, a.conf.MaxRate, a.conf.Weight, a.conf.Window = now.Interval, now.MaxRate, now.Weight, now.Window
	if err := a.Reload(); err != nil {
		return err
	}
	if a.conf.Engine != engine {
		a.Log.Printf("the engine changes to %s when the agent is started again", a.conf.Engine)
	}
	a.prober.Update(a.probing())
	a.registry.Update(a.naming())
	listed := make(map[string]bool, len(a.conf.Hosts))
	for _, name := range a.conf.Hosts {
		listed[name] = true
		if err := a.add(name, hosts.Configured); err != nil {
			a.Log.Printf("%v", err)
		}
	}
	for _, h := range a.registry.Hosts() {
		if h.Origin == hosts.Configured && !listed[h.Name] {
			a.registry.Remove(h.ID)
			a.hosts.Remove(h.Name)
		}
	}
	a.Log.Printf("configuration read: %d hosts, interval %v, maxrate %v", a.hosts.Len(), a.conf.Interval, a.conf.MaxRate)
	return nil
}

// addresses is the Prober as the Registry sees it. It counts changes of addresses,
// which are labels of the hosts.
type addresses struct {
	*probe.Prober
	moved *atomic.Uint64
}

func (p *addresses) SetAddr(id uint32, addr netip.Addr) bool {
	p.moved.Add(1)
	return p.Prober.SetAddr(id, addr)
}

// second does what is not urgent: it removes hosts that nobody asks for, tells clients of
// changed labels, and logs why requests could not be sent.
func (a *Agent) second() {
	if a.seconds%60 == 0 {
		a.logSendErrors()
	}
	if m := a.moved.Load(); m != a.told {
		a.told, a.Relabel = m, true
	}
	if a.seconds%10 == 0 && a.registry.Stats().OnDemand > 0 {
		a.expire()
	}
	a.seconds++
}

// logSendErrors tells, once a minute, why requests could not be sent.
func (a *Agent) logSendErrors() {
	s := a.prober.Stats()
	if s.SendErrors == a.failed {
		return
	}
	h, _ := a.registry.Get(s.LastFailed)
	a.Log.Printf("%d requests could not be sent; the last one to %q: %v", s.SendErrors-a.failed, h.Name, s.LastError)
	a.failed = s.SendErrors
}

// expire removes hosts on demand that nobody has asked for in a long time.
func (a *Agent) expire() {
	for _, h := range a.registry.Hosts() {
		if used := a.hosts.Used(h.Name); h.Origin == hosts.OnDemand && used.After(h.LastUse) {
			a.registry.Touch(used, h.ID)
		}
	}
	for _, h := range a.registry.Expire(time.Now()) {
		a.hosts.Remove(h.Name)
		a.Log.Printf("host %q removed: nobody has asked for it for %v", h.Name, a.conf.Expire)
	}
}

// tryColumns is what pmdartlan --try prints of each host.
var tryColumns = []pmda.Column{
	{Metric: "rtime.lan.address", Head: "ADDRESS"},
	{Metric: "rtime.lan.up", Head: "UP"},
	{Metric: "rtime.lan.rtt", Head: "RTT MS"},
	{Metric: "rtime.lan.respavg", Head: "AVG"},
	{Metric: "rtime.lan.window.min", Head: "MIN"},
	{Metric: "rtime.lan.window.median", Head: "MEDIAN"},
	{Metric: "rtime.lan.window.p95", Head: "P95"},
	{Metric: "rtime.lan.window.max", Head: "MAX"},
	{Metric: "rtime.lan.window.jitter", Head: "JITTER"},
	{Metric: "rtime.lan.window.loss", Head: "LOSS %"},
	{Metric: "rtime.lan.requests", Head: "SENT"},
	{Metric: "rtime.lan.responses", Head: "REPLIES"},
	{Metric: "rtime.lan.timeouts", Head: "TIMEOUTS"},
	{Metric: "rtime.lan.errors.total", Head: "ERRORS"},
}

// try probes the hosts named on the command line, once a second each.
func (a *Agent) try(_ *pmda.Server, names []string) error {
	if len(names) == 0 && a.hosts.Len() == 0 {
		return errors.New("--try: name at least one host")
	}
	s := a.prober.Settings()
	s.Interval, s.MaxRate, s.Idle = time.Second, max(s.MaxRate, float64(len(names))), 0
	a.prober.Update(s)
	for _, name := range names {
		if err := a.add(name, hosts.Configured); err != nil {
			return err
		}
	}
	return nil
}
