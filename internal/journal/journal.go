// Package journal keeps records in a file for processes that may be killed at any moment.
// Records are appended, each with a check sum; one write(2) appends a batch of them. Once
// Append has returned, its records are in the file, even if the process is killed in the next
// instruction. Until Sync has returned, a power failure can still lose them.
//
// A file is text with one record a line:
//
//	7dd8e04b rtime-journal 1
//	1a2b3c4d what the user of the journal has written
//
// From time to time the file is folded: a new file is written that holds only what is still
// needed, and is then renamed over the old one. Whatever happens, one of the two is complete.
// Append goes on in the meantime. It never waits for fsync(2) or rename(2), only for the
// kernel to copy what is written.
//
// If a record at the end of the file was only partly written, the next Open cuts it off. Lines
// elsewhere whose check sum does not match are left out, and everything else is kept. The
// damaged file is then set aside; see Damage.
//
// Several threads may use a Journal, but only one process: see Lock.
package journal

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"math"
	"os"
	"path/filepath"
	"sync"
	"syscall"
)

// ErrClosed is the error of a Journal that was closed.
var ErrClosed = errors.New("journal: closed")

// Options are for tests. All other users pass the zero value.
type Options struct {
	// Step, if not nil, is called before and after each operation on the file system, by the
	// goroutine that does it. Before the operation the text is "open", "write", "fsync",
	// "rename", "cut", "link" or "remove"; after it, the same text with " done" added.
	Step func(what string)
}

// Journal is an open file of records. Any number of goroutines may call Append, Size and Grown
// at any time. These do not wait for the other methods, which may take as long as the disk
// does.
type Journal struct {
	path string
	step func(string)

	slow sync.Mutex // held while waiting for the disk; taken before mu

	// mu is never held while waiting for the disk.
	mu      sync.Mutex
	file    *file  // nil when closed
	base    int64  // its size after it was last folded
	damaged bool   // until it is folded
	cutOff  int64  // bytes of a partly written record that Open has cut off
	folding bool   // what is appended goes into tail or next as well
	tail    []byte // used while there is no next
	next    *file  // the file that will replace file
	failed  error  // why next must not replace file
}

// file is a file that only this process appends to.
type file struct {
	*os.File
	size int64 // of whole lines
	torn bool  // there may be part of a line after these
}

// Open opens the file at path and calls replay with each of its records in order. If the file
// is not there, Open makes it. replay must not keep the slice. A record that replay refuses
// counts as damaged. Open describes a damaged file in the Damage that it returns; such a file
// takes no records until Fold has replaced it.
//
// The error is that the file cannot be read or written. replay may have been called before
// that.
func Open(path string, replay func(record []byte) error, o Options) (*Journal, *Damage, error) {
	j := &Journal{path: path, step: o.Step}
	if j.step == nil {
		j.step = func(string) {}
	}
	old, s, err := j.load(replay)
	if err != nil {
		return nil, nil, err
	}
	var damage *Damage
	if s.lost > 0 || s.reason != "" {
		damage = &Damage{Path: path, Reason: s.reason, Lost: s.lost, Lines: s.lines, Nothing: s.trusted == 0}
		damage.SetAside = j.setAside()
	}
	if old != nil {
		j.file = &file{File: old, size: s.end, torn: s.torn > 0}
	}
	switch {
	case old == nil:
		err = j.fold(func(_ func([]byte) error, _ func(func([]byte) error) error) error { return nil })
	case damage != nil:
		j.damaged = true
	case s.torn > 0:
		j.cutOff = s.torn
		err = j.file.cut(j.step)
	}
	if err != nil {
		if old != nil {
			old.Close()
		}
		return nil, nil, err
	}
	j.base = j.file.size
	return j, damage, nil
}

// load reads the file. It returns a nil file if there is none.
func (j *Journal) load(replay func([]byte) error) (*os.File, found, error) {
	j.step("open")
	f, err := os.OpenFile(j.path, os.O_RDWR|os.O_APPEND|syscall.O_NOFOLLOW|syscall.O_NONBLOCK, 0)
	j.step("open done")
	if errors.Is(err, fs.ErrNotExist) {
		return nil, found{}, nil
	}
	if err != nil {
		return nil, found{}, err
	}
	s, err := readFile(f, math.MaxInt64, replay)
	if err != nil {
		f.Close()
		return nil, s, fmt.Errorf("%s: %w", j.path, err)
	}
	return f, s, nil
}

// readFile reads an open file from its beginning, up to a size.
func readFile(f *os.File, size int64, replay func([]byte) error) (found, error) {
	if info, err := f.Stat(); err != nil || !info.Mode().IsRegular() {
		return found{}, errors.Join(errors.New("not a regular file"), err)
	}
	return read(io.NewSectionReader(f, 0, size), replay)
}

