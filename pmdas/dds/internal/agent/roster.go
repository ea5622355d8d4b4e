package agent

import (
	"fmt"
	"time"

	"github.com/pcp-rtime/rtime/pcp"
	"github.com/pcp-rtime/rtime/pmda"
	"github.com/pcp-rtime/rtime/pmdas/dds/internal/account"
	"github.com/pcp-rtime/rtime/pmdas/dds/internal/naming"
	"github.com/pcp-rtime/rtime/pmdas/dds/internal/supply"
)

// roster is what rtime.dds.supplier shows: the suppliers that are there and, for a
// while, those that have gone.
type roster struct {
	users    *account.Users
	now      func() time.Time
	complain func(uid uint32, format string, args ...any)
	rows     *pmda.InDom[*row]
}

// row is the row of one supplier.
type row struct {
	title  string
	src    *source // nil once it is gone
	user   *account.User
	name   string
	state  supply.State
	reason string
	errors uint64
	pid    uint32
	left   time.Time
}

func newRoster(users *account.Users, now func() time.Time, complain func(uint32, string, ...any)) *roster {
	return &roster{users, now, complain, &pmda.InDom[*row]{
		Serial: 0, Name: "suppliers", Keep: true,
		OneLine: "dynamic data suppliers",
		Help: "An instance for each program that supplies statistics, by the name that it gave\n" +
			"and its user, as NAME@USER; further ones of the same name and user have a number\n" +
			"after it. A supplier that is gone stays, with its state, until the time is over\n" +
			"that the configuration calls keep, or another takes its place.",
		InstanceLabels: (*row).labels,
	}}
}

func nameOr(name, other string) string {
	if name = naming.Instance(naming.Line(name)); name == "" {
		return other
	}
	return name
}

// enter gives a supplier a row. If a supplier of the same name was there and is gone,
// that is its row. Otherwise it is a new one.
func (o *roster) enter(s *source) *row {
	base := s.name + "@" + nameOr(s.user.Name, "unknown")
	for n := 1; ; n++ {
		title := base
		if n > 1 {
			title = fmt.Sprintf("%s#%d", base, n)
		}
		old, there := o.rows.Get(title)
		if there && old.src != nil {
			continue
		}
		r := &row{title: title, src: s, user: s.user, name: s.name, state: supply.Ready, pid: s.sup.Info().PID}
		if there {
			r.errors = old.errors
		} else if o.users.NewName(s.user) != nil {
			return r // this row is never shown
		} else {
			o.users.Name(s.user, title)
			s.user.Rows++
		}
		if _, err := o.rows.Add(title, r); err != nil {
			o.complain(s.user.UID, "supplier %s: %v", title, err)
			s.user.Rows--
		}
		return r
	}
}

// leave notes that the supplier is gone.
func (r *row) leave(state supply.State, why error, now time.Time) {
	r.src, r.state, r.left = nil, state, now
	r.reason = ""
	if why != nil {
		r.reason = why.Error()
		r.errors++
	}
}

func (r *row) why() string {
	if r.reason == "" {
		return string(r.state)
	}
	return string(r.state) + ": " + r.reason
}

func (r *row) labels() pcp.Labels {
	l := pcp.Labels{{Name: "supplier", Value: r.name}, {Name: "user", Value: r.user.Name}}
	if r.src != nil {
		l = append(l, pcp.Label{Name: "pid", Value: r.pid, Optional: true})
	}
	return l
}

// expire forgets suppliers that have been gone for long. If a user has more of them than
// he may have suppliers, it forgets those that have been gone longest.
func (o *roster) expire(now time.Time) {
	keep, most := o.users.Conf.Keep, o.users.Conf.Suppliers
	var old []*row
	o.rows.All(func(_ pcp.Instance, r *row) bool {
		if r.src == nil && (now.Sub(r.left) >= keep || r.user.Rows > most) {
			old = append(old, r)
		}
		return true
	})
	for _, r := range old {
		if now.Sub(r.left) < keep && r.user.Rows <= most {
			continue
		}
		o.rows.Remove(r.title)
		r.user.Rows--
		o.users.Forget(r.user)
	}
}

