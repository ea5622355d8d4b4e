package agent

import (
	"errors"
	"fmt"
	"time"

	"github.com/pcp-rtime/rtime/pcp"
	"github.com/pcp-rtime/rtime/pmda"
	"github.com/pcp-rtime/rtime/pmdas/internal/kit"
	"github.com/pcp-rtime/rtime/pmdas/lan/internal/hosts"
	"github.com/pcp-rtime/rtime/pmdas/lan/internal/probe"
)

const mayStore = "The keyword store of the configuration says who may store; by default root and the\n" +
	"user that PCP runs as. What is stored lasts until the agent ends or reads a\n" +
	"configuration that says otherwise."

// settings are the numbers that say how to probe.
func settings() []kit.Setting[probe.Settings] {
	duration := func(s kit.Setting[probe.Settings], of func(*probe.Settings) *time.Duration) kit.Setting[probe.Settings] {
		s.Units = pcp.Seconds
		s.Get = func(p *probe.Settings) float64 { return of(p).Seconds() }
		s.Set = func(p *probe.Settings, v float64) { *of(p) = kit.Seconds(v) }
		return s
	}
	return []kit.Setting[probe.Settings]{
		duration(kit.Setting[probe.Settings]{Item: 0, Name: "interval", Least: 0.1, Most: 86400,
			OneLine: "time between two echo requests to the same host",
			Help: "If there are more hosts than maxrate lets through in that time, a cycle takes\n" +
				"longer: see rtime.lan.agent.cycle."}, func(p *probe.Settings) *time.Duration { return &p.Interval }),
		{
			Item: 1, Name: "maxrate", Units: pcp.PerSecond, Least: 0.001, Most: 100000,
			Get:     func(p *probe.Settings) float64 { return p.MaxRate },
			Set:     func(p *probe.Settings, v float64) { p.MaxRate = v },
			OneLine: "most echo requests per second, over all hosts",
		}, {
			Item: 2, Name: "weight", Units: percent, Least: 0, Most: 100,
			Get:     func(p *probe.Settings) float64 { return p.Weight },
			Set:     func(p *probe.Settings, v float64) { p.Weight = v },
			OneLine: "percent of its previous value that rtime.lan.respavg keeps with each reply",
		},
		duration(kit.Setting[probe.Settings]{Item: 3, Name: "window", Least: 1, Most: 3600,
			OneLine: "length of the sliding window of rtime.lan.window"},
			func(p *probe.Settings) *time.Duration { return &p.Window }),
	}
}

// controlMetrics change the agent while it runs.
func (a *Agent) controlMetrics() []pmda.Metric {
	rows := kit.Control[probe.Settings]{
		Prefix: "rtime.lan.control.", Cluster: clusterControl, Who: mayStore, May: a.mayStore,
		Current: func() probe.Settings { return a.prober.Settings() },
		Change:  func(s probe.Settings) { a.prober.Update(s) },
		Logf:    func(format string, args ...any) { a.Log.Printf(format, args...) },
	}.Metrics(settings()...)
	return append(rows, a.nameMetric(4, "add", "name or address of a host to add",
		"Storing a name adds a host, as the keyword host of the configuration does. The\n"+
			"value is the name last stored.", a.addStored),
		a.nameMetric(5, "remove", "name of a host to remove",
			"Storing a name removes the host, however it came to be; one of the configuration\n"+
				"comes back when the configuration is read again. The value is the name last\n"+
				"stored.", a.removeStored))
}

// nameMetric is a metric into which names of hosts are stored.
func (a *Agent) nameMetric(item int, name, oneline, help string, do func(string) error) pmda.Metric {
	last := ""
	return pmda.Metric{Name: "rtime.lan.control." + name, Cluster: clusterControl, Item: item,
		Sem: pcp.SemDiscrete, OneLine: oneline, Help: help + "\n" + mayStore,
		Get: pmda.Value(func() (string, error) { return last, nil }),
		Store: func(s *pmda.Store) error {
			if err := a.mayStore(s); err != nil {
				return err
			}
			if err := do(s.Value.String()); err != nil {
				return err
			}
			last = s.Value.String()
			return nil
		}}
}

// mayStore refuses clients that the configuration does not let store.
func (a *Agent) mayStore(s *pmda.Store) error {
	if w := who(s.Client); !a.conf.Store.Has(w) {
		return fmt.Errorf("%w: rule store: %v may not store into %s", pcp.ErrPermission, w, s.Name)
	}
	return nil
}

func who(c *pmda.Client) hosts.Who {
	return hosts.Who{UID: c.UID, Known: c.Known(), Local: c.Known()}
}

// lookup is called when a client asks for a host that is not there.
func (a *Agent) lookup(c *pmda.Client, name string) error {
	d := a.registry.Admit(who(c), name)
	if d.Err != nil {
		a.refused++
		return fmt.Errorf("%w: %w", codeOf(d.Err), d.Err)
	}
	if err := a.add(name, hosts.OnDemand); err != nil {
		return err
	}
	a.Log.Printf("host %q (%v) added for %v, who looked it up", name, d.Addr, who(c))
	return nil
}

// codeOf is what a client gets to see of a refusal; the log has the rest.
func codeOf(err error) pcp.Error {
	switch {
	case errors.Is(err, hosts.ErrPending):
		return pcp.ErrAgain
	case errors.Is(err, hosts.ErrName), errors.Is(err, hosts.ErrUnresolved):
		return pcp.ErrInst
	}
	return pcp.ErrPermission
}

func (a *Agent) addStored(name string) error {
	if err := hosts.CheckHost(name); err != nil {
		return fmt.Errorf("%w: host %q: %w", pcp.ErrBadStore, name, err)
	}
	if err := a.add(name, hosts.Stored); err != nil {
		return err
	}
	a.Log.Printf("host %q added by pmstore", name)
	return nil
}

func (a *Agent) removeStored(name string) error {
	h, ok := a.hosts.Get(name)
	if !ok {
		return fmt.Errorf("%w: there is no host %q", pcp.ErrInst, name)
	}
	a.drop(h)
	a.Log.Printf("host %q removed by pmstore", name)
	return nil
}
