package pmda_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/pcp-rtime/rtime/pcp"
	"github.com/pcp-rtime/rtime/pdu"
	"github.com/pcp-rtime/rtime/pmda"
	"github.com/pcp-rtime/rtime/pmda/pmdatest"
)

var eventTime = time.Unix(1795190430, 260058123)

// event is a record with one parameter of n bytes.
func event(text string) pcp.EventRecord {
	return pcp.EventRecord{Time: eventTime, Flags: pcp.EventPoint,
		Params: []pcp.EventParam{{PMID: zooID(itemKind), Value: pcp.Str(text)}}}
}

// take fetches an event metric for a client and prints what it gets.
func take(t *testing.T, c *pmdatest.Conn, slot int32, item int) string {
	t.Helper()
	c.Slot = slot
	set := c.Fetch(zooID(item))[0]
	typ := pcp.TypeEvent
	if item == itemHires {
		typ = pcp.TypeHighresEvent
	}
	if len(set.Values) != 1 || set.Values[0].Value.Type() != typ {
		t.Fatalf("fetch of events: %+v", set)
	}
	recs, err := pdu.ParseEvents(typ, set.Values[0].Value.Bytes())
	if err != nil {
		t.Fatal(err)
	}
	var out []string
	for _, r := range recs {
		if r.Flags&pcp.EventMissed != 0 {
			out = append(out, fmt.Sprintf("missed %d", r.Missed))
			continue
		}
		out = append(out, r.Params[0].Value.String())
	}
	return strings.Join(out, " ")
}

func TestEventQueue(t *testing.T) {
	for _, item := range []int{itemEvents, itemHires} {
		z := newZoo()
		q := &z.events
		if item == itemHires {
			q = &z.hires
		}
		c, _ := visit(t, z)
		add := func(texts ...string) {
			z.do(t, func() {
				for _, s := range texts {
					q.Append(event(s))
				}
			})
		}
		see := func(slot int32, want string) {
			t.Helper()
			if got := take(t, c, slot, item); got != want {
				t.Errorf("item %d: client %d gets %q, want %q", item, slot, got, want)
			}
		}
		gone := func(slot int32) {
			c.Gone(slot)
			c.Slot = 99
			c.Fetch(zooID(itemCount)) // when it is answered, the notice has been read
		}
		state := func(followers int, dropped uint64) {
			t.Helper()
			z.do(t, func() {
				if q.Followers() != followers || q.Dropped() != dropped {
					t.Errorf("%d followers, %d dropped, want %d, %d", q.Followers(), q.Dropped(), followers, dropped)
				}
			})
		}
		add("nobody", "listens")
		state(0, 0)
		see(1, "")
		add("a", "b")
		see(2, "")
		add("c")
		see(1, "a b c")
		see(1, "")
		see(2, "c")
		state(2, 0)
		add("d")
		gone(2)
		state(1, 0)
		see(2, "") // the slot's next client follows from here
		see(1, "d")

		// Each record has 60 bytes or so; the limit is room for two of them.
		size := len(pdu.AppendEvents(nil, pcp.TypeHighresEvent, []pcp.EventRecord{event("e1")}))
		z.do(t, func() { q.Limit = 2*size + 3 })
		add("e1", "e2", "e3", "e4")
		see(1, "missed 2 e3 e4")
		state(2, 2)
		add("e5")
		see(2, "missed 3 e4 e5")
		see(1, "e5")
		state(2, 3)
		z.do(t, func() { q.Limit = 1 })
		add("f1", "f2") // too large, each of them
		see(1, "missed 2")
		see(1, "")
		see(2, "missed 2")
		state(2, 5)
		z.do(t, func() { q.Limit = 0 })
		add("g")
		see(2, "g")
		see(1, "g")
		gone(1)
		gone(2)
		state(0, 5)
	}
}

// TestEventTwice: fetching consumes, so the second of two is empty.
func TestEventTwice(t *testing.T) {
	z := newZoo()
	c, _ := visit(t, z)
	take(t, c, 1, itemHires)
	z.do(t, func() { z.hires.Append(event("x")) })
	sets := c.Fetch(zooID(itemHires), zooID(itemHires))
	for i, want := range []int{1, 0} {
		recs, err := pdu.ParseEvents(pcp.TypeHighresEvent, sets[i].Values[0].Value.Bytes())
		if err != nil || len(recs) != want {
			t.Errorf("set %d: %+v, %v, want %d records", i, recs, err, want)
		}
	}
}

// TestEventTime keeps microseconds or nanoseconds.
func TestEventTime(t *testing.T) {
	z := newZoo()
	c, _ := visit(t, z)
	c.Fetch(zooID(itemEvents), zooID(itemHires))
	z.do(t, func() { z.events.Append(event("x")); z.hires.Append(event("x")) })
	sets := c.Fetch(zooID(itemEvents), zooID(itemHires))
	for i, x := range []struct {
		typ  pcp.Type
		want time.Time
	}{{pcp.TypeEvent, eventTime.Truncate(time.Microsecond)}, {pcp.TypeHighresEvent, eventTime}} {
		recs, err := pdu.ParseEvents(x.typ, sets[i].Values[0].Value.Bytes())
		if err != nil || len(recs) != 1 || !recs[0].Time.Equal(x.want) || recs[0].Flags != pcp.EventPoint {
			t.Errorf("%v: %+v, %v, want time %v", x.typ, recs, err, x.want)
		}
	}
}

// TestEventsOfInstances gives those that are wanted.
func TestEventsOfInstances(t *testing.T) {
	z := newZoo()
	queues := map[int32]*pmda.EventQueue{0: {}, 1: {}}
	z.agent.Metrics = append(z.agent.Metrics, pmda.Metric{Name: "zoo.calls", Cluster: 3, Item: 100, Sem: pcp.SemDiscrete,
		OneLine: "calls", Get: pmda.Func(pcp.TypeEvent, z.beasts, func(v *pmda.Values) {
			for id, q := range queues {
				if v.Wants(id) {
					v.Events(id, q.Take(v.Client()))
				}
			}
		})})
	c, _ := visit(t, z)
	c.Fetch(zooID(100))
	z.do(t, func() { queues[0].Append(event("roar")); queues[1].Append(event("chirp")) })
	c.Profile(pdu.InDomProfile{InDom: beastDom, State: pdu.Exclude, List: []int32{1}})
	v := c.Fetch(zooID(100))[0].Values
	if len(v) != 1 || v[0].Inst != 1 || !strings.Contains(string(v[0].Value.Bytes()), "chirp") {
		t.Errorf("the profile asks for one: %+v", v)
	}
	c.Send(&pdu.Profile{})
	for _, v := range c.Fetch(zooID(100))[0].Values {
		if got := strings.Contains(string(v.Value.Bytes()), "roar"); got != (v.Inst == 0) {
			t.Errorf("instance %d: %q", v.Inst, v.Value.Bytes())
		}
	}
}
