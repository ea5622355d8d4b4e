package agent

import (
	"encoding/binary"
	"encoding/hex"
	"fmt"
	"os/user"
	"strconv"
	"strings"
	"sync"

	"github.com/pcp-rtime/rtime/internal/armseg/layout"
	"github.com/pcp-rtime/rtime/pcp"
	"github.com/pcp-rtime/rtime/pmda"
	"github.com/pcp-rtime/rtime/pmdas/arm/internal/collect"
)

// maxPending is how many events may wait for the serving goroutine.
const maxPending = 10000

// events are events of traced transactions, on their way from the collector to clients.
type events struct {
	wake func() // makes the serving goroutine call queueEvents

	mu      sync.Mutex
	pending []*collect.Event
	total   uint64
	missed  uint64

	queue pmda.EventQueue // this and all below belong to the serving goroutine
	spare []*collect.Event
	users map[uint32]string
}

// add takes an event from the collector's goroutine.
func (e *events) add(ev *collect.Event) {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.total++
	if len(e.pending) >= maxPending {
		e.missed++
		return
	}
	if e.pending = append(e.pending, ev); len(e.pending) == 1 {
		e.wake()
	}
}

// miss takes a number of events that were overwritten before they were read.
func (e *events) miss(n uint64) {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.missed += n
}

func (e *events) counts() (total, missed uint64) {
	e.mu.Lock()
	defer e.mu.Unlock()
	return e.total, e.missed
}

// queueEvents moves the pending events into the queues of clients.
func (a *Agent) queueEvents() {
	e := &a.events
	e.mu.Lock()
	batch := e.pending
	e.pending, e.spare = e.spare[:0], nil
	e.mu.Unlock()
	if e.queue.Followers() > 0 {
		for _, ev := range batch {
			e.queue.Append(a.record(ev))
		}
	}
	clear(batch)
	e.mu.Lock()
	e.spare = batch
	e.mu.Unlock()
}

// record makes a record, with flags and parameters, of an event.
func (a *Agent) record(ev *collect.Event) pcp.EventRecord {
	r := pcp.EventRecord{Time: ev.Time, Flags: pcp.EventPoint}
	put := func(p param, v pcp.Value) {
		r.Params = append(r.Params, pcp.EventParam{PMID: a.Server.PMID(clusterParam, int(p)), Value: v})
	}
	text := func(p param, s string) {
		if s != "" {
			put(p, pcp.Str(s))
		}
	}
	kind := "update"
	switch ev.Kind {
	case layout.EventKindStart:
		r.Flags, kind = pcp.EventStart, "start"
	case layout.EventKindStop:
		r.Flags, kind = pcp.EventEnd, "stop"
	}
	put(paramKind, pcp.Str(kind))
	put(paramTransaction, pcp.Str(ev.Name))
	put(paramHandle, pcp.Num(ev.Handle))
	put(paramPID, pcp.Num(ev.PID))
	put(paramUser, pcp.Str(a.events.user(ev.UID)))
	text(paramProgram, printable(ev.Program))
	if ev.Kind == layout.EventKindStop {
		put(paramStatus, pcp.Str(statusName(ev.Status)))
		put(paramDuration, pcp.Num(float64(ev.Duration.Nanoseconds())/1e3))
	}
	text(paramText, printable(ev.Text))
	text(paramMetrics, metricsText(ev))
	text(paramParent, hex.EncodeToString(ev.Parent))
	text(paramCorrelator, hex.EncodeToString(ev.Own))
	return r
}

func statusName(n int32) string {
	names := [...]string{"good", "aborted", "failed"}
	if n >= 0 && int(n) < len(names) {
		return names[n]
	}
	return strconv.Itoa(int(n))
}

// user returns the name of a user, or the number of one without a name.
func (e *events) user(uid uint32) string {
	name, ok := e.users[uid]
	if ok {
		return name
	}
	name = strconv.FormatUint(uint64(uid), 10)
	if u, err := user.LookupId(name); err == nil {
		name = u.Username
	}
	if e.users == nil || len(e.users) > 1000 {
		e.users = make(map[uint32]string)
	}
	e.users[uid] = name
	return name
}

// metricsText returns the metrics of an event as NAME=VALUE, separated by blanks.
func metricsText(ev *collect.Event) string {
	var b strings.Builder
	for _, m := range ev.Metrics {
		if b.Len() > 0 {
			b.WriteByte(' ')
		}
		fmt.Fprintf(&b, "%s=%s", printable(m.Label), metricValue(m))
	}
	if ev.String != "" {
		if b.Len() > 0 {
			b.WriteByte(' ')
		}
		fmt.Fprintf(&b, "string=%q", printable(ev.String))
	}
	return b.String()
}

