package ids

import (
	"errors"
	"slices"
	"time"

	"github.com/pcp-rtime/rtime/internal/journal"
)

// Sync waits until everything is on the disk, or returns why it is not.
func (f *File) Sync() error {
	if f.path == "" {
		return nil
	}
	return f.save(false)
}

// Close writes what is left, without reserve, and gives the file up. Names and numbers can
// still be looked up, but ID gives no new numbers. The error is why the file could not be
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

// bounds returns the bounds that must be moved further; mu is held. The last ones, when the
// File is closed, leave no reserve.
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

// sync writes what is new and waits until the disk has it. disk is held, and the file is this
// File's own.
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
		// After a failed fsync the kernel regards as written what is not on the disk.
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
	f.told() // those that wait for a number need not wait for the folding
	f.mu.Unlock()
	if !last && j.Grown() {
		return f.fold(j)
	}
	return nil
}

// fold writes a new file that has only what is still needed.
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

// Pauses of the saver. Between two calls of fsync it lets records gather, unless the reserve
// runs out. After each failure it waits twice as long as before.
const (
	firstPause = 20 * time.Millisecond
	minPause   = time.Second
	minRetry   = 100 * time.Millisecond
	maxRetry   = 10 * time.Second
)

// run is the saver: it saves what is new, again and again. err is the outcome of the first
// attempt, which Open has made.
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

// wait waits for a while, or until early. It returns false if the File is closed.
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
