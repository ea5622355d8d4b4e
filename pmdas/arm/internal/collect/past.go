package collect

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"github.com/pcp-rtime/rtime/internal/armseg/layout"
	"github.com/pcp-rtime/rtime/internal/armseg/reader"
)

// past is the record of what processes had counted that have ended: a log for each user,
// and one of which names have rows of their own. Entries are added in one write each.
// A log that has grown is written anew as a single entry, and renamed.
type past struct {
	dir   string
	rows  logFile
	stale bool // the log of rows must be written anew, which failed
	logs  map[uint32]*userLog
}

type userLog struct {
	logFile
	least int64 // how long it was when it was written anew
}

const (
	logSuffix  = ".log"
	rowsLog    = "rows" + logSuffix
	compactMin = 1 << 20 // bytes that a log may grow by, and as much as it had
)

// pastEntry is what one process had counted, or several.
type pastEntry struct {
	File  string     `json:"file,omitempty"`
	Inode uint64     `json:"inode,omitempty"`
	Files []pastFile `json:"files,omitempty"` // of several: those that are still there
	Trans []pastTran `json:"trans,omitempty"`
	Pairs []pastPair `json:"pairs,omitempty"`
}

type pastFile struct {
	File  string `json:"file"`
	Inode uint64 `json:"inode"`
}

// pastTran is a transaction. An empty application is what was over a limit.
type pastTran struct {
	App      string `json:"app"`
	AppDescr string `json:"appdescr,omitempty"`
	Tran     string `json:"tran"`
	Descr    string `json:"descr,omitempty"`
	reader.Totals
	Abandoned uint64       `json:"abandoned,omitempty"`
	Avg       float64      `json:"avg,omitempty"`
	Last      uint64       `json:"last,omitempty"`
	LastAt    int64        `json:"lastat,omitempty"`
	Metrics   []pastMetric `json:"metrics,omitempty"`
}

type pastMetric struct {
	Label string `json:"label"`
	reader.MetricTotals
}

type pastPair struct {
	Name string `json:"name"`
	reader.PairTotals
}

// rowsHead is the first line of the record of rows.
type rowsHead struct {
	Apart bool `json:"apart"`
}

// open reads the record, and makes rows of it.
func (p *past) open(c *Collector, dir string) error {
	p.dir, p.logs = dir, make(map[uint32]*userLog)
	if err := makeOwn(dir, layout.PastMode); err != nil {
		return err
	}
	p.rows = logFile{path: filepath.Join(dir, rowsLog), step: c.host.step}
	if err := p.openRows(c); err != nil {
		return err
	}
	list, err := os.ReadDir(dir)
	if err != nil {
		return err
	}
	for _, f := range list {
		name, ok := strings.CutSuffix(f.Name(), logSuffix)
		if strings.HasSuffix(f.Name(), newSuffix) {
			_ = os.Remove(filepath.Join(dir, f.Name())) // it is written over otherwise
			continue
		}
		uid, err := strconv.ParseUint(name, 10, 32)
		if !ok || err != nil {
			continue
		}
		if err := p.openUser(c, uint32(uid)); err != nil {
			return err
		}
	}
	return nil
}

// openRows makes the rows of earlier collectors. Rows that were named by another rule
// are not wanted.
func (p *past) openRows(c *Collector) error {
	first, other := true, false
	damaged, err := p.rows.read(func(line []byte) error {
		if first {
			first = false
			var h rowsHead
			if err := unmarshal(line, &h); err != nil {
				return err
			}
			other = h.Apart != c.rows.apart
			return nil
		}
		var list []choice
		if err := unmarshal(line, &list); err != nil {
			return err
		}
		for _, ch := range list {
			if !other {
				c.rows.restore(ch)
			}
		}
		return nil
	})
	if err := c.damaged(p.rows.path, damaged, err); err != nil {
		return err
	}
	p.stale = other || first || damaged > 0
	p.renewRows(c)
	return nil
}

