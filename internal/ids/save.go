package ids

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"syscall"
	"time"
)

// Pauses of the saver. Between two writes it lets names gather, longer where writes
// take long; after a failure it waits twice as long each time.
const (
	minPause = 20 * time.Millisecond
	maxPause = 250 * time.Millisecond
	minRetry = 100 * time.Millisecond
	maxRetry = 10 * time.Second
)

// run is the saver. err is the outcome of the attempt before it.
func (m *Map) run(err error) {
	defer close(m.done)
	pause, retry := minPause, minRetry
	for {
		if err != nil {
			if !m.wait(retry, nil) {
				return
			}
			retry = min(2*retry, maxRetry)
		} else {
			retry = minRetry
			select {
			case <-m.stop:
				return
			case <-m.wake:
			}
			if !m.wait(pause, m.urgent) {
				return
			}
		}
		start := time.Now()
		err = m.flush(false)
		pause = max(minPause, min(time.Since(start), maxPause))
	}
}

// wait waits for a while, or until early, and returns false where the Map is closed.
func (m *Map) wait(d time.Duration, early <-chan struct{}) bool {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-m.stop:
		return false
	case <-early:
	case <-t.C:
	}
	return true
}

// flush brings the file up to date and the reserve with it. The last one, when the
// Map is closed, leaves no reserve.
func (m *Map) flush(last bool) error {
	m.disk.Lock()
	defer m.disk.Unlock()
	if m.isClosed() && !last {
		return ErrClosed
	}
	err := m.acquire()
	if err == nil {
		err = m.save(last)
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	m.err = err
	return err
}

func (m *Map) isClosed() bool {
	m.mu.RLock()
	defer m.mu.RUnlock()
	return m.closed
}

// save writes the file where something has changed; disk is held.
func (m *Map) save(last bool) error {
	m.mu.RLock()
	list, next, bound, block, saved := m.list, m.next, m.bound, m.block(), m.saved
	m.mu.RUnlock()
	reserved := min(max(bound, next+block), m.limit)
	enough := bound-next >= block/2+1 || bound == m.limit
	if last {
		reserved, enough = next, bound == next
	}
	if saved == len(list) && enough {
		return nil
	}
	if err := Replace(m.path, contents{list, reserved}.encode()); err != nil {
		return err
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	m.bound, m.saved = reserved, len(list)
	m.writes++
	return nil
}

// Replace puts a new file in the place of the old one: whatever happens, one of the
// two is there whole.
func Replace(path string, data []byte) error {
	tmp := path + ".tmp"
	f, err := os.OpenFile(tmp, os.O_WRONLY|os.O_CREATE|os.O_TRUNC|syscall.O_NOFOLLOW, 0o644)
	if err != nil {
		return err
	}
	_, err = f.Write(data)
	if err == nil {
		err = f.Sync()
	}
	if e := f.Close(); err == nil {
		err = e
	}
	if err == nil {
		err = os.Rename(tmp, path)
	}
	if err != nil {
		os.Remove(tmp)
		return err
	}
	dir, err := os.Open(filepath.Dir(path))
	if err != nil {
		return err
	}
	defer dir.Close()
	return dir.Sync()
}

// acquire makes the file this Map's own, if it is not: locks it, reads it and takes
// in what it holds. disk is held.
func (m *Map) acquire() error {
	if m.owned { // changes only with disk held
		return nil
	}
	if m.lock == nil {
		f, err := lockFile(m.path + ".lock")
		if err != nil {
			return err
		}
		m.lock = f
	}
	c, data, err := read(m.path)
	var bad *badFile
	if err != nil && !errors.As(err, &bad) {
		return err
	}
	var damage *Damage
	if bad != nil {
		c = contents{reserved: resume(data, m.limit)}
		damage = &Damage{m.path, SetAside(m.path, data), bad.reason, int32(c.reserved)}
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	m.merge(c)
	m.owned, m.next, m.saved = true, c.reserved, -1
	if damage != nil {
		m.damage = damage
	}
	return nil
}

// merge takes in the entries of a file; mu is held. A name that has got a volatile
// number meanwhile keeps it, and its number in the file stays unused.
func (m *Map) merge(c contents) {
	for _, e := range c.entries {
		_, named := m.byName[e.name]
		_, numbered := m.byID[e.id]
		if !named && !numbered {
			m.insert(e)
		}
	}
}

// peek takes in the names of a file that another process owns.
func (m *Map) peek() {
	c, _, err := read(m.path)
	if err != nil {
		return
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	m.merge(c)
}

// lockFile opens and locks a file; it stays behind, since removing it would let two
// processes lock two files of one name.
func lockFile(name string) (*os.File, error) {
	f, err := os.OpenFile(name, os.O_RDWR|os.O_CREATE|syscall.O_NOFOLLOW, 0o644)
	if err != nil {
		return nil, err
	}
	err = syscall.Flock(int(f.Fd()), syscall.LOCK_EX|syscall.LOCK_NB)
	if err != nil {
		f.Close()
		if errors.Is(err, syscall.EWOULDBLOCK) {
			return nil, fmt.Errorf("%w: %s", ErrLocked, name)
		}
		return nil, &fs.PathError{Op: "flock", Path: name, Err: err}
	}
	return f, nil
}

// badFile is the error for a file that can be read and must not be believed.
type badFile struct{ reason string }

func (b *badFile) Error() string { return b.reason }

// read reads a file; one that does not exist is empty. It returns the bytes too.
func read(path string) (contents, []byte, error) {
	info, err := os.Stat(path)
	if errors.Is(err, fs.ErrNotExist) {
		return contents{}, nil, nil
	}
	if err != nil {
		return contents{}, nil, err
	}
	if !info.Mode().IsRegular() {
		return contents{}, nil, fmt.Errorf("ids: %s is not a regular file", path)
	}
	f, err := os.Open(path)
	if err != nil {
		return contents{}, nil, err
	}
	defer f.Close()
	data, err := io.ReadAll(io.LimitReader(f, maxFile+1))
	if err != nil {
		return contents{}, nil, err
	}
	if len(data) > maxFile {
		return contents{}, data[:maxFile], &badFile{fmt.Sprintf("more than %d bytes", maxFile)}
	}
	c, err := decode(data)
	if err != nil {
		return contents{}, data, &badFile{err.Error()}
	}
	return c, data, nil
}
