package agent

import (
	"fmt"
	"time"

	"github.com/pcp-rtime/rtime/pcp"
	"github.com/pcp-rtime/rtime/pmda"
	"github.com/pcp-rtime/rtime/pmdas/dds/internal/names"
)

// The states of a supplier.
const (
	stateReady   = "ready"
	stateStale   = "stale"   // its time stamp is too old
	stateDied    = "died"    // its process is gone
	stateEnded   = "ended"   // as it should
	stateDamaged = "damaged" // its segment makes no sense
)

// row is what rtime.dds.supplier shows of a supplier that is or was there.
type row struct {
	title    string
	sup      *supplier // nil once it is gone
	user     *account
	name     string
	state    string
	reason   string
	fault    error
	contexts int
	errors   uint64
	pid      uint32
	left     time.Time
}

func nameOr(name, other string) string {
	if name = names.Instance(names.Line(name)); name == "" {
		return other
	}
	return name
}

// newRow gives a supplier a row: that of a predecessor of the same name, if there is one
// that is gone, or a new one.
func (a *Agent) newRow(s *supplier) *row {
	base := s.name + "@" + nameOr(s.user.name, "unknown")
	for n := 1; ; n++ {
		title := base
		if n > 1 {
			title = fmt.Sprintf("%s#%d", base, n)
		}
		old, there := a.rows.Get(title)
		if there && old.sup != nil {
			continue
		}
		r := &row{title: title, sup: s, user: s.user, name: s.name, state: stateReady, pid: s.r.Info().PID}
		if there {
			r.errors = old.errors
		} else if a.newNames(s.user) < 1 {
			return r // which nobody gets to see
		} else {
			s.user.rows++
			s.user.names.left--
		}
		if _, err := a.rows.Add(title, r); err != nil {
			a.complain("supplier %s: %v", title, err)
			s.user.rows--
		}
		return r
	}
}

// leave notes that the supplier is gone.
func (r *row) leave(state string, why error, now time.Time) {
	r.sup, r.state, r.left, r.contexts = nil, state, now, 0
	r.reason = ""
	if why != nil {
		r.reason = why.Error()
		r.errors++
	}
}

func (r *row) why() string {
	if r.reason == "" {
		return r.state
	}
	return r.state + ": " + r.reason
}

func (r *row) labels() pcp.Labels {
	l := pcp.Labels{{Name: "supplier", Value: r.name}, {Name: "user", Value: r.user.name}}
	if r.sup != nil {
		l = append(l, pcp.Label{Name: "pid", Value: r.pid, Optional: true})
	}
	return l
}

// expireRows lets go of suppliers that have been gone for long, and of the longest gone
// where one user has more of them than suppliers are allowed.
func (a *Agent) expireRows(now time.Time) {
	var old []*row
	a.rows.All(func(_ pcp.Instance, r *row) bool {
		if r.sup == nil && (now.Sub(r.left) >= a.conf.Keep || r.user.rows > a.conf.Suppliers) {
			old = append(old, r)
		}
		return true
	})
	for _, r := range old {
		if now.Sub(r.left) < a.conf.Keep && r.user.rows <= a.conf.Suppliers {
			continue
		}
		a.rows.Remove(r.title)
		r.user.rows--
		a.settle(r.user)
	}
}

const clusterSupplier, clusterAgent = 0, 1

