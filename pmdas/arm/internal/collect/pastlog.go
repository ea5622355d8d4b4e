package collect

import (
	"bytes"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"hash/crc32"
	"io/fs"
	"os"
	"strings"
	"syscall"

	"github.com/pcp-rtime/rtime/internal/journal"
)

// logFile is a journal of JSON. It is made when something is written to it for the first
// time.
type logFile struct {
	path string
	j    *journal.Journal // nil while there is none
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

// open opens the journal, and calls f with what each record holds.
func (l *logFile) open(f func(text []byte) error) (*journal.Damage, error) {
	j, damage, err := journal.Open(l.path, f, journal.Options{Step: func(what string) {
		switch what {
		case "rename":
			l.step("past: written beside")
		case "rename done":
			l.step("past: written anew")
		}
	}})
	l.j = j
	return damage, err
}

func none([]byte) error { return nil }

// add appends a record.
func (l *logFile) add(v any) error {
	if l.j == nil {
		if _, err := l.open(none); err != nil {
			return err
		}
	}
	text, err := json.Marshal(v)
	if err != nil {
		return err
	}
	var b journal.Batch
	if err := b.Add(text); err != nil {
		return err
	}
	return l.j.Append(&b)
}

// replace writes the file anew, of these records.
func (l *logFile) replace(list ...any) error {
	if l.j == nil {
		if _, err := l.open(none); err != nil {
			return err
		}
	}
	return l.j.Fold(func(add func([]byte) error, _ func(func([]byte) error) error) error {
		for _, v := range list {
			text, err := json.Marshal(v)
			if err == nil {
				err = add(text)
			}
			if err != nil {
				return err
			}
		}
		return nil
	})
}

// read opens the file, if it is there, and calls f for what each record holds. It says how
// many records are damaged, or refused by f; the file is set aside then, which may fail.
func (l *logFile) read(f func(text []byte) error) (damage *journal.Damage, err error) {
	if err := l.takeOld(); err != nil {
		return nil, err
	}
	if _, err := os.Lstat(l.path); errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	return l.open(f)
}

// oldSuffix is that of a log of an earlier version: lines that are each a sum over the rest
// of it, a blank, and JSON.
const oldSuffix = ".log"

// takeOld makes a journal of such a log, and removes it.
func (l *logFile) takeOld() error {
	old := strings.TrimSuffix(l.path, logSuffix) + oldSuffix
	data, err := os.ReadFile(old)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	if _, err := os.Lstat(l.path); errors.Is(err, fs.ErrNotExist) {
		var lines []any
		for line := range bytes.Lines(data) {
			if text, ok := parseOld(line); ok {
				lines = append(lines, json.RawMessage(text))
			}
		}
		if err := l.replace(lines...); err != nil {
			return err
		}
		if err := l.close(); err != nil {
			return err
		}
	}
	return os.Remove(old)
}

// parseOld returns what a line of an earlier version holds, if it is whole.
func parseOld(b []byte) (text []byte, ok bool) {
	if len(b) < 10 || b[len(b)-1] != '\n' || b[8] != ' ' {
		return nil, false
	}
	var sum [4]byte
	if _, err := hex.Decode(sum[:], b[:8]); err != nil {
		return nil, false
	}
	text = b[9 : len(b)-1]
	want := crc32.ChecksumIEEE(text)
	return text, sum == [4]byte{byte(want >> 24), byte(want >> 16), byte(want >> 8), byte(want)} && json.Valid(text)
}

func (l *logFile) close() error {
	if l.j == nil {
		return nil
	}
	j := l.j
	l.j = nil
	return j.Close()
}

// missing reports whether somebody has removed the file.
func (l *logFile) missing() bool { return l.j != nil && !l.j.Present() }

// again makes such a file anew, with all that was in it.
func (l *logFile) again() error {
	if !l.missing() {
		return nil
	}
	return l.j.Sync()
}

// entries returns what is in a user's log, but for what cannot be used.
func (l *userLog) entries() (list []*pastEntry, err error) {
	err = l.j.Read(func(text []byte) error {
		e := new(pastEntry)
		if unmarshal(text, e) == nil {
			list = append(list, e)
		}
		return nil
	})
	return list, err
}

// damaged tells of damage to a log.
func (c *Collector) damaged(d *journal.Damage) {
	if d != nil {
		c.fail(fmt.Errorf("%v", d))
		c.health.Damaged += uint64(d.Lines)
	}
}
