package pmdatest

import (
	"time"

	"github.com/pcp-rtime/rtime/pcp"
	"github.com/pcp-rtime/rtime/pdu"
)

// Event is an event record with its parameters by the names of their metrics.
type Event struct {
	Time   time.Time
	Flags  uint32
	Missed uint32 // with pcp.EventMissed: how many records were lost
	Params map[string]pcp.Value
}

// Events fetches an event metric and returns the records that the client Slot has not had
// yet, by instance name; the name of the only value of a metric without instances is "". A
// client follows from its first fetch on, which returns no records.
func (c *Conn) Events(name string) (map[string][]Event, error) {
	c.t.Helper()
	values, err := c.Values(name)
	if err != nil {
		return nil, err
	}
	out := make(map[string][]Event)
	for inst, v := range values {
		recs, err := pdu.ParseEvents(v.Type(), v.Bytes())
		if err != nil {
			c.t.Fatalf("%s: %v", name, err)
		}
		for _, r := range recs {
			e := Event{Time: r.Time, Flags: r.Flags, Missed: r.Missed, Params: make(map[string]pcp.Value)}
			for _, p := range r.Params {
				metric, err := c.NameOf(p.PMID)
				if err != nil {
					c.t.Fatalf("%s: parameter %v: %v", name, p.PMID, err)
				}
				e.Params[metric] = p.Value
			}
			out[inst] = append(out[inst], e)
		}
	}
	return out, nil
}

// Patience is how long Until waits.
const Patience = 60 * time.Second

// Until calls is again and again until it returns true, and ends the test after Patience.
// what is what the test waits for, for the error.
func (c *Conn) Until(what string, is func() bool) {
	c.t.Helper()
	for end := time.Now().Add(Patience); !is(); time.Sleep(5 * time.Millisecond) {
		if time.Now().After(end) {
			c.t.Fatalf("waited %v in vain: %s", Patience, what)
		}
	}
}

// UntilValue waits until an instance of a metric has a value that prints as want; "" is the
// instance of a metric that has just one value.
func (c *Conn) UntilValue(name, inst, want string) {
	c.t.Helper()
	c.Until(name+" to be "+want, func() bool {
		v, err := c.Value(name, inst)
		return err == nil && v.String() == want
	})
}
