package writer

import (
	"errors"
	"os/user"
	"sync/atomic"

	"github.com/pcp-rtime/rtime/internal/armseg/layout"
)

// ErrFull says that all numbers for names are in use.
var ErrFull = errors.New("no room for another name")

// table is one of the two kinds of records in a file of names.
type table struct {
	hash    uint64 // offset of the heads of chains
	heads   uint32
	next    uint64 // offset of the number of records handed out
	max     uint32
	records uint64
	length  uint64
	state   uint64 // offsets in a record
	key     uint64
}

var (
	appTable = table{namesAppHash, layout.AppHashLen, layout.NamesAppNext, layout.AppMax, namesApps, layout.AppLen, layout.AppState, layout.AppKey}
	tranTab  = table{namesTranHash, layout.TranHashLen, layout.NamesTranNext, layout.TranMax, namesTrans, layout.TranLen, layout.TranState, layout.TranKey}
)

// entry is a name to look up, and to add if it is not there.
type entry struct {
	*table
	hashed uint32
	key    string
	same   func(at uint64) bool // further conditions
	fill   func(at uint64)      // writes the rest of a new record
}

// app returns the number of an application. The same name with another user is another
// application.
func (n *names) app(key, descr, who string) (uint32, error) {
	who = userName(who)
	e := entry{table: &appTable, hashed: layout.HashApp(key), key: key,
		same: func(at uint64) bool { return n.text(at+layout.AppUser, 128) == who },
		fill: func(at uint64) {
			putText(n.base, at+layout.AppDescr, 64, descr)
			putText(n.base, at+layout.AppUser, 128, who)
		}}
	return n.number(&e)
}

// tran returns the number of a transaction. The same name with other metrics is another
// transaction.
func (n *names) tran(app uint32, key, descr, detail string, metrics *Declared) (uint32, error) {
	e := entry{table: &tranTab, hashed: layout.HashTran(app, key), key: key,
		same: func(at uint64) bool { return get32(n.base, at+layout.TranApp) == app && n.declared(at) == *metrics },
		fill: func(at uint64) {
			put32(n.base, at+layout.TranApp, app)
			putText(n.base, at+layout.TranDescr, 64, descr)
			putText(n.base, at+layout.TranDetail, 128, detail)
			n.declare(at, metrics)
		}}
	return n.number(&e)
}

func userName(who string) string {
	if who != "*" {
		return who
	}
	u, err := user.Current()
	if err != nil {
		return ""
	}
	return u.Username
}

// number looks a name up and adds it if it is not there. It takes no lock. A process that is
// killed half way through loses one record, and nothing else.
func (n *names) number(e *entry) (uint32, error) {
	head := word32(n.base, e.hash+4*uint64(e.hashed%e.heads))
	first := atomic.LoadUint32(head)
	if id := n.find(e, first, 0); id != 0 {
		return id, nil
	}
	id, err := n.record(e)
	if err != nil {
		return 0, err
	}
	at := e.at(id)
	for {
		put32(n.base, at, first)
		if atomic.CompareAndSwapUint32(head, first, id) {
			return id, nil
		}
		// Records that were added meanwhile stand in front of those that were
		// searched before.
		now := atomic.LoadUint32(head)
		if other := n.find(e, now, first); other != 0 {
			put32(n.base, at+e.state, layout.RecordDead)
			return other, nil
		}
		first = now
	}
}

func (t *table) at(id uint32) uint64 { return t.records + uint64(id-1)*t.length }

// find searches a chain from one record up to another, which it leaves out. If a stranger
// has bent the chain into a ring, the search ends after as many steps as there are records.
func (n *names) find(e *entry, from, to uint32) uint32 {
	for steps := uint32(0); from != to && from != 0 && from <= e.max && steps < e.max; steps++ {
		at := e.at(from)
		if get32(n.base, at+e.state) == layout.RecordPublished && n.hasKey(at+e.table.key, e.key) && e.same(at) {
			return from
		}
		from = get32(n.base, at)
	}
	return 0
}

func (n *names) hasKey(off uint64, key string) bool {
	field := bytesAt(n.base, off, layout.KeyMax+1)
	return string(field[:len(key)]) == key && field[len(key)] == 0
}

// record takes a record and fills it.
func (n *names) record(e *entry) (uint32, error) {
	next := word32(n.base, e.next)
	for {
		taken := atomic.LoadUint32(next)
		if taken >= e.max {
			return 0, ErrFull
		}
		// The record gets its room before it is taken, so that it can be stored in.
		if err := n.back(e.at(taken+1), e.length); err != nil {
			return 0, err
		}
		if !atomic.CompareAndSwapUint32(next, taken, taken+1) {
			continue
		}
		at := e.at(taken + 1)
		if get32(n.base, at+e.state) != layout.RecordEmpty {
			continue // the header is damaged: the record belongs to another name
		}
		putText(n.base, at+e.table.key, layout.KeyMax+1, e.key)
		e.fill(at)
		put32(n.base, at+e.state, layout.RecordPublished)
		return taken + 1, nil
	}
}