// Peek calls replay with each record of a file that can be trusted. Another process may append
// to the file at the same time. A file that is not there has no records.
func Peek(path string, replay func(record []byte) error) error {
	f, err := os.OpenFile(path, os.O_RDONLY|syscall.O_NOFOLLOW|syscall.O_NONBLOCK, 0)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	defer f.Close()
	_, err = readFile(f, math.MaxInt64, replay)
	return err
}

// Append appends the records of a batch in one write(2). After an error the file still ends
// with a whole record. If the file was being folded, it may hold the records of the batch in
// spite of the error; the caller may append them again in any case.
func (j *Journal) Append(b *Batch) error {
	j.mu.Lock()
	defer j.mu.Unlock()
	switch {
	case j.file == nil:
		return ErrClosed
	case j.damaged:
		return fmt.Errorf("%s is damaged and could not be replaced yet", j.path)
	}
	if len(b.lines) == 0 {
		return nil
	}
	if err := j.file.append(b.lines, j.step); err != nil {
		return err
	}
	switch {
	case j.next != nil:
		// Only one of the two files will stay.
		if err := j.next.append(b.lines, j.step); err != nil {
			j.failed = err
			return err
		}
	case j.folding:
		j.tail = append(j.tail, b.lines...)
	}
	return nil
}

// append writes lines at the end. If they are only partly written, it cuts that part off
// again.
func (f *file) append(lines []byte, step func(string)) error {
	if f.torn {
		if err := f.cut(step); err != nil {
			return err
		}
	}
	step("write")
	_, err := f.Write(lines)
	step("write done")
	if err != nil {
		f.torn = true
		return errors.Join(err, f.cut(step))
	}
	f.size += int64(len(lines))
	return nil
}

// cut cuts off everything after the last whole line.
func (f *file) cut(step func(string)) error {
	step("cut")
	err := f.Truncate(f.size)
	step("cut done")
	f.torn = err != nil
	return err
}

// Size returns the length of the file in bytes.
func (j *Journal) Size() int64 {
	j.mu.Lock()
	defer j.mu.Unlock()
	if j.file == nil {
		return 0
	}
	return j.file.size
}

// CutOff returns how many bytes Open has cut off at the end of the file: one record or several
// that were only partly written.
func (j *Journal) CutOff() int64 { return j.cutOff }

// foldMin is how many bytes a file must have grown by before folding is worth while.
const foldMin = 1 << 20

// Grown reports whether the file has grown so much since it was last folded that folding is
// worth while. If it is folded each time that Grown is true, all writes together are at most
// three times the bytes that are appended.
func (j *Journal) Grown() bool {
	j.mu.Lock()
	defer j.mu.Unlock()
	return j.file != nil && j.file.size > 2*j.base+foldMin
}

// Sync waits until all that was appended is on the disk. If somebody has removed the file,
// Sync puts it back.
func (j *Journal) Sync() error {
	j.slow.Lock()
	defer j.slow.Unlock()
	f := j.current()
	if f == nil {
		return ErrClosed
	}
	if !sameFile(f, j.path) {
		return j.fold(All)
	}
	j.step("fsync")
	err := f.Sync()
	j.step("fsync done")
	return err
}

// Present reports whether the file is still in its place. If somebody has removed the file or
// its directory, Sync puts it back.
func (j *Journal) Present() bool {
	f := j.current()
	return f != nil && sameFile(f, j.path)
}

func (j *Journal) current() *os.File {
	j.mu.Lock()
	defer j.mu.Unlock()
	if j.file == nil {
		return nil
	}
	return j.file.File
}

func sameFile(f *os.File, path string) bool {
	a, err := f.Stat()
	if err != nil {
		return false
	}
	b, err := os.Lstat(path)
	return err == nil && os.SameFile(a, b)
}

// Read calls f with each record of the file, in order.
func (j *Journal) Read(f func(record []byte) error) error {
	j.slow.Lock()
	defer j.slow.Unlock()
	return j.readTo(j.Size(), f)
}

// readTo reads the records up to a size.
func (j *Journal) readTo(size int64, f func(record []byte) error) error {
	file := j.current()
	if file == nil {
		return ErrClosed
	}
	var bad error
	_, err := readFile(file, size, func(record []byte) error {
		if bad == nil {
			bad = f(record)
		}
		return nil
	})
	return errors.Join(err, bad)
}

// Writing writes the records of a new file with add. It may use read to get the records that
// the file had when folding began.
type Writing func(add func(record []byte) error, read func(each func(record []byte) error) error) error

