package supply

import (
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
	loaded bool // what it has is taken in
	stale  bool
	gone   bool
	fault  error

	stamp   reader.Stamp // as last seen
	stampAt time.Time    // when it was first seen so
	told    Demand
}

// Info returns what the segment says of the supplier for good.
func (s *Supplier) Info() reader.Info { return s.r.Info() }

// Contexts returns the fixed contexts and the templates, in the supplier's order.
func (s *Supplier) Contexts() []reader.Context { return s.r.Contexts() }

// Reader returns what values are read with, as long as Usable says so.
func (s *Supplier) Reader() *reader.Reader { return s.r }

// Usable reports whether the segment is open, and no damage to it has been met.
func (s *Supplier) Usable() bool { return !s.gone && s.fault == nil }

// Break notes that damage was met while values were read. The supplier goes with the
// next Look.
func (s *Supplier) Break(err error) {
	if s.fault == nil {
		s.fault = err
	}
}

// Bytes returns the size of the segment.
func (s *Supplier) Bytes() int64 { return s.bytes }

// StampAt returns when the time stamp was first seen as it is.
func (s *Supplier) StampAt() time.Time { return s.stampAt }

const (
	churnBurst = 400000 // changes of slots at once
	churnRate  = 20000  // and in each second thereafter
)

// follow takes in what has changed of a supplier's volatile contexts.
func (p *Supply) follow(s *Supplier) error {
	yes, err := s.r.Changed()
	if err == nil && yes && s.loaded {
		err = p.scan(s)
	}
	return err
}

// load takes in all contexts.
func (p *Supply) load(s *Supplier) error {
	s.loaded = true
	s.source.Load()
	return p.scan(s)
}

// unload gives all contexts up.
func (s *Supplier) unload() {
	s.loaded = false
	s.source.Unload()
}

// scan follows what changed in the slots.
func (p *Supply) scan(s *Supplier) error {
	n, err := s.r.Scan(s.source, int(s.User.Churn.Fill(p.Now(), churnBurst, churnRate)))
	s.User.Churn.Left -= float64(n)
	if grown := s.r.Bytes() - s.bytes; grown > 0 {
		s.bytes += grown
		s.User.Bytes += grown
	}
	if err == nil && s.User.Bytes > p.Conf.Bytes {
		err = fmt.Errorf("%w: more than %d bytes of one user", reader.ErrLimit, p.Conf.Bytes)
	}
	return err
}
