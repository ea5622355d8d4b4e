// Package ids gives names numbers that are kept for ever: a number once given to a
// name is never given to another, across restarts, kills and damaged files. Agents
// use it for instance ids and for the items of dynamic metrics, because an archive
// that finds one number under two names tells lies.
//
// Numbers come from memory; a goroutine writes the file soon after, always a new
// file renamed over the old one. So that a process may be killed between the two,
// the file records a bound below which numbers may have been given out, well ahead
// of those that were. After a kill numbering goes on at that bound; names whose
// numbers had not been written get new ones.
//
// One process at a time owns a file, by flock(2) on FILE.lock. While another has it,
// and while the file cannot be read or written and the reserve is used up, a Map
// goes on in memory: see ID about its numbers then, and Err for the reason. It tries
// again by itself and takes the file over when it can.
package ids

import (
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"strings"
	"sync"
)

// MaxName is the greatest length of a name in bytes.
const MaxName = 1023

// FirstVolatile is the first of the numbers that are given out while there is no
// file to record them in. Ordinary numbers are below it.
const FirstVolatile int32 = 1 << 30

// Errors that ID returns or wraps, and Err in the case of ErrLocked.
var (
	ErrFull   = errors.New("ids: all numbers are used up")
	ErrClosed = errors.New("ids: closed")
	ErrLocked = errors.New("ids: the file belongs to another process")
)

// Map gives numbers to names. All methods may be called by any number of goroutines.
type Map struct {
	path  string
	limit int64 // ordinary numbers are below it
	high  bool  // may volatile numbers be given out?

	// disk is held by whoever touches the files; it is taken before mu.
	disk sync.Mutex
	lock *os.File

	// mu guards what follows and is never held while the disk is waited for.
	mu       sync.RWMutex
	list     []entry // grows only, so that the saver may read a part of it unlocked
	byName   map[string]int32
	byID     map[int32]string
	next     int64 // the next ordinary number
	bound    int64 // what the file says: numbers below may have been given out
	volatile int64 // the next volatile number
	fresh    int   // names that came since Open
	owned    bool  // locked and read: next and bound hold
	saved    int   // entries in the file; -1 where it must be written anyhow
	writes   int   // files written
	closed   bool
	err      error
	damage   *Damage

	wake, urgent, stop, done chan struct{}
}

type entry struct {
	id   int32
	name string
}

// Open returns the Map kept in the file at path, which is made when it is not there.
// It waits for the disk. A file that is damaged, locked, or cannot be read or written
// is no error of Open: see Damage and Err.
func Open(path string) (*Map, error) { return OpenMax(path, math.MaxInt32) }

// OpenMax is Open for numbers of 0..max only, such as the item numbers of metrics.
// It gives out no volatile numbers unless max is that of Open: ID fails instead. A
// file must always be opened with the same max.
func OpenMax(path string, max int32) (*Map, error) {
	if path == "" || max < 0 {
		return nil, fmt.Errorf("ids: open %q for numbers up to %d: %w", path, max, os.ErrInvalid)
	}
	m := &Map{
		path:     path,
		limit:    min(int64(max)+1, int64(FirstVolatile)),
		high:     max == math.MaxInt32,
		volatile: int64(FirstVolatile) + rand.Int64N(int64(FirstVolatile)/2),
		byName:   make(map[string]int32),
		byID:     make(map[int32]string),
		saved:    -1,
		wake:     make(chan struct{}, 1),
		urgent:   make(chan struct{}, 1),
		stop:     make(chan struct{}),
		done:     make(chan struct{}),
	}
	err := m.flush(false)
	if errors.Is(err, ErrLocked) {
		m.peek()
	}
	go m.run(err)
	return m, nil
}

