package agent

import (
	"fmt"
	"math"
	"sync"
	"time"

	"github.com/pcp-rtime/rtime/pcp"
	"github.com/pcp-rtime/rtime/pmda"
	"github.com/pcp-rtime/rtime/pmdas/arm/internal/collect"
	"github.com/pcp-rtime/rtime/pmdas/arm/internal/conf"
)

const mayStore = "\nRoot and the user that PCP runs as may store."

// setting is one of the numbers that say how to collect.
type setting struct {
	item          int
	name          string
	units         pcp.Units
	least, most   float64
	get           func(*collect.Config) float64
	set           func(*collect.Config, float64)
	oneline, help string
}

func settings() []setting {
	seconds := func(v float64) time.Duration { return time.Duration(math.Round(v * float64(time.Second))) }
	return []setting{{
		item: 0, name: "interval", units: pcp.Seconds, least: conf.MinInterval, most: conf.MaxInterval,
		get:     func(c *collect.Config) float64 { return c.Interval.Seconds() },
		set:     func(c *collect.Config, v float64) { c.Interval = seconds(v) },
		oneline: "time between two rounds of collecting",
		help:    "Values are as old as that at most.",
	}, {
		item: 1, name: "weight", units: pcp.None, least: conf.MinWeight, most: conf.MaxWeight,
		get:     func(c *collect.Config) float64 { return 100 * c.Weight },
		set:     func(c *collect.Config, v float64) { c.Weight = v / 100 },
		oneline: "percent of its previous value that rtime.arm.respavg keeps with each transaction",
	}, {
		item: 2, name: "window", units: pcp.Seconds, least: conf.MinWindow, most: conf.MaxWindow,
		get:     func(c *collect.Config) float64 { return c.Window.Seconds() },
		set:     func(c *collect.Config, v float64) { c.Window = seconds(v) },
		oneline: "length of the rolling window of rtime.arm.window",
		help:    "A window that is shorter than the interval is as long as that. A change empties\nthe window.",
	}, {
		item: 3, name: "buffers", units: pcp.Count, least: conf.MinBuffers, most: conf.MaxBuffers,
		get:     func(c *collect.Config) float64 { return float64(c.Buffers) },
		set:     func(c *collect.Config, v float64) { c.Buffers = int(v) },
		oneline: "steps in which the rolling window moves on",
		help:    "A whole number. A change empties the window.",
	}}
}

// controlMetrics change the agent while it runs.
func (a *Agent) controlMetrics() []pmda.Metric {
	var rows []pmda.Metric
	for _, s := range settings() {
		help := fmt.Sprintf("From %v to %v.%s\nWhat is stored lasts until the agent ends or reads a configuration that says otherwise.",
			s.least, s.most, mayStore)
		if s.help != "" {
			help = s.help + "\n" + help
		}
		rows = append(rows, pmda.Metric{Name: "rtime.arm.control." + s.name, Cluster: clusterControl, Item: s.item,
			Sem: pcp.SemDiscrete, Units: s.units, OneLine: s.oneline, Help: help,
			Get:   pmda.Value(func() (float64, error) { return s.get(&a.conf), nil }),
			Store: func(st *pmda.Store) error { return a.storeSetting(st, s) }})
	}
	return append(rows, pmda.Metric{Name: "rtime.arm.control.trace", Cluster: clusterControl, Item: 4, Sem: pcp.SemDiscrete,
		Get: pmda.Per(a.trans, func(i int) (uint32, bool) {
			if a.traced[i] {
				return 1, true
			}
			return 0, true
		}),
		OneLine: "whether each instance of a transaction is traced: 1 or 0",
		Help: "Storing 1 has all programs leave a record of each start, update and stop of the\n" +
			"transaction for rtime.arm.trace.records, and costs them time; 0 ends that. Single\n" +
			"transactions that a program asks to be traced are traced anyway." + mayStore +
			"\nWhat is stored lasts until the agent ends.",
		Store: a.storeTrace})
}

func (a *Agent) storeSetting(st *pmda.Store, s setting) error {
	if err := mayStoreInto(st); err != nil {
		return err
	}
	v, err := st.Value.Float64()
	if err != nil {
		return err
	}
	if !(v >= s.least && v <= s.most) {
		return fmt.Errorf("%w: %s %v is not within %v..%v", pcp.ErrBadStore, s.name, v, s.least, s.most)
	}
	if s.name == "buffers" && v != math.Trunc(v) {
		return fmt.Errorf("%w: %s %v is not a whole number", pcp.ErrBadStore, s.name, v)
	}
	s.set(&a.conf, v)
	a.collector.Configure(a.conf)
	a.server.Logf("%s set to %v by uid %d", s.name, v, st.Client.UID)
	return nil
}

func (a *Agent) storeTrace(st *pmda.Store) error {
	if err := mayStoreInto(st); err != nil {
		return err
	}
	n, err := st.Value.Uint64()
	if err != nil {
		return err
	}
	place, ok := a.trans.ByID(st.Inst.ID)
	if !ok {
		return pcp.ErrInst
	}
	if n > 1 {
		return fmt.Errorf("%w: %s %d is neither 0 nor 1", pcp.ErrBadStore, st.Name, n)
	}
	delete(a.traced, place)
	if n == 1 {
		a.traced[place] = true
	}
	a.collector.Trace(st.Inst.Name, n == 1)
	a.server.Logf("tracing of %s set to %d by uid %d", st.Inst.Name, n, st.Client.UID)
	return nil
}

// mayStoreInto refuses everybody but root and the user that PCP runs as: what the control
// metrics change concerns all users of the agent.
func mayStoreInto(st *pmda.Store) error {
	if st.Client.Known() && (st.Client.UID == 0 || st.Client.UID == pcpUID()) {
		return nil
	}
	return fmt.Errorf("%w: uid %d may not store into %s", pcp.ErrPermission, st.Client.UID, st.Name)
}

// pcpUID is the user that PCP runs as, or root where there is none.
var pcpUID = sync.OnceValue(func() int {
	uid, _ := pcpUser()
	return uid
})
