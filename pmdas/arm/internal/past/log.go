package past

import (
	"bytes"
	"encoding/hex"
	"encoding/json"
	"errors"
	"hash/crc32"
	"io/fs"
	"os"
	"strings"

	"github.com/pcp-rtime/rtime/internal/journal"
)

// log is a journal of JSON. It is made when something is written to it for the first
// time.
type log struct {
	path string
	j    *journal.Journal // nil while there is none
	step func(string)
}

func unmarshal(line []byte, v any) error { return json.Unmarshal(line, v) }

// open opens the journal, and calls f with what each record holds.
func (l *log) open(f func(text []byte) error) (*journal.Damage, error) {
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
func (l *log) add(v any) error {
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
func (l *log) replace(list ...any) error {
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
func (l *log) read(f func(text []byte) error) (damage *journal.Damage, err error) {
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
func (l *log) takeOld() error {
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

func (l *log) close() error {
	if l.j == nil {
		return nil
	}
	j := l.j
	l.j = nil
	return j.Close()
}

// missing reports whether somebody has removed the file.
func (l *log) missing() bool { return l.j != nil && !l.j.Present() }

// again makes such a file anew, with all that was in it.
func (l *log) again() error {
	if !l.missing() {
		return nil
	}
	return l.j.Sync()
}
