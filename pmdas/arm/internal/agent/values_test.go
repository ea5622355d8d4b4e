package agent

import (
	"fmt"
	"strings"
	"testing"

	"github.com/pcp-rtime/rtime/internal/armseg/reader"
	"github.com/pcp-rtime/rtime/pmdas/arm/internal/collect"
)

// bank is what the fake collector finds in most tests: a transaction that was measured, one
// that runs for the first time, what belongs to these two, and the agent's own state.
func bank(s *collect.Snapshot) {
	s.Mono = 10_000_000_000
	s.Apps = append(s.Apps, &collect.App{Name: "CheckingAccountQuery", Descr: "Checking Account Query", Active: true,
		Users: 2, Processes: 3, Trans: 2})
	put(s, 0, collect.Row{
		Tran: collect.Tran{Name: "CheckingAccountQuery/LastCheckQuery", App: 0, Key: "LastCheckQuery", Descr: "Last Check Query"},
		Numbers: collect.Numbers{Count: 1234, Aborted: 2, Failed: 3, Abandoned: 4, Updates: 5, BadData: 6,
			GoodNS: 5_000_001_500, AbortedNS: 2_500, FailedNS: 3_500, Seen: true, Last: 12_999_999, Min: 999_999,
			Max: 4_000_000_123_456, AvgNS: 13_500_000.5, Active: 1, Oldest: 7_500_000_000,
			Window: collect.Window{Count: 100, Rate: 1.5, Mean: 1000.5, Min: 500, Max: 9000, Median: 1100, P80: 2200, P95: 3300, P99: 4400}}})
	put(s, 1, collect.Row{Tran: collect.Tran{Name: "CheckingAccountQuery/new", App: 0, Key: "new"}})
	for i, m := range []collect.Metric{
		{Label: "bytes", Type: 2, Kind: reader.KindCounter, Count: 7, Sum: 1 << 40},
		{Label: "queue", Type: 6, Kind: reader.KindGauge, Count: 8, Last: -2.5, Mean: 0.5, Min: -3, Max: 4},
		{Label: "error", Type: 8, Kind: reader.KindID, Count: 9, LastID: 1<<64 - 1},
		{Label: "who\x01", Type: 9, Kind: reader.KindString, Count: 10, Text: "me\nyou"},
		{Label: "never", Type: 4, Kind: reader.KindGauge},
	} {
		m.Name = fmt.Sprintf("CheckingAccountQuery/LastCheckQuery/m%d", i)
		s.Metrics = append(s.Metrics, &m)
	}
	s.Pairs = append(s.Pairs, &collect.Pair{Name: "Web/Page>CheckingAccountQuery/LastCheckQuery", Child: 0, Parent: -1,
		Count: 70, Aborted: 1, Failed: 2, GoodNS: 1_000_500}, &collect.Pair{Name: "other>other", Child: -1, Parent: -1})
	s.Health = wellness()
}

func wellness() collect.Health {
	return collect.Health{Processes: 3, Files: 4, NameFiles: 2, Bytes: 1 << 20, Refused: 1, RefusedEver: 2,
		LastRefused: "1-2-3.arm: not a regular file", Cycles: 50, CycleTime: 1500, CycleTotal: 7_000_000, Folds: 6,
		Retired: 7, Swept: 8, Errors: 9, LastError: "no space left", Damaged: 10, OverCap: 11, NoRoom: 12, BadHandles: 13,
		BadData: 14, PairsLost: 15, NamesFull: 16}
}

