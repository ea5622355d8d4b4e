// Package past is rtarm's record of the past: what processes had counted that have ended,
// and which names have rows of their own. It knows records and counts, and neither the files
// of programs nor the rows that the agent exports.
//
// The record is a directory of journals, one for each user and one of names. With it the
// agent's counters go on when the agent is started again. A process's file may be removed as
// soon as Add has recorded its Entry, because an entry is written in one write(2). One agent
// at a time keeps a record: see Lock.
package past

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"github.com/pcp-rtime/rtime/internal/armseg/layout"
	"github.com/pcp-rtime/rtime/internal/journal"
	"github.com/pcp-rtime/rtime/pmdas/internal/kit/segdir"
)

// Options are what a Record is opened with.
type Options struct {
	Dir string // of the record; it is made if it is not there
	// Apart says that names begin with the user's name. Names that were chosen with the
	// other setting are forgotten.
	Apart bool
	// There reports whether a program's file is still there. The record of a file that is
	// there stays apart from others, so that the file is not counted again.
	There func(File) bool
	// Fail is told of each error that the record survives: it tries again later.
	Fail func(error)
	// Step is called where a test may want to end the agent; nil for everybody else.
	Step func(what string)
}

// Record is an open record. It belongs to one goroutine.
type Record struct {
	o       Options
	names   log
	lost    []Choice // what must be in the log of names when it is written anew
	stale   bool     // the log of names must be written anew
	users   map[uint32]*userLog
	damaged uint64
}

// userLog is what processes of a user had counted.
type userLog struct {
	log
	damaged bool // it takes no entry until it has been written anew
}

const (
	logSuffix = ".past"
	newSuffix = ".new" // of a log that is being written
	namesLog  = "rows" + logSuffix
)

// namesHead is the first record in the log of names.
type namesHead struct {
	Apart bool `json:"apart"`
}

// Open reads the record. It calls chosen with each choice that was saved, in order, and then
// counted with each entry that was added. A damaged log is no error: what can be read of it
// counts.
func Open(o Options, chosen func(Choice), counted func(uid uint32, e *Entry)) (*Record, error) {
	if o.Step == nil {
		o.Step = func(string) {}
	}
	r := &Record{o: o, users: make(map[uint32]*userLog)}
	if err := r.open(chosen, counted); err != nil {
		return nil, errors.Join(err, r.Close())
	}
	return r, nil
}

func (r *Record) open(chosen func(Choice), counted func(uint32, *Entry)) error {
	if err := segdir.MakeOwn(r.o.Dir, layout.PastMode); err != nil {
		return err
	}
	r.names = log{path: filepath.Join(r.o.Dir, namesLog), step: r.o.Step}
	if err := r.openNames(chosen); err != nil {
		return err
	}
	list, err := os.ReadDir(r.o.Dir)
	if err != nil {
		return err
	}
	for _, f := range list {
		name, ok := strings.CutSuffix(f.Name(), logSuffix)
		if !ok {
			name, ok = strings.CutSuffix(f.Name(), oldSuffix)
		}
		if strings.HasSuffix(f.Name(), newSuffix) {
			_ = os.Remove(filepath.Join(r.o.Dir, f.Name())) // if it stays, it is overwritten later
			continue
		}
		uid, err := strconv.ParseUint(name, 10, 32)
		if !ok || err != nil || r.users[uint32(uid)] != nil {
			continue
		}
		if err := r.openUser(uint32(uid), counted); err != nil {
			return err
		}
	}
	return nil
}

// openNames reads the choices of earlier agents.
func (r *Record) openNames(chosen func(Choice)) error {
	first, other := true, false
	var all []Choice
	damage, err := r.names.read(func(line []byte) error {
		if first {
			first = false
			var h namesHead
			if err := unmarshal(line, &h); err != nil {
				return err
			}
			other = h.Apart != r.o.Apart
			return nil
		}
		var list []Choice
		if err := unmarshal(line, &list); err != nil {
			return err
		}
		if !other {
			all = append(all, list...)
		}
		return nil
	})
	if err != nil {
		return err
	}
	r.note(damage)
	for _, c := range all {
		chosen(c)
	}
	if r.stale = other || first || damage != nil; r.stale {
		r.lost = all
	}
	r.renew(nil)
	return nil
}

