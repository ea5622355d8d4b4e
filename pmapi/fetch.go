package pmapi

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/pcp-rtime/rtime/pcp"
	"github.com/pcp-rtime/rtime/pdu"
)

// Metric is a metric: its name, and its descriptor, which is good as long as the agent is not
// replaced by another version; see Changes.
type Metric struct {
	Name string
	pcp.Desc
}

// Profile says which instances a fetch wants; nil means all. It is pdu.Profile, of which
// Context is not looked at. Ones that exclude everything but a list come from Only.
type Profile = pdu.Profile

// Only returns the profile that wants the listed instances of one instance domain, and all
// of the others.
func Only(d pcp.InDom, instances ...int32) *Profile {
	return &Profile{InDoms: []pdu.InDomProfile{{InDom: d, State: pdu.Exclude, List: instances}}}
}

// Changes counts what pmcd has told of changes. A new connection counts as one of each,
// because whatever pmcd told meanwhile is lost. The counts grow for as long as a Conn or a
// Client exists. Compare those of two samples to know whether something changed in between.
type Changes struct {
	Agents uint64 // agents were added, restarted or dropped
	Names  uint64 // metrics came or went
	Labels uint64 // labels changed
}

func (c *Changes) note(state uint32) {
	if state&(pcp.StateAdded|pcp.StateRestart|pcp.StateDropped) != 0 {
		c.Agents++
	}
	if state&pcp.StateNames != 0 {
		c.Names++
	}
	if state&pcp.StateLabels != 0 {
		c.Labels++
	}
}

func (c *Changes) reconnected() {
	c.Agents++
	c.Names++
	c.Labels++
}

// Sample is what one fetch has brought: values of many metrics at one moment. A Sample that is
// used for several fetches keeps its memory, so that a fetch of numbers does not allocate.
// It serves one goroutine at a time.
type Sample struct {
	// Time is when pmcd had collected the values, by its host's clock.
	Time time.Time
	// Changes tells whether something changed since another sample.
	Changes Changes
	// Metrics are those that were asked for: the slice that Fetch was given.
	Metrics []*Metric
	// Sets holds for each metric that was asked for, in the same order, its values or why
	// there are none: Err is negative then. No values and no error means that there are no
	// instances at the moment. Values have the type of the metric's descriptor. They are
	// good until the next fetch into the same Sample, except for the bytes of strings,
	// aggregates and events, which stay.
	Sets []pdu.ValueSet

	order [][]int32 // see sorted
	fetch fetch
}

// fetch is the request that fills a Sample.
type fetch struct {
	sample  *Sample
	profile *Profile

	ids     []pcp.PMID
	asked   bool // for high resolution
	plain   pdu.Result
	highres pdu.HighresResult
}

// Fetch gets the values of metrics at one moment into s; a profile restricts it to some
// instances. Where pmcd offers them the time has nanoseconds, and else microseconds.
//
// What is wrong with one metric stands in its set: pcp.ErrPMID where pmcd or the agent does
// not know it, pcp.ErrNoAgent, pcp.ErrValue and so on, and pcp.ErrConv where the type of the
// values is not the one of the descriptor. After an error s has no sets.
func (r requests) Fetch(ctx context.Context, s *Sample, p *Profile, metrics ...*Metric) error {
	f := &s.fetch
	f.sample, f.profile = s, p
	s.Metrics, s.Sets = metrics, s.Sets[:0]
	for i := range s.order {
		s.order[i] = s.order[i][:0]
	}
	err := r.via.exchange(ctx, f)
	if err != nil {
		s.Sets = s.Sets[:0]
	}
	return err
}

func (f *fetch) name() string     { return "fetch" }
func (f *fetch) repeatable() bool { return true }

var (
	everything Profile
	errNothing = errors.New("no metrics are asked for")
)

func (f *fetch) append(c *Conn, b []byte) ([]byte, error) {
	if len(f.sample.Metrics) == 0 {
		return b, errNothing
	}
	f.ids = f.ids[:0]
	for _, m := range f.sample.Metrics {
		f.ids = append(f.ids, m.PMID)
	}
	p := f.profile
	if p == nil {
		p = &everything
	}
	request := pdu.Fetch{PMIDs: f.ids}
	if p.Length() > maxRequest || request.Length() > maxRequest {
		return b, ErrTooLong
	}
	all := pdu.Profile{Default: p.Default, InDoms: p.InDoms}
	if b = all.Append(b, 0); bytes.Equal(b, c.profile) {
		b = b[:0] // pmcd has this one
	} else {
		c.profile = append(c.profile[:0], b...)
	}
	if f.asked = c.features&pcp.FeatureHighres != 0; f.asked {
		return (*pdu.HighresFetch)(&request).Append(b, 0), nil
	}
	return request.Append(b, 0), nil
}

func (f *fetch) take(c *Conn, b []byte) (bool, error) {
	code, err := refusal(b)
	switch {
	case err != nil:
		return false, err
	case code > 0:
		c.changes.note(uint32(code))
		return false, nil
	case code < 0:
		return true, code
	}
	s := f.sample
	if f.asked {
		if err := f.highres.Parse(b); err != nil {
			return false, err
		}
		s.Time, s.Sets = time.Unix(f.highres.Sec, f.highres.Nsec), f.highres.Sets
	} else {
		if err := f.plain.Parse(b); err != nil {
			return false, err
		}
		s.Time, s.Sets = time.Unix(int64(f.plain.Sec), int64(f.plain.Usec)*1000), f.plain.Sets
	}
	s.Changes = c.changes
	return true, f.check()
}

// check holds the sets against what was asked for, and gives the values their types.
func (f *fetch) check() error {
	sets, metrics := f.sample.Sets, f.sample.Metrics
	if len(sets) != len(metrics) {
		return fmt.Errorf("%w: %d sets of values for %d metrics", ErrProtocol, len(sets), len(metrics))
	}
	for i := range sets {
		if sets[i].PMID != metrics[i].PMID {
			return fmt.Errorf("%w: values of %v instead of %v", ErrProtocol, sets[i].PMID, metrics[i].PMID)
		}
		typed(&sets[i], metrics[i].Type)
	}
	return nil
}

// typed gives the values of a set the type of their metric.
func typed(s *pdu.ValueSet, t pcp.Type) {
	for i := range s.Values {
		v, err := s.Values[i].As(t)
		if err != nil {
			s.Err, s.Values = pcp.ErrConv, s.Values[:0]
			return
		}
		s.Values[i].Value = v
	}
}