// want lists metric, instance and value for each value that bank gives; "-" stands for no
// value.
const want = `
resptime CheckingAccountQuery/LastCheckQuery 12
respavg CheckingAccountQuery/LastCheckQuery 13.5000005
count CheckingAccountQuery/LastCheckQuery 1234
aborted CheckingAccountQuery/LastCheckQuery 2
failed CheckingAccountQuery/LastCheckQuery 3
respmax CheckingAccountQuery/LastCheckQuery 4000000
respmin CheckingAccountQuery/LastCheckQuery 0
resptime CheckingAccountQuery/new -
respavg CheckingAccountQuery/new -
respmax CheckingAccountQuery/new -
respmin CheckingAccountQuery/new -
count CheckingAccountQuery/new 0
aborted CheckingAccountQuery/new 0
failed CheckingAccountQuery/new 0
time.last CheckingAccountQuery/LastCheckQuery 12999.999
time.average CheckingAccountQuery/LastCheckQuery 13500.0005
time.max CheckingAccountQuery/LastCheckQuery 4.000000123456e+09
time.min CheckingAccountQuery/LastCheckQuery 999.999
time.total CheckingAccountQuery/LastCheckQuery 5.0000015e+06
time.aborted CheckingAccountQuery/LastCheckQuery 2.5
time.failed CheckingAccountQuery/LastCheckQuery 3.5
time.last CheckingAccountQuery/new -
time.average CheckingAccountQuery/new -
time.max CheckingAccountQuery/new -
time.min CheckingAccountQuery/new -
time.total CheckingAccountQuery/new 0
active CheckingAccountQuery/LastCheckQuery 1
active CheckingAccountQuery/new 0
oldest CheckingAccountQuery/LastCheckQuery 2.5
oldest CheckingAccountQuery/new -
updates CheckingAccountQuery/LastCheckQuery 5
abandoned CheckingAccountQuery/LastCheckQuery 4
bad_data CheckingAccountQuery/LastCheckQuery 6
window.rate CheckingAccountQuery/LastCheckQuery 1.5
window.count CheckingAccountQuery/LastCheckQuery 100
window.mean CheckingAccountQuery/LastCheckQuery 1.0005
window.min CheckingAccountQuery/LastCheckQuery 0.5
window.max CheckingAccountQuery/LastCheckQuery 9
window.median CheckingAccountQuery/LastCheckQuery 1.1
window.p80 CheckingAccountQuery/LastCheckQuery 2.2
window.p95 CheckingAccountQuery/LastCheckQuery 3.3
window.p99 CheckingAccountQuery/LastCheckQuery 4.4
window.rate CheckingAccountQuery/new 0
window.count CheckingAccountQuery/new 0
window.mean CheckingAccountQuery/new -
window.min CheckingAccountQuery/new -
window.max CheckingAccountQuery/new -
window.median CheckingAccountQuery/new -
window.p80 CheckingAccountQuery/new -
window.p95 CheckingAccountQuery/new -
window.p99 CheckingAccountQuery/new -
window.length . 60
metric.type CheckingAccountQuery/LastCheckQuery/m0 counter64
metric.type CheckingAccountQuery/LastCheckQuery/m1 gauge32/divisor
metric.type CheckingAccountQuery/LastCheckQuery/m2 id64
metric.type CheckingAccountQuery/LastCheckQuery/m3 string8
metric.values CheckingAccountQuery/LastCheckQuery/m0 7
metric.values CheckingAccountQuery/LastCheckQuery/m4 0
metric.counter CheckingAccountQuery/LastCheckQuery/m0 1.099511627776e+12
metric.counter CheckingAccountQuery/LastCheckQuery/m1 -
metric.gauge.last CheckingAccountQuery/LastCheckQuery/m0 -
metric.gauge.last CheckingAccountQuery/LastCheckQuery/m1 -2.5
metric.gauge.mean CheckingAccountQuery/LastCheckQuery/m1 0.5
metric.gauge.min CheckingAccountQuery/LastCheckQuery/m1 -3
metric.gauge.max CheckingAccountQuery/LastCheckQuery/m1 4
metric.gauge.last CheckingAccountQuery/LastCheckQuery/m4 -
metric.id CheckingAccountQuery/LastCheckQuery/m2 18446744073709551615
metric.id CheckingAccountQuery/LastCheckQuery/m0 -
metric.string CheckingAccountQuery/LastCheckQuery/m3 me?you
metric.string CheckingAccountQuery/LastCheckQuery/m0 -
parent.count Web/Page>CheckingAccountQuery/LastCheckQuery 70
parent.aborted Web/Page>CheckingAccountQuery/LastCheckQuery 1
parent.failed Web/Page>CheckingAccountQuery/LastCheckQuery 2
parent.total Web/Page>CheckingAccountQuery/LastCheckQuery 1000.5
parent.count other>other 0
app.users CheckingAccountQuery 2
app.processes CheckingAccountQuery 3
app.active CheckingAccountQuery 1
app.transactions CheckingAccountQuery 2
trace.records . HIGHRES_EVENT
trace.count . 0
trace.missed . 0
trace.dropped . 0
trace.param.kind . -
trace.param.transaction . -
trace.param.handle . -
trace.param.status . -
trace.param.duration . -
trace.param.text . -
trace.param.metrics . -
trace.param.parent . -
trace.param.correlator . -
trace.param.user . -
trace.param.pid . -
trace.param.program . -
control.interval . 1
control.weight . 75
control.window . 60
control.buffers . 12
control.trace CheckingAccountQuery/LastCheckQuery 0
agent.transactions . 2
agent.applications . 1
agent.processes . 3
agent.files . 4
agent.users . 2
agent.bytes . 1048576
agent.refused . 1
agent.refusals . 2
agent.cycles . 50
agent.cycle . 1
agent.cycle_time . 7000
agent.folded . 6
agent.retired . 7
agent.swept . 8
agent.errors . 9
agent.damaged . 10
agent.over_limit . 11
agent.no_room . 12
agent.bad_handles . 13
agent.bad_data . 14
agent.parents_lost . 15
agent.names_full . 16
agent.last_refused . 1-2-3.arm: not a regular file
agent.last_error . no space left
agent.unnamed . 0
`