// metrics are the agent's own.
func (a *Agent) metrics() []pmda.Metric {
	per := func(item int, name string, units pcp.Units, get pmda.Getter, oneline, help string) pmda.Metric {
		return pmda.Metric{Name: "rtime.dds.supplier." + name, Cluster: clusterSupplier, Item: item,
			Sem: pcp.SemInstant, Units: units, Get: get, OneLine: oneline, Help: help}
	}
	number := func(f func(*supplier) uint64) pmda.Getter {
		return pmda.Per(a.rows, func(r *row) (uint64, bool) {
			if r.sup == nil {
				return 0, false
			}
			return f(r.sup), true
		})
	}
	errors := per(7, "errors", pcp.Count, pmda.Per(a.rows, func(r *row) (uint64, bool) { return r.errors, true }),
		"what of the supplier's could not be exported",
		"Contexts and statistics that make no sense, are beyond a limit, or whose name is\n"+
			"another supplier's; and damage to the segment. reason has the latest.")
	errors.Sem = pcp.SemCounter
	return append([]pmda.Metric{
		per(0, "state", pcp.None, pmda.Per(a.rows, func(r *row) (string, bool) { return r.state, true }),
			"state of the supplier: ready, stale, died, ended or damaged",
			"ready: its contexts are exported. stale: its time stamp is older than the time that\n"+
				"the configuration calls timeout; it was told to go away, and its contexts are\n"+
				"not exported. died: its process is gone. ended: it withdrew. damaged: its segment\n"+
				"makes no sense, was cut off, or has grown beyond a limit."),
		per(1, "up", pcp.None, pmda.Per(a.rows, func(r *row) (uint32, bool) {
			if r.state == stateReady {
				return 1, true
			}
			return 0, true
		}), "whether the supplier's contexts are exported: 1 or 0", "1 where state is ready."),
		per(2, "age", pcp.Seconds, pmda.Per(a.rows, func(r *row) (float64, bool) {
			if r.sup == nil {
				return 0, false
			}
			return max(a.now().Sub(r.sup.stampAt).Seconds(), 0), true
		}), "time since the supplier's time stamp changed",
			"Suppliers set the time stamp with each update. It is looked at once a second."),
		per(3, "contexts", pcp.Count, number(func(s *supplier) uint64 { return uint64(s.row.contexts) }),
			"contexts with statistics that are exported", "Fixed and volatile ones."),
		per(4, "statistics", pcp.Count, number(func(s *supplier) uint64 { return uint64(s.values) }),
			"values that are exported", "The sum over all contexts."),
		per(5, "subscribed", pcp.Count, number(func(s *supplier) uint64 { return uint64(s.told.values) }),
			"values that are being asked for",
			"What the supplier finds in SiShSubscrib: the values that clients have asked for\n"+
				"more than once, each client counted, until they miss several turns."),
		per(6, "interval", pcp.Milliseconds, number(func(s *supplier) uint64 { return uint64(s.told.interval.Milliseconds()) }),
			"shortest interval at which values are being asked for",
			"What the supplier finds in SiShInterval; 0 where nobody asks."),
		errors,
		per(8, "reason", pcp.None, pmda.Per(a.rows, func(r *row) (string, bool) { return r.reason, r.reason != "" }),
			"why the supplier, or something of it, is not exported", "The latest reason; no value where there was none."),
		per(9, "pid", pcp.None, pmda.Per(a.rows, func(r *row) (uint32, bool) { return r.pid, r.sup != nil }),
			"process of the supplier", "As the supplier knows itself: in a container, the container's number."),
		per(10, "bytes", pcp.Bytes, number(func(s *supplier) uint64 { return uint64(s.bytes) }),
			"size of the supplier's segment", ""),
	}, a.agentMetrics()...)
}

// tryColumns is what pmdadds --try prints of each supplier.
var tryColumns = []pmda.Column{
	{Metric: "rtime.dds.supplier.state", Head: "STATE"},
	{Metric: "rtime.dds.supplier.pid", Head: "PID"},
	{Metric: "rtime.dds.supplier.age", Head: "AGE"},
	{Metric: "rtime.dds.supplier.contexts", Head: "CONTEXTS"},
	{Metric: "rtime.dds.supplier.statistics", Head: "STATISTICS"},
	{Metric: "rtime.dds.supplier.errors", Head: "ERRORS"},
	{Metric: "rtime.dds.supplier.reason", Head: "REASON"},
}
