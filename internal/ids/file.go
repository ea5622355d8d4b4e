package ids

import (
	"fmt"
	"os"
	"sync"
	"sync/atomic"
	"time"

	"github.com/pcp-rtime/rtime/internal/journal"
)

// File is a file of spaces of numbers and of values. All methods may be called by any
// number of goroutines.
type File struct {
	path string // empty: in memory only
	opts journal.Options

	disk sync.Mutex // held by whoever waits for the disk; taken before pen and mu
	lock *os.File   // guarded by disk
	redo bool       // the disk may have lost what it was given; guarded by disk

	pen sync.Mutex // held by whoever takes what is new and appends it; taken before mu

	clean atomic.Bool // nothing is new, and nobody has waited since the last Commit

	// mu is never held while a file is touched.
	mu       sync.RWMutex
	maps     map[string]*Map
	j        *journal.Journal  // nil while the file is not this File's
	values   map[string][]byte // those that are not in the file yet; nil: the key is to be forgotten
	queued   uint64            // counts everything that was ever new
	written  uint64            // how much of that is in the file
	synced   uint64            // how much of that is on the disk
	writing  bool              // a goroutine is writing
	late     time.Time         // since when the write has taken too long; the zero time if it has not
	patience time.Duration     // how long ID may wait until the next Commit
	progress chan struct{}     // closed when one of the above has changed; nil if nobody waits
	floor    int64             // where numbering begins in a space that is not in the file
	closed   bool
	bad      error // why the last write failed
	err      error
	damage   *journal.Damage

	wake, urgent, stop, done chan struct{}
}

// Open returns the File at path and makes the file if it is not there. It waits for the disk if
// there is no file, or one that has to be mended. For new numbers ID waits at first, see Map.ID.
// Open returns no error for a file that is damaged or locked, or that cannot be read or
// written: see Damage and Err.
//
// If the path is of the form DIR/AGENT.ids, Open takes the numbers over from the files of
// earlier versions, which were DIR/AGENT.SPACE.ids, one for each space, and removes them.
func Open(path string) (*File, error) { return OpenWith(path, journal.Options{}) }

// OpenWith is Open with options for tests.
func OpenWith(path string, o journal.Options) (*File, error) {
	if path == "" {
		return nil, fmt.Errorf("ids: open %q: %w", path, os.ErrInvalid)
	}
	f := newFile()
	f.path, f.opts = path, o
	f.disk.Lock()
	err := f.acquire()
	f.disk.Unlock()
	f.err = err
	if err != nil {
		f.peek()
	}
	poke(f.urgent)
	go f.run(err)
	return f, nil
}

// Memory returns a File that keeps nothing: numbers hold as long as the process runs.
func Memory() *File { return newFile() }

func newFile() *File {
	f := &File{
		maps: make(map[string]*Map), patience: startPatience,
		wake: make(chan struct{}, 1), urgent: make(chan struct{}, 1),
		stop: make(chan struct{}), done: make(chan struct{}),
	}
	f.clean.Store(true)
	return f
}

// Space returns the space of that name, which has the numbers 0..max. Its name has 1..64 bytes
// without blank, newline, NUL and slash. A space must always be asked for with the same max.
// With math.MaxInt32 names get numbers even while there is no file, see Map.ID; with any other
// max they do not.
func (f *File) Space(name string, max int32) (*Map, error) {
	if err := checkSpace(name); err != nil {
		return nil, err
	}
	if max < 0 {
		return nil, fmt.Errorf("ids: space %s for numbers up to %d: %w", name, max, os.ErrInvalid)
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	m := f.space(name)
	if m.limit == 0 {
		m.declare(max)
		if m.recorded == 0 { // it is not in the file
			m.next = min(m.next, m.limit/2)
		}
		poke(f.urgent)
	}
	return m, nil
}

// Has reports whether the file has numbers of a space, or Space was called with its name.
func (f *File) Has(space string) bool {
	f.mu.RLock()
	defer f.mu.RUnlock()
	return f.maps[space] != nil
}

// space finds a space or makes it; mu is held.
func (f *File) space(name string) *Map {
	m := f.maps[name]
	if m == nil {
		m = newMap(f, name)
		m.next = f.floor
		f.maps[name] = m
	}
	return m
}

// queue notes that something is new; mu is held.
func (f *File) queue() {
	f.queued++
	f.clean.Store(false)
	poke(f.wake)
}

// Err returns why the last attempt to read or write the file failed, or nil if it succeeded.
func (f *File) Err() error {
	f.mu.RLock()
	defer f.mu.RUnlock()
	return f.err
}

// Damage tells of a file that was found damaged and set aside. It is nil if there was none.
func (f *File) Damage() *journal.Damage {
	f.mu.RLock()
	defer f.mu.RUnlock()
	return f.damage
}