const (
	clusterSupplier = iota
	clusterAgent
	clusterContext
	clusterControl
)

// metrics are the metrics of the suppliers.
func (o *roster) metrics() []pmda.Metric {
	per := func(item int, name string, units pcp.Units, get pmda.Getter, oneline, help string) pmda.Metric {
		return pmda.Metric{Name: "rtime.dds.supplier." + name, Cluster: clusterSupplier, Item: item,
			Sem: pcp.SemInstant, Units: units, Get: get, OneLine: oneline, Help: help}
	}
	number := func(f func(*source) uint64) pmda.Getter {
		return pmda.Per(o.rows, func(r *row) (uint64, bool) {
			if r.src == nil {
				return 0, false
			}
			return f(r.src), true
		})
	}
	errors := per(7, "errors", pcp.Count, pmda.Per(o.rows, func(r *row) (uint64, bool) { return r.errors, true }),
		"what of the supplier's could not be exported",
		"Contexts and statistics that are not well-formed, are beyond a limit, or whose name is\n"+
			"another supplier's; and damage to the segment. reason has the latest.")
	errors.Sem = pcp.SemCounter
	return []pmda.Metric{
		per(0, "state", pcp.None, pmda.Per(o.rows, func(r *row) (string, bool) { return string(r.state), true }),
			"state of the supplier: ready, stale, died, ended or damaged",
			"ready: its contexts are exported. stale: its time stamp is older than\n"+
				"rtime.dds.supplier.timeout, or somebody wants it to end; it was told to go away, and\n"+
				"its contexts are not exported. died: its process is gone. ended: it withdrew. damaged:\n"+
				"its segment is not well-formed, was truncated, or has grown beyond a limit."),
		per(1, "up", pcp.None, pmda.Per(o.rows, func(r *row) (uint32, bool) {
			if r.state == supply.Ready {
				return 1, true
			}
			return 0, true
		}), "whether the supplier's contexts are exported: 1 or 0", "1 where state is ready."),
		per(2, "age", pcp.Seconds, pmda.Per(o.rows, func(r *row) (float64, bool) {
			if r.src == nil {
				return 0, false
			}
			return max(o.now().Sub(r.src.sup.StampAt()).Seconds(), 0), true
		}), "time since the supplier's time stamp changed",
			"Suppliers set the time stamp with each update. It is looked at once a second."),
		per(3, "contexts", pcp.Count, number(func(s *source) uint64 { return uint64(s.count) }),
			"contexts with statistics that are exported", "Fixed and volatile ones."),
		per(4, "statistics", pcp.Count, number(func(s *source) uint64 { return uint64(s.values) }),
			"values that are exported", "The sum over all contexts."),
		per(5, "subscribed", pcp.Count, number(func(s *source) uint64 { return uint64(s.sup.Told().Values) }),
			"values that are being asked for",
			"What the supplier finds in SiShSubscrib: the values that clients have asked for\n"+
				"more than once, each client counted, until they miss several turns."),
		per(6, "interval", pcp.Milliseconds, number(func(s *source) uint64 { return uint64(s.sup.Told().Interval.Milliseconds()) }),
			"shortest interval at which values are being asked for",
			"What the supplier finds in SiShInterval; 0 where nobody asks."),
		errors,
		per(8, "reason", pcp.None, pmda.Per(o.rows, func(r *row) (string, bool) { return r.reason, r.reason != "" }),
			"why the supplier, or something of it, is not exported", "The latest reason; no value where there was none."),
		per(9, "pid", pcp.None, pmda.Per(o.rows, func(r *row) (uint32, bool) { return r.pid, r.src != nil }),
			"process of the supplier", "As the supplier knows itself: in a container, the container's number."),
		per(10, "bytes", pcp.Bytes, number(func(s *source) uint64 { return uint64(s.sup.Bytes()) }),
			"size of the supplier's segment", ""),
	}
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
