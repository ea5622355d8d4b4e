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
// and one of which names have rows of their own. The logs are journals. One that has grown
// is written anew as a single entry.
type past struct {
	dir   string
	rows  logFile
	stale bool // the log of rows must be written anew, which failed
	logs  map[uint32]*userLog
}

type userLog struct {
	logFile
	damaged bool // it takes nothing until it is written anew, which has failed
}

const (
	logSuffix = ".past"
	newSuffix = ".new" // of a log that is being written
	rowsLog   = "rows" + logSuffix
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
		if !ok {
			name, ok = strings.CutSuffix(f.Name(), oldSuffix)
		}
		if strings.HasSuffix(f.Name(), newSuffix) {
			_ = os.Remove(filepath.Join(dir, f.Name())) // it is written over otherwise
			continue
		}
		uid, err := strconv.ParseUint(name, 10, 32)
		if !ok || err != nil || p.logs[uint32(uid)] != nil {
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
	damage, err := p.rows.read(func(line []byte) error {
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
	if err != nil {
		return err
	}
	c.damaged(damage)
	p.stale = other || first || damage != nil
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
	if errors.Is(err, fs.ErrNotExist) && p.makeAnew(c) == nil {
		err = p.rows.replace(c.rows.record()...)
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
	if err != nil {
		c.fail(err)
		return false
	}
	c.rows.unsaved = nil
	if p.rows.missing() {
		c.fail(p.makeAnew(c))
	}
	c.host.step("rows: recorded")
	return true
}

// makeAnew makes the directory and the logs that somebody has removed, with all that was in
// them.
func (p *past) makeAnew(c *Collector) error {
	err := makeOwn(p.dir, layout.PastMode)
	for _, l := range p.logs {
		err = errors.Join(err, l.again())
	}
	return errors.Join(err, p.rows.again())
}

// close closes all logs.
func (p *past) close() error {
	err := p.rows.close()
	for _, l := range p.logs {
		err = errors.Join(err, l.close())
	}
	return err
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
	user, n := loginName(uid), 0
	damage, err := l.read(func(text []byte) error {
		e := new(pastEntry)
		if err := unmarshal(text, e); err != nil {
			return err
		}
		n++
		c.recall(user, e)
		for _, f := range e.files() {
			c.folded[f.File] = f.Inode
		}
		return nil
	})
	if err != nil {
		return err
	}
	c.damaged(damage)
	if l.damaged = damage != nil; l.damaged || n > 1 {
		c.fail(p.compact(c, l)) // without room the log stays as it is
	}
	return nil
}

// add records an entry; false says that it could not.
func (p *past) add(c *Collector, uid uint32, e *pastEntry) bool {
	if len(e.Trans) == 0 && len(e.Pairs) == 0 {
		return true // it has counted nothing
	}
	l := p.log(uid)
	if l.damaged {
		c.fail(p.compact(c, l))
	}
	err := l.logFile.add(e)
	if errors.Is(err, fs.ErrNotExist) && p.makeAnew(c) == nil {
		err = l.logFile.add(e)
	}
	if err != nil {
		c.fail(err)
		return false
	}
	if l.missing() {
		c.fail(p.makeAnew(c)) // it is recorded for as long as this agent runs
	}
	if l.j.Grown() {
		c.fail(p.compact(c, l))
	}
	return true
}

// compact writes a log anew. The files that are still there stay noted.
func (p *past) compact(c *Collector, l *userLog) error {
	entries, err := l.entries()
	if err != nil {
		return err
	}
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
	l.damaged = false
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