// TestValues compares each metric with what the collector found.
func TestValues(t *testing.T) {
	r := newRig(t, "")
	r.fake.find(bank)
	tested := make(map[string]bool)
	for _, line := range strings.Split(strings.TrimSpace(want), "\n") {
		metric, rest, _ := strings.Cut(line, " ")
		inst, value, _ := strings.Cut(rest, " ")
		if inst == "." {
			inst = ""
		}
		tested["rtime.arm."+metric] = true
		if metric == "trace.records" { // an array of no records; TestTrace has the rest
			if v, err := r.conn.Value("rtime.arm.trace.records", ""); err != nil || len(v.Bytes()) != 4 {
				t.Errorf("%s: %v, %v", metric, v, err)
			}
			continue
		}
		r.is(metric, inst, value)
	}
	for _, name := range r.conn.Names("rtime.arm") {
		if !tested[name] {
			t.Errorf("%s is not tested here", name)
		}
	}
}

// TestSnapshotsMoveOn: the next fetch has the next snapshot, rows keep their instances, and
// an instance without a value may get one.
func TestSnapshotsMoveOn(t *testing.T) {
	r := newRig(t, "")
	r.is("count", "CheckingAccountQuery/new", "-")
	r.fake.find(bank)
	r.is("count", "CheckingAccountQuery/new", "0")
	before := r.instances(r.agent.trans.ID())
	r.fake.find(func(s *collect.Snapshot) {
		next := s.Row(1)
		next.Count, next.Seen, next.Last = 1, true, 2_000_000
		put(s, 1, next)
		put(s, 2, collect.Row{Tran: collect.Tran{Name: "CheckingAccountQuery/other", Key: "other"}})
	})
	r.is("count", "CheckingAccountQuery/new", "1")
	r.is("resptime", "CheckingAccountQuery/new", "2")
	r.is("count", "CheckingAccountQuery/LastCheckQuery", "1234")
	r.is("count", "CheckingAccountQuery/other", "0")
	after := r.instances(r.agent.trans.ID())
	for name, id := range before {
		if after[name] != id {
			t.Errorf("%s was instance %d and is %d", name, id, after[name])
		}
	}
	if len(after) != 3 {
		t.Errorf("instances %v", after)
	}
}

// TestUnnamed: a row whose name cannot be an instance is left out. The rows after it are
// not.
func TestUnnamed(t *testing.T) {
	r := newRig(t, "")
	r.fake.find(bank)
	r.fake.find(func(s *collect.Snapshot) {
		put(s, 2, collect.Row{Tran: collect.Tran{Name: "bad\nname"}})
		put(s, 3, collect.Row{Tran: collect.Tran{Name: "a/b"}, Numbers: collect.Numbers{Count: 42}})
	})
	r.is("count", "a/b", "42")
	r.is("agent.unnamed", "", "1")
	if !strings.Contains(r.log.String(), "not exported: ") {
		t.Errorf("log: %s", r.log)
	}
}