// renewRows writes the log of rows anew if that is needed; false says that it could not.
// The next look tries again: any user can fill the file system, and what is recorded can be
// exported all the same.
func (p *past) renewRows(c *Collector) bool {
	if !p.stale {
		return true
	}
	err := p.rows.replace(c.rows.record()...)
	if errors.Is(err, fs.ErrNotExist) {
		err = p.makeAnew(c)
	}
	if err != nil {
		c.fail(err)
		return false
	}
	p.stale, c.rows.unsaved = false, nil
	return true
}

// saveRows records what was decided about new names; false says that it could not.
func (p *past) saveRows(c *Collector) bool {
	if !p.renewRows(c) {
		return false
	}
	if len(c.rows.unsaved) == 0 {
		return true
	}
	err := p.rows.add(c.rows.unsaved)
	if errors.Is(err, fs.ErrNotExist) && p.makeAnew(c) == nil { // with all that is unsaved
		err = nil
	}
	if err != nil {
		c.fail(err)
		return false
	}
	c.rows.unsaved = nil
	c.host.step("rows: recorded")
	return true
}

// makeAnew makes the directory, which somebody has removed, with what is decided. What
// ended processes had counted is lost to the next collector.
func (p *past) makeAnew(c *Collector) error {
	for _, l := range p.logs {
		l.size, l.least = 0, 0
	}
	if err := makeOwn(p.dir, layout.PastMode); err != nil {
		return err
	}
	return p.rows.replace(c.rows.record()...)
}

func (p *past) log(uid uint32) *userLog {
	l := p.logs[uid]
	if l == nil {
		path := filepath.Join(p.dir, strconv.FormatUint(uint64(uid), 10)+logSuffix)
		l = &userLog{logFile: logFile{path: path, step: p.rows.step}}
		p.logs[uid] = l
	}
	return l
}

// openUser makes rows of what a user's processes had counted.
func (p *past) openUser(c *Collector, uid uint32) error {
	l := p.log(uid)
	entries, damaged, err := l.entries()
	if err := c.damaged(l.path, damaged, err); err != nil {
		return err
	}
	user := loginName(uid)
	for _, e := range entries {
		c.recall(user, e)
		for _, f := range e.files() {
			c.folded[f.File] = f.Inode
		}
	}
	l.least = l.size
	if len(entries) > 1 || damaged > 0 {
		c.fail(p.compact(c, l, entries)) // without room the log stays as it is
	}
	return nil
}

// add records an entry; false says that it could not.
func (p *past) add(c *Collector, uid uint32, e *pastEntry) bool {
	if len(e.Trans) == 0 && len(e.Pairs) == 0 {
		return true // it has counted nothing
	}
	l := p.log(uid)
	err := l.logFile.add(e)
	if errors.Is(err, fs.ErrNotExist) && p.makeAnew(c) == nil {
		err = l.logFile.add(e)
	}
	if err != nil {
		c.fail(err)
		return false
	}
	if l.size > 2*l.least+compactMin {
		entries, damaged, err := l.entries()
		err = c.damaged(l.path, damaged, err)
		if err == nil {
			err = p.compact(c, l, entries)
		}
		c.fail(err)
	}
	return true
}

// compact writes a log anew. The files that are still there stay noted.
func (p *past) compact(c *Collector, l *userLog, entries []*pastEntry) error {
	sum := new(pastEntry)
	m := merger{to: sum, trans: make(map[[2]string]*pastTran), pairs: make(map[string]*pastPair)}
	for _, e := range entries {
		for _, f := range e.files() {
			if c.isThere(f) {
				sum.Files = append(sum.Files, f)
			}
		}
		m.add(e)
	}
	m.finish()
	if err := l.replace(sum); err != nil {
		return err
	}
	l.least = l.size
	return nil
}

// isThere reports whether a file that is recorded is still in the directory.
func (c *Collector) isThere(f pastFile) bool {
	info, err := os.Lstat(c.path(f.File))
	return err == nil && inode(info) == f.Inode
}

func (e *pastEntry) files() []pastFile {
	if e.File != "" {
		return append(e.Files, pastFile{e.File, e.Inode})
	}
	return e.Files
}
