package ids

import (
	"bytes"
	"fmt"

	"github.com/pcp-rtime/rtime/internal/journal"
)

// Put keeps a value under a key from the next Commit on. A nil value has the key forgotten. A
// key has 1..MaxKey bytes without newline and NUL, a value up to MaxValue bytes without
// newline. The File holds values in memory only until they are in the file.
func (f *File) Put(key string, value []byte) error {
	if err := checkKey(key); err != nil {
		return err
	}
	if len(value) > MaxValue || bytes.IndexByte(value, '\n') >= 0 {
		return fmt.Errorf("ids: the value under %.40q has %d bytes or holds a newline; at most %d bytes without newline are allowed", key, len(value), MaxValue)
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

// Values calls each with the keys and values that the file holds, in the order in which they
// were put. each must not keep the value. Values waits for
// the disk.
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

// lastValues calls each with the last record of each key, unless that record forgets the key.
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