// metricValue reads the eight bytes of a metric (ARM 2.0 guide, "Data buffers").
func metricValue(m collect.EventMetric) string {
	low, high := uint32(m.Raw), uint32(m.Raw>>32)
	switch m.Type {
	case layout.TypeCounter32, layout.TypeNumericID32:
		return fmt.Sprint(low)
	case layout.TypeCntrDivr32:
		return fmt.Sprintf("%d/%d", low, high)
	case layout.TypeGauge32:
		return fmt.Sprint(int32(low))
	case layout.TypeGauge64:
		return fmt.Sprint(int64(m.Raw))
	case layout.TypeGaugeDivr32:
		return fmt.Sprintf("%d/%d", int32(low), high)
	case layout.TypeString8:
		text := binary.LittleEndian.AppendUint64(nil, m.Raw)
		return strconv.Quote(printable(strings.TrimRight(string(text), " \x00")))
	}
	return fmt.Sprint(m.Raw)
}

// param is the item number of a parameter of an event record.
type param int

const (
	paramKind param = iota
	paramTransaction
	paramHandle
	paramStatus
	paramDuration
	paramText
	paramMetrics
	paramParent
	paramCorrelator
	paramUser
	paramPID
	paramProgram
)

// traceMetrics are the records of traced transactions, and their parameters. Parameters are
// metrics that have values only in records.
func (a *Agent) traceMetrics() []pmda.Metric {
	trace := func(item int, name string, sem pcp.Sem, get pmda.Getter, oneline, help string) pmda.Metric {
		return pmda.Metric{Name: "rtime.arm.trace." + name, Cluster: clusterTrace, Item: item, Sem: sem, Units: pcp.Count,
			Get: get, OneLine: oneline, Help: help}
	}
	records := trace(0, "records", pcp.SemInstant, pmda.Events(pcp.TypeHighresEvent, &a.events.queue),
		"starts, updates and stops of traced transactions",
		"A transaction is traced if its program asks for that, or if 1 was stored into\n"+
			"rtime.arm.control.trace for its instance. Each client gets each record once,\n"+
			"beginning with its first fetch. The parameters of records are below\n"+
			"rtime.arm.trace.param.")
	records.Units = pcp.None
	rows := []pmda.Metric{records,
		trace(1, "count", pcp.SemCounter, pmda.Value(func() (uint64, error) { n, _ := a.events.counts(); return n, nil }),
			"records of traced transactions", "They count whether or not a client fetches them."),
		trace(2, "missed", pcp.SemCounter, pmda.Value(func() (uint64, error) { _, n := a.events.counts(); return n, nil }),
			"records of traced transactions that were lost",
			"A process keeps its latest 128 records. The agent reads them every\n"+
				"rtime.arm.control.interval seconds. Records that the process overwrites before that\n"+
				"are lost."),
		trace(3, "dropped", pcp.SemCounter, pmda.Value(func() (uint64, error) { return a.events.queue.Dropped(), nil }),
			"records that a client fetched too late to get", "The next record that such a client gets says that it missed some."),
	}
	return append(rows, paramRows()...)
}

func paramRows() []pmda.Metric {
	const hexHelp = "In hexadecimal digits (ARM 2.0 guide, appendix)."
	str, num := pmda.Value(noValue[string]), pmda.Value(noValue[uint32])
	var rows []pmda.Metric
	for _, p := range []struct {
		item          param
		name          string
		units         pcp.Units
		get           pmda.Getter
		oneline, help string
	}{
		{paramKind, "kind", pcp.None, str, "what the record is of: start, update or stop", ""},
		{paramTransaction, "transaction", pcp.None, str, "transaction, by the name of its instance", ""},
		{paramHandle, "handle", pcp.None, num, "handle that arm_start returned",
			"With rtime.arm.trace.param.pid it tells which start a stop belongs to."},
		{paramStatus, "status", pcp.None, str, "how the transaction ended: good, aborted or failed", "Only stops have it."},
		{paramDuration, "duration", pcp.Microseconds, pmda.Value(noValue[float64]), "response time", "Only stops have it."},
		{paramText, "text", pcp.None, str, "text that the program gave with an update", ""},
		{paramMetrics, "metrics", pcp.None, str, "metrics that the program gave, as NAME=VALUE", ""},
		{paramParent, "parent", pcp.None, str, "correlator of the parent transaction", hexHelp},
		{paramCorrelator, "correlator", pcp.None, str, "correlator of the transaction itself", hexHelp},
		{paramUser, "user", pcp.None, str, "user whose process ran the transaction", ""},
		{paramPID, "pid", pcp.None, num, "number of the process that ran the transaction", "In a container, the process may have another number outside."},
		{paramProgram, "program", pcp.None, str, "name of the program", ""},
	} {
		rows = append(rows, pmda.Metric{Name: "rtime.arm.trace.param." + p.name, Cluster: clusterParam, Item: int(p.item),
			Sem: pcp.SemDiscrete, Units: p.units, Get: p.get, OneLine: p.oneline,
			Help: strings.TrimSpace("A parameter of the records of rtime.arm.trace.records. It has values only there.\n" + p.help)})
	}
	return rows
}

func noValue[V pcp.Scalar]() (none V, err error) { return none, pmda.ErrNoValue }
