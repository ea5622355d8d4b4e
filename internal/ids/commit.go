package ids

import (
	"errors"
	"fmt"
	"time"

	"github.com/pcp-rtime/rtime/internal/journal"
)

// How long ID and Commit, which must not wait, wait for the disk at most.
const (
	startPatience = 3 * time.Second // before the first Commit
	patience      = 100 * time.Millisecond
	givenUp       = 5 * time.Second // after which a write that has not returned counts as failed
)

var errSlow = fmt.Errorf("ids: a write has not returned for %v; see whether the disk or the file system hangs", givenUp)

// Commit hands everything that is new to the file, so that it stays even if the process is
// killed in the next instruction. Whoever tells anybody a number calls it first.
//
// It waits for one write(2), which takes the kernel some microseconds, and never for
// fsync(2). If that write takes longer than a tenth of a second, the error is ErrBusy: the
// numbers must not be told yet. Every further Commit says so at once, until the write has
// returned. After five seconds the write counts as failed.
//
// Commit also succeeds while the file cannot be written, for example because the disk is full.
// Then the numbers hold as long as the process runs. The next process may give the names other
// numbers, but it gives these numbers to no other name.
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

// await waits for progress, for as long as is left at most. It shortens what is left by the
// time that it waited. mu is held, but not while it waits.
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

// told wakes those that wait for progress; mu is held.
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