// ID returns the number of a name, a new one where it has none; new ones ascend.
// Names are 1..MaxName bytes without newline and NUL.
//
// ID does not wait for the disk, except where new names come so fast that the
// reserve is used up before the saver could extend it. Where the reserve is used up
// and cannot be extended, a new name gets a volatile number, FirstVolatile or above.
// These begin at a random place at each Open, so that two names in two runs have the
// same one only by an unlikely accident; they become permanent once a file can be
// written. The error is ErrFull, ErrClosed, a bad name, or from OpenMax the reason
// why the file cannot be written.
func (m *Map) ID(name string) (int32, error) {
	if id, ok := m.Lookup(name); ok {
		return id, nil
	}
	if err := checkName(name); err != nil {
		return 0, err
	}
	for {
		id, exhausted, err := m.give(name)
		if !exhausted {
			return id, err
		}
		// An error is recorded, and the next turn sees it.
		_ = m.flush(false)
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

// give finds or makes the number of a name. exhausted asks the caller to extend the
// reserve first.
func (m *Map) give(name string) (id int32, exhausted bool, err error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if id, ok := m.byName[name]; ok {
		return id, false, nil
	}
	switch {
	case m.closed:
		return 0, false, ErrClosed
	case m.owned && m.next >= m.limit:
		return 0, false, ErrFull
	case m.owned && m.next < m.bound:
		id = int32(m.next)
		m.next++
	case m.owned && m.err == nil:
		return 0, true, nil
	default:
		if id, err = m.giveVolatile(name); err != nil {
			return 0, false, err
		}
	}
	m.insert(entry{id, strings.Clone(name)})
	m.fresh++
	poke(m.wake)
	if m.bound-m.next < m.block()/2 {
		poke(m.urgent)
	}
	return id, false, nil
}

func (m *Map) giveVolatile(name string) (int32, error) {
	if !m.high {
		return 0, fmt.Errorf("ids: no number for %q: %w", name, m.err)
	}
	for ; m.volatile <= math.MaxInt32; m.volatile++ {
		if _, taken := m.byID[int32(m.volatile)]; !taken {
			m.volatile++
			return int32(m.volatile - 1), nil
		}
	}
	return 0, ErrFull
}

// insert wants mu held.
func (m *Map) insert(e entry) {
	m.list = append(m.list, e)
	m.byName[e.name] = e.id
	m.byID[e.id] = e.name
}

// block returns how many numbers are reserved ahead; mu is held. It grows with the
// names there are, and with those that came in this run, so that a burst finds its
// reserve doubled each time, while a process that is killed again and again wastes
// no more than it uses.
func (m *Map) block() int64 {
	n := int64(minBlock + len(m.list)/8 + m.fresh)
	return max(1, min(n, maxBlock, m.limit/64))
}

const (
	minBlock = 64
	maxBlock = 1 << 20
)

// Lookup returns the number of a name that has one.
func (m *Map) Lookup(name string) (int32, bool) {
	m.mu.RLock()
	defer m.mu.RUnlock()
	id, ok := m.byName[name]
	return id, ok
}

// Name returns the name that a number was given to.
func (m *Map) Name(id int32) (string, bool) {
	m.mu.RLock()
	defer m.mu.RUnlock()
	name, ok := m.byID[id]
	return name, ok
}

// Len returns how many names have numbers.
func (m *Map) Len() int {
	m.mu.RLock()
	defer m.mu.RUnlock()
	return len(m.list)
}

// Err returns why the last attempt to read or write the file failed; nil after one
// that succeeded.
func (m *Map) Err() error {
	m.mu.RLock()
	defer m.mu.RUnlock()
	return m.err
}

// Damage tells of a file that was found damaged and set aside; nil where there was
// none.
func (m *Map) Damage() *Damage {
	m.mu.RLock()
	defer m.mu.RUnlock()
	return m.damage
}

// Sync waits until every number given out so far is in the file, or returns why it
// is not.
func (m *Map) Sync() error { return m.flush(false) }

// Close writes what is left, without reserve, and gives the file up. The names stay
// readable; ID gives out no new numbers. It returns why the file could not be
// written. A second Close does nothing.
func (m *Map) Close() error {
	m.mu.Lock()
	again := m.closed
	m.closed = true
	m.mu.Unlock()
	if again {
		return nil
	}
	close(m.stop)
	<-m.done
	err := m.flush(true)
	m.disk.Lock()
	defer m.disk.Unlock()
	if m.lock != nil {
		m.lock.Close()
		m.lock = nil
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	m.owned = false
	return err
}

func poke(c chan struct{}) {
	select {
	case c <- struct{}{}:
	default:
	}
}
