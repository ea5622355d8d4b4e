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

// Metric is a metric: its name and its descriptor. The descriptor is good until another
// version of the agent replaces this one; see Changes.
type Metric struct {
	Name string
	pcp.Desc
}

// Profile says which instances a fetch wants; nil means all. It is pdu.Profile; the field
// Context is ignored. Only makes profiles that exclude all instances except those of a list.
type Profile = pdu.Profile

// Only returns the profile that wants only the listed instances of one instance domain, and
// all instances of other domains.
func Only(d pcp.InDom, instances ...int32) *Profile {
	return &Profile{InDoms: []pdu.InDomProfile{{InDom: d, State: pdu.Exclude, List: instances}}}
}

// Changes counts the changes that pmcd has reported. A new connection counts as one of each
// kind, because reports in between are lost. The counts grow for as long as a Conn or a Client
// exists. Compare those of two samples to find out whether something changed in between.
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

// Sample is the result of one fetch: values of many metrics at one moment. If a Sample is used
// for several fetches, it keeps its memory, so that a fetch of numbers does not allocate. Only
// one goroutine at a time may use it.
type Sample struct {
	// Time is when pmcd had collected the values, by its host's clock.
	Time time.Time
	// Changes tells whether something changed since another sample.
	Changes Changes
	// Metrics are the metrics that were asked for: the slice that Fetch was given.
	Metrics []*Metric
	// Sets holds, for each metric that was asked for, in the same order, its values or the
	// reason why there are none. In the second case Err is negative. If there are no values
	// and no error, there are no instances at the moment. Values have the type of the metric's
	// descriptor. They are good until the next fetch into the same Sample, except that the
	// bytes of strings, aggregates and events stay good.
	Sets []pdu.ValueSet

	order [][]int32 // see sorted
	fetch fetch
}

// fetch is the request that fills a Sample.
type fetch struct {
	sample  *Sample
	profile *Profile

	ids     []pcp.PMID
	asked   bool // high resolution was asked for
	plain   pdu.Result
	highres pdu.HighresResult
}

// Fetch gets the values of metrics at one moment into s. A profile restricts it to some
// instances. The time is in nanoseconds if pmcd offers them, and otherwise in microseconds.
//
// An error of one metric is in its set: pcp.ErrPMID if pmcd or the agent does not know the
// metric, pcp.ErrNoAgent, pcp.ErrValue and so on, and pcp.ErrConv if the values do not have
// the type of the descriptor. If Fetch returns an error, s has no sets.
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
		b = b[:0] // pmcd already has this profile
	} else {
		c.profile = append(c.profile[:0], b...)
	}
	if f.asked = c.features&pcp.FeatureHighres != 0; f.asked {
		return (*pdu.HighresFetch)(&request).Append(b, 0), nil
	}
	return request.Append(b, 0), nil
}

func (f *fetch) take(c *Conn, b []byte) (bool, error) {
	if other, done, err := c.otherThanAnswer(b); other {
		return done, err
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

// check compares the sets with what was asked for, and gives the values their types.
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
