package pmda

import (
	"fmt"
	"time"

	"github.com/pcp-rtime/rtime/pcp"
	"github.com/pcp-rtime/rtime/pdu"
)

// EventQueue keeps the records of an event metric until every client that follows it has
// fetched them. A client follows from its first fetch on, and gets each later record once.
// If a client is so slow that the queue outgrows its limit, the oldest records are dropped
// and the client is told how many it missed. An EventQueue belongs to the serving
// goroutine; use one for each metric, or for each instance of one, because fetching
// consumes.
type EventQueue struct {
	// Limit bounds the size of the records kept, in bytes as they travel; 0 stands
	// for 1 MiB.
	Limit int

	// Wants, if not nil, says whether a client gets a record. It is asked when the client
	// fetches. What the client has chosen, for example by a store into a control metric,
	// can be kept in Client.Data. A record that is not wanted counts as fetched.
	Wants func(*Client, *pcp.EventRecord) bool

	recs    []queued
	first   uint64 // number of recs[0]
	size    int
	readers map[*Client]uint64 // the number of the record to come next
	dropped uint64
}

type queued struct {
	rec  pcp.EventRecord
	size int
}

const defaultEventLimit = 1 << 20

// Append adds a record. While nobody follows it is dropped at once.
func (q *EventQueue) Append(r pcp.EventRecord) {
	q.forget()
	if len(q.readers) == 0 {
		return
	}
	limit := q.Limit
	if limit == 0 {
		limit = defaultEventLimit
	}
	size := len(pdu.AppendEvents(nil, pcp.TypeHighresEvent, []pcp.EventRecord{r}))
	q.recs = append(q.recs, queued{r, size})
	q.size += size
	for q.size > limit && len(q.recs) > 0 {
		q.drop()
		q.dropped++
	}
}

// Followers returns how many clients follow. An agent may collect no records while there
// are none.
func (q *EventQueue) Followers() int {
	q.forget()
	return len(q.readers)
}

// Dropped returns how many records were dropped before every follower had them.
func (q *EventQueue) Dropped() uint64 { return q.dropped }

// Take returns the records that a client has not had yet, for Values.Events. A first record
// with the flag pcp.EventMissed says how many are lost.
func (q *EventQueue) Take(c *Client) []pcp.EventRecord {
	next := q.first + uint64(len(q.recs))
	from, follows := q.readers[c]
	if q.readers == nil {
		q.readers = make(map[*Client]uint64)
	}
	q.readers[c] = next
	if !follows {
		return nil
	}
	var out []pcp.EventRecord
	if from < q.first {
		out = append(out, pcp.EventRecord{Time: time.Now(), Flags: pcp.EventMissed, Missed: uint32(q.first - from)})
		from = q.first
	}
	for i := range q.recs[from-q.first:] {
		if r := &q.recs[from-q.first+uint64(i)].rec; q.Wants == nil || q.Wants(c, r) {
			out = append(out, *r)
		}
	}
	q.forget()
	return out
}

// forget drops clients that have left, and records that all others have had.
func (q *EventQueue) forget() {
	oldest := q.first + uint64(len(q.recs))
	for c, next := range q.readers {
		if c.left {
			delete(q.readers, c)
			continue
		}
		oldest = min(oldest, next)
	}
	for len(q.recs) > 0 && q.first < oldest {
		q.drop()
	}
}

func (q *EventQueue) drop() {
	q.size -= q.recs[0].size
	q.recs[0] = queued{}
	q.recs = q.recs[1:]
	q.first++
}

// Events is the Getter of an event metric without instances: t is pcp.TypeEvent or
// pcp.TypeHighresEvent.
func Events(t pcp.Type, q *EventQueue) Getter {
	return Func(t, nil, func(v *Values) { v.Events(pcp.InstNull, q.Take(v.Client())) })
}

// EventsPer is the Getter of an event metric over instances, each of which has a queue of
// its own: queue returns it from what was added for the instance, or nil where there is
// none. A client follows an instance from its first fetch of it on.
func EventsPer[T any](t pcp.Type, d *InDom[T], queue func(T) *EventQueue) Getter {
	return Getter{typ: t, indom: d, fetch: func(v *Values) {
		l := d.wanted(v.server)
		for i, id := range l.ids {
			if q := queue(l.data[i]); q != nil {
				v.Events(id, q.Take(v.Client()))
			}
		}
	}}
}

// EventParam is a parameter of an event record by the name of its metric; see With.
type EventParam struct {
	Metric string
	Value  pcp.Value
}

// With makes a parameter of an event record: a value of the metric of that name.
func With[V pcp.Scalar](metric string, v V) EventParam {
	return EventParam{metric, pcp.ValueOf(v)}
}

// Event makes an event record of parameters by name. For each there must be a metric of
// that name, to whose type the value can be converted. The error names the first parameter
// for which that fails.
func (s *Server) Event(at time.Time, flags uint32, params ...EventParam) (pcp.EventRecord, error) {
	r := pcp.EventRecord{Time: at, Flags: flags, Params: make([]pcp.EventParam, len(params))}
	for i, p := range params {
		id, err := s.table.names.Lookup(p.Metric)
		if err != nil {
			return pcp.EventRecord{}, fmt.Errorf("pmda: parameter %s: %w", p.Metric, err)
		}
		v, err := p.Value.Convert(s.table.metrics[id].desc.Type)
		if err != nil {
			return pcp.EventRecord{}, fmt.Errorf("pmda: parameter %s: value %v: %w", p.Metric, p.Value, err)
		}
		r.Params[i] = pcp.EventParam{PMID: id, Value: v}
	}
	return r, nil
}

// Events gives the value of one instance of an event metric.
func (v *Values) Events(inst int32, recs []pcp.EventRecord) {
	if v.Wants(inst) {
		t := v.metric.desc.Type
		v.w.Value(inst, pcp.RawBytes(t, pdu.AppendEvents(nil, t, recs)))
	}
}
