package ids

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"slices"
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

	disk sync.Mutex // held by who waits for the disk; taken before pen and mu
	lock *os.File   // guarded by disk
	redo bool       // the disk may have lost what it was given; guarded by disk

	pen sync.Mutex // held by who takes what is new and appends it; taken before mu

	clean atomic.Bool // nothing is new, and nobody waited since the last Commit

	// mu is never held while a file is touched.
	mu       sync.RWMutex
	maps     map[string]*Map
	j        *journal.Journal  // nil while the file is not this File's
	values   map[string][]byte // that are not in the file; nil is one to be forgotten
	queued   uint64            // counts what is new
	written  uint64            // of these, how many are in the file
	synced   uint64            // of these, how many are on the disk
	writing  bool              // a goroutine is at it
	late     time.Time         // since when it takes too long; zero where it does not
	patience time.Duration     // how long ID may wait until the next Commit
	progress chan struct{}     // closed when something of the above has changed; nil where nobody waits
	floor    int64             // where numbering begins in a space that the file does not know
	closed   bool
	bad      error // why the last write failed
	err      error
	damage   *journal.Damage

	wake, urgent, stop, done chan struct{}
}

// How long the disk is waited for by those that must not wait.
const (
	startPatience = 5 * time.Second // before the first Commit
	patience      = 100 * time.Millisecond
	givenUp       = 5 * time.Second // after which a write that has not returned counts as failed
)

var errSlow = errors.New("ids: the disk does not take what it is given")

// Open returns the File at path, which is made when it is not there. It waits for the
// disk. A file that is damaged, locked, or cannot be read or written is no error of
// Open: see Damage and Err.
//
// Files of earlier versions, one for each space, are taken over when there is a path of the
// form DIR/AGENT.ids: they are DIR/AGENT.SPACE.ids, and are removed.
func Open(path string) (*File, error) { return OpenWith(path, journal.Options{}) }

