// Package ids gives names numbers that are kept for ever: a number that was once given to a
// name is never given to another, across restarts, kills and damaged files. Agents use it for
// instance ids, instance domains and the items of dynamic metrics. If one number stood for two
// names, values of both would be mixed in archives.
//
// An agent has one File, a journal (package journal), with as many spaces of numbers as
// it needs, and with values under keys for what else must outlive it:
//
//	f, err := ids.Open("/var/lib/pcp/config/pmda/dds.ids")
//	items, err := f.Space("items", 1<<19-1)
//	n, err := items.ID("DDS/IBM/Test/gadgets")   // from memory, at once
//	err = f.Put("metric DDS/IBM/Test/gadgets", description)
//	err = f.Commit()                             // before anybody is told n
//
// ID and Put only change memory. Commit hands everything that is new to the file, in one
// write(2), which a goroutine does: after that a kill takes nothing back. The same
// goroutine's fsync(2), soon after, makes it safe from a power failure. Package pmda calls
// Commit before each answer to pmcd, so agents that use pmda.Server do not call it.
//
// A power failure takes back the records of the last moments, and the names in them get other
// numbers. Nobody else may get the lost numbers. So the file says, synced and well ahead, below
// which bound numbers may have been given out.
// If a File was not closed, numbering goes on at that bound, even if the process was only
// killed. The file cannot tell a kill from a power failure, nor whether the disk was full or
// did not answer when the last numbers were told. Map.block says how few numbers are skipped.
//
// One process at a time owns a file, by flock(2) on FILE.lock. While another process has the
// lock, and while the file cannot be read or written, a File goes on in memory. Map.ID says
// which numbers it gives then, and File.Err the reason. It tries again by itself.
package ids

import (
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"strings"

	"github.com/pcp-rtime/rtime/internal/journal"
)

// MaxName is the greatest length of a name in bytes.
const MaxName = 1023

// FirstVolatile is the first of the numbers that are given out while there is no
// file to record them in. Ordinary numbers are below it.
const FirstVolatile int32 = 1 << 30

// Errors that Map.ID and File.Commit return or wrap, and File.Err in the case of
// ErrLocked.
var (
	ErrFull   = errors.New("ids: all numbers are used up")
	ErrClosed = errors.New("ids: closed")
	ErrLocked = journal.ErrLocked
	ErrBusy   = errors.New("ids: the disk takes long, try again in a moment")
)

// Map is a space of numbers in a File. All methods may be called by any number of
// goroutines.
type Map struct {
	file  *File
	space string
	limit int64 // ordinary numbers are below it; 0 before Space was called
	high  bool  // may volatile numbers be given out?

	// Guarded by file.mu.
	names    names
	pending  []entry // of names, those that are not in the file
	next     int64   // the next ordinary number
	bound    int64   // numbers below may have been given out, as the disk says
	recorded int64   // the limit that is in the file
	volatile int64   // the next volatile number
	fresh    int64   // how many names have come since Open
}

func newMap(f *File, space string) *Map {
	return &Map{
		file: f, space: space,
		volatile: int64(FirstVolatile) + rand.Int64N(int64(FirstVolatile)/2),
	}
}

// declare sets which numbers there are.
func (m *Map) declare(last int32) {
	m.limit = min(int64(last)+1, int64(FirstVolatile))
	m.high = last == math.MaxInt32
}

// ID returns the number of a name. A name that has none gets a new number; new numbers ascend.
// Names have 1..MaxName bytes without newline and NUL.
//
// ID does not wait for the disk, unless new names come so fast that the reserve is used up
// before it could be extended. Then it waits a tenth of a second at most between two calls of
// Commit, or three seconds before the first one. If the reserve is used up and cannot be
// extended, a new name gets a volatile number, FirstVolatile or above, provided that the space
// has all numbers. Volatile numbers begin at a random place at each Open, so that names of two
// runs have the same one only by an unlikely accident. They become permanent once the file can
// be written. In a smaller space the error is ErrBusy, or it wraps the reason why the file
// cannot be written. Other errors are ErrFull, ErrClosed and that of a bad name.
func (m *Map) ID(name string) (int32, error) {
	if id, ok := m.Lookup(name); ok {
		return id, nil
	}
	if err := checkName(name); err != nil {
		return 0, err
	}
	m.file.mu.Lock()
	defer m.file.mu.Unlock()
	for {
		id, exhausted, err := m.give(name)
		if !exhausted {
			return id, err
		}
		m.file.await(&m.file.patience, m.file.urgent)
	}
}

