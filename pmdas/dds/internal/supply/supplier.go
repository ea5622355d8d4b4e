package supply

import (
	"cmp"
	"fmt"
	"time"

	"github.com/pcp-rtime/rtime/internal/ddsseg/reader"
	"github.com/pcp-rtime/rtime/pmdas/dds/internal/account"
)

// Supplier is a program whose segment is open.
type Supplier struct {
	File string // name of the segment in its directory
	User *account.User

	r      *reader.Reader
	source Source
	bytes  int64
	made   int64 // when its file was made, in nanoseconds since 1970
	fresh  bool  // some of what it came with is not taken in yet
	loaded bool  // the fixed contexts are taken in
	leaves bool  // what it had is being given up
	stale  bool
	gone   bool
	fault  error

	stamp    reader.Stamp // as last seen
	stampAt  time.Time    // when that stamp was first seen
	told     Demand
	sentAway time.Time // when it was told to go away; zero if it was not

	dismissed  bool          // see SendAway
	timeout    time.Duration // see SetTimeout
	timeoutSet bool
}

// Info returns what the segment says of the supplier for good.
func (s *Supplier) Info() reader.Info { return s.r.Info() }

// Contexts returns the fixed contexts and the templates, in the supplier's order.
func (s *Supplier) Contexts() []reader.Context { return s.r.Contexts() }

// Reader returns the reader of the segment's values. It is good while Usable returns true.
func (s *Supplier) Reader() *reader.Reader { return s.r }

// Usable reports whether the segment is open and no damage to it has been found.
func (s *Supplier) Usable() bool { return !s.gone && s.fault == nil }

// Break notes that damage was found while values were read. The supplier goes with the next
// Look.
func (s *Supplier) Break(err error) {
	if s.fault == nil {
		s.fault = err
	}
}

// Stale reports whether the supplier was told to go away, and has not come back.
func (s *Supplier) Stale() bool { return s.stale }

// Bytes returns the size of the segment.
func (s *Supplier) Bytes() int64 { return s.bytes }

// StampAt returns when the present time stamp was first seen.
func (s *Supplier) StampAt() time.Time { return s.stampAt }

const (
	churnBurst = 400000 // changes of slots at once
	churnRate  = 20000  // and in each second thereafter
)

// Fresh reports whether the supplier has just come: some of what it came with is not taken
// in yet.
func (s *Supplier) Fresh() bool { return s.fresh }

// Older reports whether the supplier's file was made before another's.
func (s *Supplier) Older(o *Supplier) bool {
	return cmp.Or(cmp.Compare(s.made, o.made), cmp.Compare(s.File, o.File)) < 0
}

// busy reports whether anything of a supplier is left to take in or to give up.
func (s *Supplier) busy() (bool, error) {
	switch {
	case s.leaves:
		return true, nil
	case s.stale || s.gone:
		return false, nil
	case !s.loaded:
		return true, nil
	}
	return s.r.Changed()
}

// step takes in some more of what a supplier has, or gives up some more of what it had. It
// reports whether that is all for now.
func (p *Supply) step(s *Supplier) (done bool, err error) {
	if s.leaves {
		if !s.source.Unload(atOnce) {
			return false, nil
		}
		s.leaves, s.loaded = false, false
		return true, nil
	}
	if !s.loaded {
		if !s.source.Load(atOnce) {
			return false, nil
		}
		s.loaded = true
	}
	n, err := p.scan(s)
	if done = n < atOnce; done && s.fresh && err == nil {
		p.takenIn(s)
		p.check(s, p.Now())
	}
	return done, err
}

// atOnce is how many contexts are dealt with between two looks at the time.
const atOnce = 256

// scan follows some of what changed in the slots.
func (p *Supply) scan(s *Supplier) (n int, err error) {
	n, err = s.r.Scan(s.source, min(int(s.User.Churn.Fill(p.Now(), churnBurst, churnRate)), atOnce))
	s.User.Churn.Left -= float64(n)
	if grown := s.r.Bytes() - s.bytes; grown > 0 {
		s.bytes += grown
		s.User.Bytes += grown
	}
	if err == nil && s.User.Bytes > p.Conf.Bytes {
		err = fmt.Errorf("%w: the segments of user %d have %d bytes; the limit maxbytes in dds.conf is %d", reader.ErrLimit, s.User.UID, s.User.Bytes, p.Conf.Bytes)
	}
	return n, err
}