// OpenWith is Open for tests.
func OpenWith(path string, o journal.Options) (*File, error) {
	if path == "" {
		return nil, fmt.Errorf("ids: open %q: %w", path, os.ErrInvalid)
	}
	f := newFile()
	f.path, f.opts = path, o
	err := f.save(false)
	if err != nil {
		f.peek()
	}
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

// Space returns the numbers 0..max of that name, of 1..64 bytes without blank, newline, NUL
// and slash. A space must always be asked for with the same max. With math.MaxInt32 names
// get numbers even while there is no file, see Map.ID; otherwise they do not.
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

// Has reports whether there are numbers of a space in the file, or it was asked for.
func (f *File) Has(space string) bool {
	f.mu.RLock()
	defer f.mu.RUnlock()
	return f.maps[space] != nil
}

// space wants mu held.
func (f *File) space(name string) *Map {
	m := f.maps[name]
	if m == nil {
		m = newMap(f, name)
		m.next = f.floor
		f.maps[name] = m
	}
	return m
}

// Put keeps a value under a key from the next Commit on; nil forgets what is there. The
// key has 1..MaxKey bytes without newline and NUL, the value up to MaxValue without newline.
// The File does not hold values in memory, except for those that are not in the file yet.
func (f *File) Put(key string, value []byte) error {
	if err := checkKey(key); err != nil {
		return err
	}
	if len(value) > MaxValue || bytes.IndexByte(value, '\n') >= 0 {
		return fmt.Errorf("ids: the value under %.40q is not up to %d bytes without newline", key, MaxValue)
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.closed {
		return ErrClosed
	}
	if f.path == "" {
		return nil
	}
	if f.values == nil {
		f.values = make(map[string][]byte)
	}
	f.values[key] = bytes.Clone(value)
	f.queue()
	return nil
}

// queue notes that something is new; mu is held.
func (f *File) queue() {
	f.queued++
	f.clean.Store(false)
	poke(f.wake)
}

// Values calls each with the keys and values that the file holds, in the order in which they
// were put. each must not keep the value. Values waits for the disk.
func (f *File) Values(each func(key string, value []byte)) error {
	if f.path == "" {
		return nil
	}
	f.pen.Lock()
	f.mu.RLock()
	j, fresh := f.j, f.values
	read := func(g func([]byte) error) error { return journal.Peek(f.path, g) }
	if j != nil {
		read = j.Read
	}
	unwritten := make(map[string][]byte, len(fresh))
	for key, value := range fresh {
		unwritten[key] = value
	}
	f.mu.RUnlock()
	f.pen.Unlock()
	if err := lastValues(read, func(key string, rec []byte) error {
		if _, newer := unwritten[key]; newer {
			return nil
		}
		_, value, err := parseValue(rec)
		if err == nil {
			each(key, value)
		}
		return nil
	}); err != nil {
		return err
	}
	for key, value := range unwritten {
		if value != nil {
			each(key, value)
		}
	}
	return nil
}

// lastValues calls each with the last record of each key, unless that forgets it.
func lastValues(read func(func([]byte) error) error, each func(key string, rec []byte) error) error {
	last, n := make(map[string]int), 0
	if err := read(func(rec []byte) error {
		n++
		if bytes.HasPrefix(rec, []byte("v ")) || bytes.HasPrefix(rec, []byte("d ")) {
			if key, value, err := parseValue(rec); err == nil && value != nil {
				last[key] = n
			} else {
				delete(last, key)
			}
		}
		return nil
	}); err != nil {
		return err
	}
	n = 0
	return read(func(rec []byte) error {
		if n++; !bytes.HasPrefix(rec, []byte("v ")) {
			return nil
		}
		key, _, err := parseValue(rec)
		if err != nil || last[key] != n {
			return nil
		}
		return each(key, rec)
	})
}

// Commit hands everything that is new to the file, so that it stays even if the process is
// killed in the next instruction. Whoever tells anybody a number calls it first.
//
// It waits for one write(2), which takes the kernel some microseconds, and never for
// fsync(2). Where that write takes longer than a tenth of a second the error is ErrBusy: the
// numbers must not be told yet, and every further Commit says so at once, until the write
// has returned. After five seconds the write counts as failed.
//
// While the file cannot be written, for want of room for example, Commit succeeds all the
// same: the numbers hold as long as the process runs, may be others after it, and are never
// given to another name.
func (f *File) Commit() error {
	if f.clean.Load() {
		return nil
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	f.patience = patience
	want, left := f.queued, patience
	for f.written < want && f.j != nil && f.bad == nil {
		if !f.writing {
			f.writing = true
			go f.write()
		}
		switch {
		case !f.late.IsZero() && time.Since(f.late) >= givenUp:
			f.bad, f.err = errSlow, errSlow
		case !f.late.IsZero():
			return ErrBusy
		default:
			if f.await(&left, nil); left <= 0 && f.written < want {
				f.late = time.Now()
			}
		}
	}
	f.clean.Store(f.written == f.queued)
	return nil
}

// await waits for progress, for as long as is left, which it shortens. It lets go of mu
// meanwhile.
func (f *File) await(left *time.Duration, hurry chan struct{}) {
	if f.progress == nil {
		f.progress = make(chan struct{})
	}
	c, start, patience := f.progress, time.Now(), *left
	f.clean.Store(false) // the next Commit must give patience back
	if hurry != nil {
		poke(hurry)
	}
	f.mu.Unlock()
	t := time.NewTimer(patience)
	select {
	case <-c:
	case <-t.C:
	}
	t.Stop()
	f.mu.Lock()
	*left -= time.Since(start)
}

// told wakes those that wait; mu is held.
func (f *File) told() {
	if f.progress != nil {
		close(f.progress)
		f.progress = nil
	}
}

// write appends what is new.
func (f *File) write() {
	_ = f.flush(nil) // Err has it
	f.mu.Lock()
	defer f.mu.Unlock()
	f.writing = false
	f.told()
	poke(f.wake)
}

// flush appends new bounds and everything that is new.
func (f *File) flush(bounds map[*Map]int64) error {
	f.pen.Lock()
	defer f.pen.Unlock()
	f.mu.Lock()
	j, queued, values := f.j, f.queued, f.values
	pending := make(map[*Map][]entry)
	for _, m := range f.maps {
		if len(m.pending) > 0 {
			pending[m], m.pending = m.pending, nil
		}
	}
	f.values = nil
	f.mu.Unlock()
	b, err := encode(bounds, pending, values)
	if err == nil && j != nil {
		err = j.Append(b)
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	if err != nil || j == nil {
		f.restore(pending, values)
	} else {
		f.written = queued
	}
	if f.bad, f.late = err, (time.Time{}); err != nil {
		f.err = err
	}
	f.told()
	return err
}

// restore puts back what could not be written; mu is held.
func (f *File) restore(pending map[*Map][]entry, values map[string][]byte) {
	for m, list := range pending {
		m.pending = append(list, m.pending...)
	}
	for key, value := range f.values {
		if values == nil {
			values = make(map[string][]byte)
		}
		values[key] = value
	}
	f.values = values
}

func encode(bounds map[*Map]int64, pending map[*Map][]entry, values map[string][]byte) (*journal.Batch, error) {
	var b journal.Batch
	var rec []byte
	var errs error
	add := func(r []byte) {
		rec = r
		if err := b.Add(r); err != nil {
			errs = errors.Join(errs, err)
		}
	}
	for m, bound := range bounds {
		add(boundRecord(rec[:0], m.space, bound, m.limit))
	}
	for m, list := range pending {
		for _, e := range list {
			add(idRecord(rec[:0], m.space, e.id, e.name))
		}
	}
	for key, value := range values {
		add(valueRecord(rec[:0], key, value))
	}
	return &b, errs
}

// Err returns why the last attempt to read or write the file failed; nil after one
// that succeeded.
func (f *File) Err() error {
	f.mu.RLock()
	defer f.mu.RUnlock()
	return f.err
}

// Damage tells of a file that was found damaged and set aside; nil where there was
// none.
func (f *File) Damage() *journal.Damage {
	f.mu.RLock()
	defer f.mu.RUnlock()
	return f.damage
}

// Sync waits until everything is on the disk, or returns why it is not.
func (f *File) Sync() error {
	if f.path == "" {
		return nil
	}
	return f.save(false)
}

// Close writes what is left, without reserve, and gives the file up. The names stay
// readable; ID gives out no new numbers. It returns why the file could not be
// written. A second Close does nothing.
func (f *File) Close() error {
	f.mu.Lock()
	again := f.closed
	f.closed = true
	f.mu.Unlock()
	if again || f.path == "" {
		return nil
	}
	close(f.stop)
	<-f.done
	err := f.save(true)
	f.disk.Lock()
	defer f.disk.Unlock()
	f.mu.Lock()
	j := f.j
	f.j = nil
	f.mu.Unlock()
	if j != nil {
		err = errors.Join(err, j.Close())
	}
	if f.lock != nil {
		f.lock.Close()
		f.lock = nil
	}
	return err
}

// bounds returns which bounds must be put further; mu is held. The last ones, when the File
// is closed, leave no reserve.
func (f *File) bounds(last bool) map[*Map]int64 {
	list := make(map[*Map]int64)
	for _, m := range f.maps {
		switch block := m.block(); {
		case m.limit == 0: // nobody has asked for it
		case last && m.bound != m.next:
			list[m] = m.next
		case !last && m.bound < m.limit && m.bound-m.next < block/2+1:
			list[m] = min(m.next+block, m.limit)
		}
	}
	return list
}

// save brings everything onto the disk.
func (f *File) save(last bool) error {
	f.disk.Lock()
	defer f.disk.Unlock()
	if f.isClosed() && !last {
		return ErrClosed
	}
	err := f.acquire()
	if err == nil {
		err = f.sync(last)
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	f.err = err
	f.told()
	return err
}

func (f *File) isClosed() bool {
	f.mu.RLock()
	defer f.mu.RUnlock()
	return f.closed
}

// sync wants disk held, and the file to be this File's.
func (f *File) sync(last bool) error {
	f.mu.RLock()
	j, bounds := f.j, f.bounds(last)
	f.mu.RUnlock()
	if err := f.flush(bounds); err != nil {
		return err
	}
	f.mu.RLock()
	written, synced := f.written, f.synced
	f.mu.RUnlock()
	if written == synced && len(bounds) == 0 && !f.redo {
		return nil
	}
	err := j.Sync()
	if err == nil && f.redo {
		// After an fsync that has failed the kernel takes for written what is not.
		err = f.fold(j)
	}
	if f.redo = err != nil; err != nil {
		return err
	}
	f.mu.Lock()
	f.synced = written
	for m, bound := range bounds {
		m.bound = bound
	}
	f.told() // who waits for a number need not wait for the folding
	f.mu.Unlock()
	if !last && j.Grown() {
		return f.fold(j)
	}
	return nil
}

// fold writes a new file of what is still needed.
func (f *File) fold(j *journal.Journal) error {
	type part struct {
		space        string
		bound, limit int64
		records      records
	}
	return j.Fold(func(add func([]byte) error, read func(func([]byte) error) error) error {
		var parts []part
		f.mu.RLock()
		for _, m := range f.maps {
			parts = append(parts, part{m.space, m.bound, max(m.limit, m.recorded), slices.Clone(m.names.records)})
		}
		rec := floorRecord(nil, f.floor)
		f.mu.RUnlock()
		if err := add(rec); err != nil {
			return err
		}
		for _, p := range parts {
			rec = boundRecord(rec[:0], p.space, p.bound, p.limit)
			if err := add(rec); err != nil {
				return err
			}
			for id, name := range p.records.all() {
				rec = idRecord(rec[:0], p.space, id, name)
				if err := add(rec); err != nil {
					return err
				}
			}
		}
		return lastValues(read, func(_ string, rec []byte) error { return add(rec) })
	})
}

// acquire makes the file this File's own, if it is not: locks it, reads it and takes
// in what it holds. disk is held.
func (f *File) acquire() error {
	f.mu.RLock()
	owned := f.j != nil
	f.mu.RUnlock()
	if owned { // changes only with disk held
		return nil
	}
	if f.lock == nil {
		lock, err := journal.Lock(f.path + ".lock")
		if err != nil {
			return err
		}
		f.lock = lock
	}
	c := newContents()
	j, damage, err := journal.Open(f.path, c.record, f.opts)
	if err != nil {
		f.know(c) // what is read is true
		return err
	}
	switch {
	case damage != nil:
		f.damaged(damage)
		c.jump(damage.Lost, damage.Nothing)
	case j.CutOff() > 0:
		c.jump(j.CutOff(), false)
	}
	old, err := f.readOld(c)
	if err != nil {
		f.know(c)
	} else {
		f.resume(c)
		if damage != nil || j.CutOff() > 0 || len(old) > 0 {
			err = f.fold(j)
		}
	}
	if err != nil {
		return errors.Join(err, j.Close())
	}
	for _, o := range old {
		o.remove()
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	f.j = j
	return nil
}

func (f *File) damaged(d *journal.Damage) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.damage == nil || d.SetAside != f.damage.SetAside {
		f.damage = d
	}
}

// know takes in the names of a file.
func (f *File) know(c *contents) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.merge(c)
}

// merge takes in the names of a file; mu is held. A name that has got a volatile number
// meanwhile keeps it, and its number in the file stays unused. The contents must not be used
// after mu was let go, because the maps have their tables.
func (f *File) merge(c *contents) {
	for name, s := range c.spaces {
		m := f.space(name)
		if m.names.count == 0 {
			m.names, s.taken = s.names, true
			continue
		}
		for id, b := range s.records.all() {
			name := string(b)
			_, named := m.names.lookup(name)
			_, numbered := m.names.name(id)
			if !named && !numbered {
				m.names.add(entry{id, name})
			}
		}
	}
}

// resume takes in the names of a file, and sets where numbering goes on and which names are
// not in the file.
func (f *File) resume(c *contents) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.merge(c)
	f.floor = c.floor
	for name, m := range f.maps {
		s := c.spaces[name]
		if s == nil {
			s = newTable()
			if s.bound = c.floor; m.limit > 0 {
				s.bound = min(c.floor, m.limit/2)
			}
		}
		m.bound, m.recorded, m.next = s.bound, s.limit, max(s.bound, s.top())
		if m.pending = nil; s.taken {
			continue
		}
		for id, b := range m.names.records.all() {
			name := string(b)
			if there, ok := s.lookup(name); !ok || there != id {
				m.pending = append(m.pending, entry{id, name})
			}
		}
	}
	f.queued++
}

// peek takes in the names of a file that another process owns, or that cannot be written.
func (f *File) peek() {
	c := newContents()
	if err := journal.Peek(f.path, c.record); err != nil && len(c.spaces) == 0 {
		return
	}
	f.know(c)
}

// Pauses of the saver. Between two times that it has the disk write it lets records gather,
// unless the reserve runs out; after a failure it waits twice as long each time.
const (
	firstPause = 20 * time.Millisecond
	minPause   = time.Second
	minRetry   = 100 * time.Millisecond
	maxRetry   = 10 * time.Second
)

// run is the saver. err is the outcome of the attempt before it.
func (f *File) run(err error) {
	defer close(f.done)
	retry, last := minRetry, time.Time{}
	for {
		if err != nil {
			if !f.wait(retry, nil) {
				return
			}
			retry = min(2*retry, maxRetry)
		} else {
			retry = minRetry
			hurry := false
			select {
			case <-f.stop:
				return
			case <-f.wake:
			case <-f.urgent:
				hurry = true
			}
			if !hurry && !f.wait(max(firstPause, minPause-time.Since(last)), f.urgent) {
				return
			}
		}
		err = f.save(false)
		last = time.Now()
	}
}

// wait waits for a while, or until early, and returns false where the File is closed.
func (f *File) wait(d time.Duration, early <-chan struct{}) bool {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-f.stop:
		return false
	case <-early:
	case <-t.C:
	}
	return true
}
