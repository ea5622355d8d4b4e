package collect

import (
	"bufio"
	"bytes"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"hash/crc32"
	"io"
	"io/fs"
	"os"
	"syscall"
)

const (
	newSuffix   = ".new"
	asideSuffix = ".damaged"
	maxAside    = 1 << 20 // bytes of damaged lines that are kept
)

// logFile is a file of lines, each a sum over the rest of it, a blank, and JSON. It is
// written by one process.
type logFile struct {
	path string
	size int64
	torn bool // the last line may have been written in part
	step func(string)
}

func unmarshal(line []byte, v any) error { return json.Unmarshal(line, v) }

func inode(info fs.FileInfo) uint64 {
	if st, ok := info.Sys().(*syscall.Stat_t); ok {
		return st.Ino
	}
	return 0
}

func owner(info fs.FileInfo) uint32 {
	if st, ok := info.Sys().(*syscall.Stat_t); ok {
		return st.Uid
	}
	return ^uint32(0)
}

func line(v any) ([]byte, error) {
	text, err := json.Marshal(v)
	if err != nil {
		return nil, err
	}
	return fmt.Appendf(nil, "%08x %s\n", crc32.ChecksumIEEE(text), text), nil
}

// parseLine returns what a line holds, if it is whole.
func parseLine(b []byte) (text []byte, ok bool) {
	if len(b) < 10 || b[len(b)-1] != '\n' || b[8] != ' ' {
		return nil, false
	}
	var sum [4]byte
	if _, err := hex.Decode(sum[:], b[:8]); err != nil {
		return nil, false
	}
	text = b[9 : len(b)-1]
	want := crc32.ChecksumIEEE(text)
	return text, sum == [4]byte{byte(want >> 24), byte(want >> 16), byte(want >> 8), byte(want)}
}

// add appends a line in one write. What was written of it when that failed is cut off.
func (l *logFile) add(v any) error {
	b, err := line(v)
	if err != nil {
		return err
	}
	if l.torn {
		b = append([]byte("\n"), b...)
	}
	f, err := os.OpenFile(l.path, os.O_WRONLY|os.O_CREATE|os.O_APPEND|syscall.O_NOFOLLOW, 0o644)
	if err != nil {
		return err
	}
	defer f.Close()
	if _, err := f.Write(b); err != nil {
		// The file is shorter, or as long: nobody else writes.
		l.torn = f.Truncate(l.size) != nil
		return err
	}
	l.torn = false
	l.size += int64(len(b))
	return nil
}

// replace writes the file anew, of these lines. It is renamed into place.
func (l *logFile) replace(list ...any) error {
	var all []byte
	for _, v := range list {
		b, err := line(v)
		if err != nil {
			return err
		}
		all = append(all, b...)
	}
	if err := os.WriteFile(l.path+newSuffix, all, 0o644); err != nil {
		return errors.Join(err, os.Remove(l.path+newSuffix))
	}
	l.step("past: written beside")
	if err := os.Rename(l.path+newSuffix, l.path); err != nil {
		return err
	}
	l.size, l.torn = int64(len(all)), false
	l.step("past: written anew")
	return nil
}

// asideError says that damaged lines could not be set aside. All has been read.
type asideError struct{ error }

// read calls f for what each line holds. Lines that are damaged, or that f refuses, are
// set aside and counted; if that fails, the error is an asideError. A file that is not
// there has none.
func (l *logFile) read(f func(text []byte) error) (damaged int, err error) {
	file, err := os.OpenFile(l.path, os.O_RDONLY|syscall.O_NOFOLLOW, 0)
	if errors.Is(err, fs.ErrNotExist) {
		l.size = 0
		return 0, nil
	}
	if err != nil {
		return 0, err
	}
	defer file.Close()
	var aside []byte
	r := bufio.NewReaderSize(file, 1<<16)
	l.size = 0
	for {
		b, err := r.ReadBytes('\n')
		l.size += int64(len(b))
		if len(b) > 0 && !bytes.Equal(b, []byte("\n")) {
			text, ok := parseLine(b)
			if !ok || f(text) != nil {
				damaged++
				aside = append(aside, b[:min(len(b), maxAside-len(aside))]...)
			}
		}
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			return damaged, err
		}
	}
	if damaged > 0 {
		l.torn = true
		if err := os.WriteFile(l.path+asideSuffix, aside, 0o644); err != nil {
			return damaged, asideError{err}
		}
	}
	return damaged, nil
}

// entries reads a user's log.
func (l *userLog) entries() (list []*pastEntry, damaged int, err error) {
	damaged, err = l.read(func(text []byte) error {
		e := new(pastEntry)
		if err := unmarshal(text, e); err != nil {
			return err
		}
		list = append(list, e)
		return nil
	})
	return list, damaged, err
}

// damaged notes that lines of a log were damaged, of which read has told with err. It
// returns what kept the others from being read.
func (c *Collector) damaged(path string, n int, err error) error {
	var aside asideError
	switch {
	case errors.As(err, &aside):
		c.fail(aside)
		err = nil
	case n > 0:
		c.fail(fmt.Errorf("%s: %d damaged lines, set aside in %s", path, n, path+asideSuffix))
	}
	c.health.Damaged += uint64(n)
	return err
}
