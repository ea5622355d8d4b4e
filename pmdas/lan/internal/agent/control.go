package agent

import (
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/pcp-rtime/rtime/pcp"
	"github.com/pcp-rtime/rtime/pmda"
	"github.com/pcp-rtime/rtime/pmdas/lan/internal/hosts"
	"github.com/pcp-rtime/rtime/pmdas/lan/internal/probe"
)

const mayStore = "\nWho may store is the keyword store of the configuration; by default root and the\n" +
	"user that PCP runs as. What is stored lasts until the agent ends or reads a\n" +
	"configuration that says otherwise."

// setting is one of the numbers that say how to probe.
type setting struct {
	item          int
	name          string
	units         pcp.Units
	least, most   float64
	get           func(*probe.Settings) float64
	set           func(*probe.Settings, float64)
	oneline, help string
}

// duration makes a setting of a time, which travels in seconds.
func duration(of func(*probe.Settings) *time.Duration) (get func(*probe.Settings) float64, set func(*probe.Settings, float64)) {
	return func(s *probe.Settings) float64 { return of(s).Seconds() },
		func(s *probe.Settings, v float64) { *of(s) = time.Duration(v * float64(time.Second)) }
}

func settings() []setting {
	interval := setting{item: 0, name: "interval", units: pcp.Seconds, least: 0.1, most: 86400,
		oneline: "time between two echo requests to the same host",
		help: "If there are more hosts than maxrate lets through in that time, a cycle takes\n" +
			"longer: see rtime.lan.agent.cycle."}
	interval.get, interval.set = duration(func(s *probe.Settings) *time.Duration { return &s.Interval })
	window := setting{item: 3, name: "window", units: pcp.Seconds, least: 1, most: 3600,
		oneline: "length of the sliding window of rtime.lan.window"}
	window.get, window.set = duration(func(s *probe.Settings) *time.Duration { return &s.Window })
	return []setting{interval, {
		item: 1, name: "maxrate", units: pcp.PerSecond, least: 0.001, most: 100000,
		get:     func(s *probe.Settings) float64 { return s.MaxRate },
		set:     func(s *probe.Settings, v float64) { s.MaxRate = v },
		oneline: "most echo requests per second, over all hosts",
	}, {
		item: 2, name: "weight", units: percent, least: 0, most: 100,
		get:     func(s *probe.Settings) float64 { return s.Weight },
		set:     func(s *probe.Settings, v float64) { s.Weight = v },
		oneline: "percent of its previous value that rtime.lan.respavg keeps with each reply",
	}, window}
}

// controlMetrics change the agent while it runs.
func (a *Agent) controlMetrics() []pmda.Metric {
	var rows []pmda.Metric
	for _, s := range settings() {
		rows = append(rows, pmda.Metric{Name: "rtime.lan.control." + s.name, Cluster: clusterControl, Item: s.item,
			Sem: pcp.SemDiscrete, Units: s.units, OneLine: s.oneline,
			Help: strings.TrimSpace(fmt.Sprintf("%s\nFrom %v to %v.%s", s.help, s.least, s.most, mayStore)),
			Get: pmda.Value(func() (float64, error) {
				now := a.prober.Settings()
				return s.get(&now), nil
			}),
			Store: func(st *pmda.Store) error { return a.storeSetting(st, s) }})
	}
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
		Sem: pcp.SemDiscrete, OneLine: oneline, Help: help + mayStore,
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

func (a *Agent) storeSetting(st *pmda.Store, s setting) error {
	if err := a.mayStore(st); err != nil {
		return err
	}
	v, err := st.Value.Float64()
	if err != nil {
		return err
	}
	if !(v >= s.least && v <= s.most) {
		return fmt.Errorf("%w: %s %v is not within %v..%v", pcp.ErrBadStore, s.name, v, s.least, s.most)
	}
	now := a.prober.Settings()
	s.set(&now, v)
	a.prober.Update(now)
	a.server.Logf("%s set to %v by %v", s.name, v, who(st.Client))
	return nil
}

// mayStore refuses whom the configuration does not let store.
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
	a.server.Logf("host %q (%v) added for %v, who looked it up", name, d.Addr, who(c))
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
	a.server.Logf("host %q added by pmstore", name)
	return nil
}

func (a *Agent) removeStored(name string) error {
	h, ok := a.hosts.Get(name)
	if !ok {
		return fmt.Errorf("%w: there is no host %q", pcp.ErrInst, name)
	}
	a.drop(h)
	a.server.Logf("host %q removed by pmstore", name)
	return nil
}