// renew writes the log of names anew if that is needed, with what is new; false says that it
// could not. The next call tries again. Until then what is recorded can be exported all the
// same: any user can fill the file system.
func (r *Record) renew(more []Choice) bool {
	if !r.stale {
		return true
	}
	lines := []any{namesHead{r.o.Apart}}
	for _, list := range [][]Choice{r.lost, more} {
		if len(list) > 0 {
			lines = append(lines, list)
		}
	}
	err := r.names.replace(lines...)
	if errors.Is(err, fs.ErrNotExist) && r.makeAnew() == nil {
		err = r.names.replace(lines...)
	}
	if err != nil {
		r.fail(err)
		return false
	}
	r.stale, r.lost = false, nil
	return true
}

// Save records choices; false says that it could not, and nothing of them is recorded.
func (r *Record) Save(list []Choice) bool {
	if r.stale {
		return r.renew(list)
	}
	if len(list) == 0 {
		return true
	}
	if err := r.names.add(list); err != nil {
		r.fail(err)
		return false
	}
	if r.names.missing() {
		r.fail(r.makeAnew())
	}
	return true
}

// Add records an entry; false says that it could not. An entry that has counted nothing is not
// recorded.
func (r *Record) Add(uid uint32, e *Entry) bool {
	if len(e.Trans) == 0 && len(e.Pairs) == 0 {
		return true
	}
	l := r.user(uid)
	if l.damaged {
		r.fail(r.compact(l))
	}
	err := l.add(e)
	if errors.Is(err, fs.ErrNotExist) && r.makeAnew() == nil {
		err = l.add(e)
	}
	if err != nil {
		r.fail(err)
		return false
	}
	if l.missing() {
		r.fail(r.makeAnew()) // the entry is recorded for as long as this agent runs
	}
	if l.j.Grown() {
		r.fail(r.compact(l))
	}
	return true
}

// Damaged returns how many lines of the record were damaged when it was opened.
func (r *Record) Damaged() uint64 { return r.damaged }

// Close closes all files. Everything is in them already.
func (r *Record) Close() error {
	err := r.names.close()
	for _, l := range r.users {
		err = errors.Join(err, l.close())
	}
	return err
}

// makeAnew makes the directory and the logs again that somebody has removed, with everything
// that was in them.
func (r *Record) makeAnew() error {
	err := segdir.MakeOwn(r.o.Dir, layout.PastMode)
	for _, l := range r.users {
		err = errors.Join(err, l.again())
	}
	return errors.Join(err, r.names.again())
}

func (r *Record) user(uid uint32) *userLog {
	l := r.users[uid]
	if l == nil {
		path := filepath.Join(r.o.Dir, strconv.FormatUint(uint64(uid), 10)+logSuffix)
		l = &userLog{log: log{path: path, step: r.o.Step}}
		r.users[uid] = l
	}
	return l
}

// openUser reads what processes of a user had counted.
func (r *Record) openUser(uid uint32, counted func(uint32, *Entry)) error {
	l, n := r.user(uid), 0
	damage, err := l.read(func(text []byte) error {
		e := new(Entry)
		if err := unmarshal(text, e); err != nil {
			return err
		}
		n++
		counted(uid, e)
		return nil
	})
	if err != nil {
		return err
	}
	r.note(damage)
	if l.damaged = damage != nil; l.damaged || n > 1 {
		r.fail(r.compact(l)) // if there is no room, the log stays as it is
	}
	return nil
}

// compact writes a user's log anew, as one entry. It keeps the names of files that are still
// there.
func (r *Record) compact(l *userLog) error {
	sum := newMerger()
	err := l.j.Read(func(text []byte) error {
		e := new(Entry)
		if unmarshal(text, e) == nil { // Open has counted the others as damaged
			for _, f := range e.AllFiles() {
				if r.o.There(f) {
					sum.to.Files = append(sum.to.Files, f)
				}
			}
			sum.add(e)
		}
		return nil
	})
	if err != nil {
		return err
	}
	if err := l.replace(sum.to); err != nil {
		return err
	}
	l.damaged = false
	return nil
}

// note notes damage to a log.
func (r *Record) note(d *journal.Damage) {
	if d != nil {
		r.fail(fmt.Errorf("%v", d))
		r.damaged += uint64(d.Lines)
	}
}

func (r *Record) fail(err error) {
	if err != nil {
		r.o.Fail(err)
	}
}
