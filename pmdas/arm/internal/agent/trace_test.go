package agent

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/pcp-rtime/rtime/internal/armseg/layout"
	"github.com/pcp-rtime/rtime/pcp"
	"github.com/pcp-rtime/rtime/pdu"
	"github.com/pcp-rtime/rtime/pmdas/arm/internal/collect"
)

// story is a traced transaction from start to stop.
func story() []*collect.Event {
	at := time.Date(2026, 11, 20, 18, 0, 0, 123456789, time.UTC)
	base := collect.Event{Name: lastCheck, UID: 0, PID: 4711, Program: "bank\n", Handle: 77}
	start, update, stop := base, base, base
	start.Kind, start.Time, start.Parent, start.Own = layout.EventKindStart, at, []byte{0xab, 1}, []byte{0xcd}
	start.Metrics = []collect.EventMetric{
		{Label: "c32", Type: 1, Raw: 1<<32 | 7}, {Label: "c64", Type: 2, Raw: 1 << 40}, {Label: "cd", Type: 3, Raw: 2<<32 | 7},
		{Label: "g32", Type: 4, Raw: 0xffff_ffff}, {Label: "g64", Type: 5, Raw: 1<<64 - 2}, {Label: "gd", Type: 6, Raw: 2<<32 | 0xffff_fff9}}
	update.Kind, update.Time, update.Text = layout.EventKindUpdate, at.Add(time.Second), "half\tway"
	update.Metrics = []collect.EventMetric{{Label: "id", Type: 7, Raw: 1<<32 | 404}}
	update.Metrics = append(update.Metrics, collect.EventMetric{Label: "s8", Type: 9, Raw: 0x2020_2020_2020_6261})
	update.String = "s\x00"
	stop.Kind, stop.Time, stop.Status, stop.Duration = layout.EventKindStop, at.Add(2*time.Second), 2, 2*time.Second+500
	return []*collect.Event{&start, &update, &stop}
}

const stories = `start 2026-11-20T18:00:00.123456789Z flags 2
kind=start transaction=CheckingAccountQuery/LastCheckQuery handle=77 pid=4711 user=root program=bank? metrics=c32=7 c64=1099511627776 cd=7/2 g32=-1 g64=-2 gd=-7/2 parent=ab01 correlator=cd
update 2026-11-20T18:00:01.123456789Z flags 1
kind=update transaction=CheckingAccountQuery/LastCheckQuery handle=77 pid=4711 user=root program=bank? text=half?way metrics=id=404 s8="ab" string="s?"
stop 2026-11-20T18:00:02.123456789Z flags 4
kind=stop transaction=CheckingAccountQuery/LastCheckQuery handle=77 pid=4711 user=root program=bank? status=failed duration=2.0000005e+06
`

// records fetches the records of traced transactions as a client.
func (r *rig) records(slot int32) []pcp.EventRecord {
	r.t.Helper()
	r.conn.Slot = slot
	v, err := r.conn.Value("rtime.arm.trace.records", "")
	if err != nil {
		r.t.Fatal(err)
	}
	list, err := pdu.ParseEvents(pcp.TypeHighresEvent, v.Bytes())
	if err != nil {
		r.t.Fatal(err)
	}
	return list
}

// tell prints records with the names of their parameters.
func (r *rig) tell(list []pcp.EventRecord) string {
	r.t.Helper()
	var b strings.Builder
	for _, rec := range list {
		var line []string
		for _, p := range rec.Params {
			name, err := r.conn.NameOf(p.PMID)
			if err != nil {
				r.t.Fatal(err)
			}
			line = append(line, strings.TrimPrefix(name, "rtime.arm.trace.param.")+"="+p.Value.String())
		}
		kind := strings.TrimPrefix(line[0], "kind=")
		fmt.Fprintf(&b, "%s %s flags %d\n%s\n", kind, rec.Time.UTC().Format(time.RFC3339Nano), rec.Flags, strings.Join(line, " "))
	}
	return b.String()
}

// happen makes the collector report events, and waits until they are in the queues.
func (r *rig) happen(list ...*collect.Event) {
	for _, ev := range list {
		r.fake.options.OnEvent(ev)
	}
	r.serve(func() {})
}

func TestTrace(t *testing.T) {
	r := newRig(t, "")
	r.fake.find(bank)
	r.happen(story()...) // nobody follows yet
	if got := r.records(0); len(got) != 0 {
		t.Errorf("a new client gets %d old records", len(got))
	}
	r.records(1)
	r.happen(story()...)
	for slot := range int32(2) {
		if got := r.tell(r.records(slot)); got != stories {
			t.Errorf("client %d gets\n%s\nwant\n%s", slot, got, stories)
		}
		if got := r.records(slot); len(got) != 0 {
			t.Errorf("client %d gets %d records again", slot, len(got))
		}
	}
	r.is("trace.count", "", "6")
	r.fake.options.OnMissed(5)
	r.is("trace.missed", "", "5")
	r.is("trace.dropped", "", "0")
}

// TestTraceSlowClient: a client that is too slow is told how many records it has missed.
// Other clients miss none.
func TestTraceSlowClient(t *testing.T) {
	r := newRig(t, "")
	r.fake.find(bank)
	r.agent.events.queue.Limit = 10000
	r.records(0)
	r.records(1)
	got := 0
	for range 100 {
		r.happen(story()...)
		got += len(r.records(1))
	}
	if got != 300 {
		t.Errorf("a fast client has %d records, want 300", got)
	}
	slow := r.records(0)
	if len(slow) < 2 || slow[0].Flags&pcp.EventMissed == 0 || int(slow[0].Missed)+len(slow)-1 != 300 {
		t.Errorf("a slow client has %d records, the first %+v", len(slow), slow[0])
	}
	v, err := r.conn.Value("rtime.arm.trace.dropped", "")
	if err != nil || v.String() == "0" {
		t.Errorf("dropped: %v, %v", v, err)
	}
}

// TestTraceFlood: events that come faster than the agent serves them are counted and not
// kept.
func TestTraceFlood(t *testing.T) {
	r := newRig(t, "")
	release := make(chan struct{})
	r.agent.Server.Do(func() { <-release })
	ev := story()[0]
	for range maxPending + 10 {
		r.fake.options.OnEvent(ev)
	}
	close(release)
	r.is("trace.count", "", fmt.Sprint(maxPending+10))
	r.is("trace.missed", "", "10")
}
