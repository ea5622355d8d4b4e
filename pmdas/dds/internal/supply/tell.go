package supply

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"time"

	"github.com/pcp-rtime/rtime/internal/ddsseg/layout"
	"github.com/pcp-rtime/rtime/internal/ddsseg/reader"
	"github.com/pcp-rtime/rtime/pmdas/dds/internal/supply/segments"
)

// Demand is what a supplier is told of the clients: how many of its values they ask for, and
// the shortest interval at which one of them asks. Both are zero if nobody asks.
type Demand struct {
	Values   uint32
	Interval time.Duration
}

// Told returns what the supplier was last told.
func (s *Supplier) Told() Demand { return s.told }

// Tell tells a supplier of the demand if it has changed. The interval is rounded to whole
// milliseconds.
func (p *Supply) Tell(s *Supplier, d Demand) {
	d.Interval = d.Interval.Round(time.Millisecond)
	if s.told == d || s.gone || p.Trying {
		return
	}
	s.told = d
	p.notify(s)
}

// notify writes the supplier's notice. If that fails, the supplier is not told, and that does
// not count as its error.
func (p *Supply) notify(s *Supplier) {
	if p.Trying {
		return
	}
	n := reader.Notice{GoAway: s.sentAway, Interval: s.told.Interval, Values: s.told.Values}
	if err := n.Write(p.Dir.Path, s.File); err != nil {
		p.Complain(s.User.UID, "%v", err)
	}
}

// dropNotice removes a supplier's notice. The supplier may still have the file open.
func (p *Supply) dropNotice(file string) {
	if p.Trying {
		return
	}
	if err := os.Remove(reader.NoticePath(p.Dir.Path, file)); err != nil && !errors.Is(err, fs.ErrNotExist) {
		uid, _ := owner(file)
		p.Complain(uid, "%v", err)
	}
}

// dropNotices removes the notices of suppliers that are not there any more. An earlier agent
// may have left them.
func (p *Supply) dropNotices() {
	list, err := os.ReadDir(filepath.Join(p.Dir.Path, layout.NoticeDir))
	if err != nil {
		return
	}
	for _, e := range list {
		if p.suppliers[e.Name()] == nil && p.dir.Look(e.Name()) == (segments.Entry{}) {
			p.dropNotice(e.Name())
		}
	}
}