func checkName(name string) error {
	switch {
	case name == "":
		return errors.New("ids: empty name")
	case len(name) > MaxName:
		return fmt.Errorf("ids: name %.20q... has %d bytes; at most %d are allowed", name, len(name), MaxName)
	case strings.ContainsAny(name, "\n\x00"):
		return fmt.Errorf("ids: name %q holds a newline or NUL", name)
	}
	return nil
}

// give finds or makes the number of a name. exhausted asks the caller to wait until the
// reserve was extended. file.mu is held.
func (m *Map) give(name string) (id int32, exhausted bool, err error) {
	if id, ok := m.names.lookup(name); ok {
		return id, false, nil
	}
	f := m.file
	switch {
	case f.closed:
		return 0, false, ErrClosed
	case (f.j != nil || f.path == "") && m.next >= m.limit, m.names.full():
		return 0, false, ErrFull
	case f.path == "" || f.j != nil && m.next < m.bound:
		id = int32(m.next)
		m.next++
	case f.j != nil && f.err == nil && f.patience > 0:
		return 0, true, nil
	default:
		if id, err = m.giveVolatile(name); err != nil {
			return 0, false, err
		}
	}
	m.names.add(entry{id, name})
	if f.path != "" {
		m.pending = append(m.pending, entry{id, strings.Clone(name)})
		m.fresh++
		f.queue()
		if f.j != nil && m.bound-m.next < m.block()/2 {
			poke(f.urgent)
		}
	}
	return id, false, nil
}

func (m *Map) giveVolatile(name string) (int32, error) {
	switch {
	case m.high:
	case m.file.err != nil:
		return 0, fmt.Errorf("ids: no number for %q: %w", name, m.file.err)
	default:
		return 0, ErrBusy
	}
	for ; m.volatile <= math.MaxInt32; m.volatile++ {
		if _, taken := m.names.name(int32(m.volatile)); !taken {
			m.volatile++
			return int32(m.volatile - 1), nil
		}
	}
	return 0, ErrFull
}

// block returns how many numbers are reserved ahead; file.mu is held. It grows with the
// names that came in this run, so that a burst finds its reserve doubled each time. A process
// that does not end in order skips what is reserved: at most one number for each that it gave,
// and reserve more, but never more than a 64th of the numbers that are left.
func (m *Map) block() int64 {
	return min(reserve(m.limit)+m.fresh, max((m.limit-m.next)/64, 1), maxReserve)
}

// reserve returns how many numbers are reserved ahead in a run that has given none yet.
func reserve(limit int64) int64 { return min(minReserve+limit>>18, max(limit/64, 1)) }

const (
	minReserve = 16
	maxReserve = 1 << 20
)

// Lookup returns the number of a name that has one.
func (m *Map) Lookup(name string) (int32, bool) {
	m.file.mu.RLock()
	defer m.file.mu.RUnlock()
	return m.names.lookup(name)
}

// Name returns the name that a number was given to.
func (m *Map) Name(id int32) (string, bool) {
	m.file.mu.RLock()
	defer m.file.mu.RUnlock()
	return m.names.name(id)
}

// Len returns how many names have numbers.
func (m *Map) Len() int {
	m.file.mu.RLock()
	defer m.file.mu.RUnlock()
	return m.names.count
}

func poke(c chan struct{}) {
	select {
	case c <- struct{}{}:
	default:
	}
}