// All is the Writing that leaves nothing out.
func All(add func(record []byte) error, read func(each func(record []byte) error) error) error {
	return read(add)
}

// Fold writes a new file and renames it over the old one. Records that are appended after Fold
// has begun follow those that write has written. After an error the old file is still in its
// place, or the new one is in its place but a power failure may lose it.
func (j *Journal) Fold(write Writing) error {
	j.slow.Lock()
	defer j.slow.Unlock()
	if j.current() == nil {
		return ErrClosed
	}
	return j.fold(write)
}

// tailMax is how many bytes of the tail Append may have to wait for.
const tailMax = 64 << 10

// fold needs slow to be held, unless nobody else knows of j.
func (j *Journal) fold(write Writing) error {
	j.mu.Lock()
	j.folding, j.tail, j.failed = true, nil, nil
	size := int64(0)
	if j.file != nil {
		size = j.file.size
	}
	j.mu.Unlock()
	next, err := j.create(write, func(f func([]byte) error) error { return j.readTo(size, f) })
	if err == nil {
		err = j.replace(next)
	}
	j.mu.Lock()
	old := next
	if err == nil {
		old, j.file, j.base, j.damaged = j.file, next, next.size, false
	}
	j.folding, j.tail, j.next = false, nil, nil
	j.mu.Unlock()
	if old != nil {
		old.Close()
	}
	if err != nil {
		os.Remove(j.path + newSuffix)
		return err
	}
	return j.syncDir()
}

// create writes the new file beside the old one, with everything that is appended in the
// meantime. Even after an error it returns the file if it has made one.
func (j *Journal) create(write Writing, read func(func([]byte) error) error) (*file, error) {
	j.step("open")
	f, err := os.OpenFile(j.path+newSuffix, os.O_RDWR|os.O_CREATE|os.O_TRUNC|os.O_APPEND|syscall.O_NOFOLLOW, 0o644)
	j.step("open done")
	if err != nil {
		return nil, err
	}
	next := &file{File: f}
	w := bufio.NewWriterSize(writer{next, j.step}, 1<<16)
	var b Batch
	add := func(record []byte) error {
		b.lines = b.lines[:0]
		if err := b.Add(record); err != nil {
			return err
		}
		_, err := w.Write(b.lines)
		return err
	}
	err = add([]byte(header))
	if err == nil {
		err = write(add, read)
	}
	if err == nil {
		err = w.Flush()
	}
	for err == nil && j.copyTail(next, &err) {
	}
	if err == nil {
		j.step("fsync")
		err = next.Sync()
		j.step("fsync done")
	}
	return next, err
}

// copyTail writes what was appended in the meantime, and reports whether there may be more.
// When little is left, Append waits until that is written. From then on Append writes into
// both files.
func (j *Journal) copyTail(next *file, err *error) (more bool) {
	j.mu.Lock()
	defer j.mu.Unlock()
	tail := j.tail
	j.tail = nil
	if more = len(tail) > tailMax; more {
		j.mu.Unlock()
		defer j.mu.Lock()
	}
	if len(tail) > 0 {
		*err = next.append(tail, j.step)
	}
	if !more && *err == nil {
		j.next = next
	}
	return more
}

// writer counts what is written to a file.
type writer struct {
	f    *file
	step func(string)
}

func (w writer) Write(b []byte) (int, error) {
	if err := w.f.append(b, w.step); err != nil {
		return 0, err
	}
	return len(b), nil
}

// replace renames the new file over the old one, unless the new one lacks something.
func (j *Journal) replace(next *file) error {
	j.mu.Lock()
	err := j.failed
	j.mu.Unlock()
	if err != nil {
		return err
	}
	// If appending to the new file fails from here on, Append returns an error, although the
	// old file may hold the records.
	j.step("rename")
	err = os.Rename(j.path+newSuffix, j.path)
	j.step("rename done")
	return err
}

// newSuffix is the suffix of a file that is being written. If such a file is left over, the
// next one overwrites it.
const newSuffix = ".new"

func (j *Journal) syncDir() error {
	dir, err := os.Open(filepath.Dir(j.path))
	if err != nil {
		return err
	}
	defer dir.Close()
	j.step("fsync")
	err = dir.Sync()
	j.step("fsync done")
	return err
}

// Close closes the file. It does not Sync.
func (j *Journal) Close() error {
	j.slow.Lock()
	defer j.slow.Unlock()
	j.mu.Lock()
	defer j.mu.Unlock()
	if j.file == nil {
		return nil
	}
	f := j.file
	j.file = nil
	return f.Close()
}
