//go:build linux

// Package reader reads the files in which programs leave what the ARM libraries measure.
// The agent uses it; instrumented programs do not. Strangers write these files, so
// everything in them is copied, then checked, then used.
package reader

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/pcp-rtime/rtime/internal/armseg/layout"
	"github.com/pcp-rtime/rtime/internal/shm"
)

// Reasons to refuse a file. The errors that are returned wrap these.
var (
	ErrFormat   = errors.New("not a well-formed segment")
	ErrNotReady = errors.New("the file's state is not 1, published")
	ErrOwner    = errors.New("the file's owner is not the user in its name or header")
	ErrBack     = errors.New("a count is lower than before")
)

func badFormat(format string, args ...any) error {
	return fmt.Errorf("%w: %s", ErrFormat, fmt.Sprintf(format, args...))
}

// record is a private copy of a header or a record.
type record []byte

func (w record) u16(off int) uint16 { return binary.NativeEndian.Uint16(w[off:]) }
func (w record) u32(off int) uint32 { return binary.NativeEndian.Uint32(w[off:]) }
func (w record) u64(off int) uint64 { return binary.NativeEndian.Uint64(w[off:]) }

// openFile maps a file, checks that the user owns it, and calls load under a guard.
func openFile(path string, o shm.Options, uid uint32, load func(*shm.Map) error) (*shm.Map, error) {
	m, err := shm.Open(path, o)
	if err != nil {
		return nil, err
	}
	var bad error
	if err := m.Guard(func() { bad = load(m) }); err != nil {
		bad = err
	}
	if st, err := m.Stat(); bad == nil && (err != nil || st.UID != uid) {
		bad = fmt.Errorf("%w: user %d, and the file's owner is %d", ErrOwner, uid, st.UID)
	}
	if bad != nil {
		m.Close()
		return nil, fmt.Errorf("%s: %w", path, bad)
	}
	return m, nil
}

// checkHeader checks what both kinds of file begin with.
func checkHeader(h record, magic string) error {
	switch {
	case string(h[:8]) != magic:
		return badFormat("magic %q", h[:8])
	case h.u32(layout.NamesOrder) != layout.ByteOrder:
		return badFormat("byte order %#x", h.u32(layout.NamesOrder))
	case h.u16(layout.NamesMajor) != layout.Major:
		return badFormat("version %d", h.u16(layout.NamesMajor))
	}
	return nil
}

// Text returns the text at the beginning of b, up to a zero byte or the end, with
// everything that cannot be printed replaced by question marks.
func Text(b []byte) string {
	if i := bytes.IndexByte(b, 0); i >= 0 {
		b = b[:i]
	}
	if plain(b) {
		return string(b)
	}
	var s strings.Builder
	for len(b) > 0 {
		r, n := utf8.DecodeRune(b)
		if r == utf8.RuneError && n <= 1 || !unicode.IsPrint(r) {
			r = '?'
		}
		s.WriteRune(r)
		b = b[n:]
	}
	return s.String()
}

func plain(b []byte) bool {
	for _, c := range b {
		if c < ' ' || c > '~' {
			return false
		}
	}
	return true
}
