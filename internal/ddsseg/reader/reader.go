//go:build linux

// Package reader reads the segment of a supplier, which a stranger wrote. The agent links
// it; programs that supply statistics do not.
package reader

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"time"

	"github.com/pcp-rtime/rtime/internal/ddsseg/layout"
	"github.com/pcp-rtime/rtime/internal/shm"
)

// Reasons for which a reader refuses a segment. The errors returned wrap them.
var (
	ErrFormat   = errors.New("not a well-formed segment")
	ErrNotReady = errors.New("not published yet")
	ErrEnded    = errors.New("ended by its supplier")
	ErrOwner    = errors.New("wrong owner")
	ErrLimit    = errors.New("beyond a limit")
)

// Limits bound what a reader takes from one segment.
type Limits struct {
	Size     int64 // of the file in bytes
	Contexts int   // fixed ones and templates; the same limit again for slots
	Stats    int   // records; the same limit for the values of all fixed contexts
	Memory   int64 // about how many bytes Open may take for records and texts; 0: no limit
}

// Info is what the header of a segment says. It does not change.
type Info struct {
	Name     string // program or base name that the supplier gave; may be empty
	UID      uint32 // owner of the file
	PID      uint32 // in the namespace PIDNS
	PIDNS    uint64
	Start    uint64 // of the process, in ticks since boot
	Word     int    // bytes of a pointer
	Language int    // LanguageC, LanguageGo or another
	// TimeOut is how long the agent is to wait for suppliers that do not renew their time
	// stamps: 15 s to 10 min, 0 if the program gave none, -1 for ever.
	TimeOut time.Duration
}

// Reader reads one supplier's segment. Everything that it returns is a checked copy and
// stays valid. Read and Collect read values. Its methods must be called from one
// goroutine at a time. The supplier may change the segment at any time. If its file was
// truncated, or its words are out of bounds, the methods fail with shm.ErrFault or
// ErrFormat, and the Reader cannot be used any more.
type Reader struct {
	m        *shm.Map
	limits   Limits
	info     Info
	head     header
	contexts []Context
	fixed    int    // values of all fixed contexts
	memory   int64  // bytes that Open took
	texts    uint64 // bytes of the help and labels that were copied and are still in use

	slots   []slotSeen
	blocks  [layout.SlotBlocks]uint64 // offsets of the blocks that are known
	changes uint32                    // the counter of changes at the last scan
	scanned bool
	later   bool // a slot was changing during the last scan
	todo    []uint32
}

// header is the private copy of the header.
type header [layout.HeaderLen]byte

func (h *header) u16(off int) uint16 { return binary.NativeEndian.Uint16(h[off:]) }
func (h *header) u32(off int) uint32 { return binary.NativeEndian.Uint32(h[off:]) }
func (h *header) u64(off int) uint64 { return binary.NativeEndian.Uint64(h[off:]) }

// Open opens and checks the segment at path. It refuses a segment that is not published,
// and one that does not belong to the user in its header.
func Open(path string, l Limits) (*Reader, error) {
	m, err := shm.Open(path, shm.Options{Min: layout.HeaderLen, Max: l.Size, Solid: true})
	if err != nil {
		return nil, err
	}
	r := &Reader{m: m, limits: l}
	var bad error
	if err := m.Guard(func() { bad = r.load() }); err != nil {
		bad = err
	}
	if bad != nil {
		m.Close()
		return nil, fmt.Errorf("%s: %w", path, bad)
	}
	return r, nil
}

// load copies and checks all that does not change.
func (r *Reader) load() error {
	if !r.m.CopyWords(r.head[:], 0) {
		return bad("%d bytes are too few for a header", r.m.Len())
	}
	if r.head.u64(layout.HdrSize) > r.m.Len() { // the file may have grown just now
		if err := r.m.Grow(); err != nil {
			return err
		}
	}
	if err := r.head.check(r.m); err != nil {
		return err
	}
	st, err := r.m.Stat()
	if err != nil {
		return err
	}
	h := &r.head
	r.info = Info{UID: st.UID, PID: h.u32(layout.HdrPID), PIDNS: h.u64(layout.HdrPIDNS), Start: h.u64(layout.HdrStart),
		Word: int(h.u32(layout.HdrWord)), Language: int(h.u32(layout.HdrLanguage)), TimeOut: h.timeOut()}
	if h.u32(layout.HdrUID) != st.UID {
		return fmt.Errorf("%w: the header names user %d, and the file belongs to user %d", ErrOwner, h.u32(layout.HdrUID), st.UID)
	}
	name, ok := text(h[layout.HdrName : layout.HdrName+layout.PathLen])
	if !ok {
		return bad("the supplier's name has no NUL at its end")
	}
	r.info.Name = name
	return r.tables()
}

func bad(format string, args ...any) error {
	return fmt.Errorf("%w: %s", ErrFormat, fmt.Sprintf(format, args...))
}

// check checks the header by itself.
func (h *header) check(m *shm.Map) error {
	switch {
	case string(h[:8]) != layout.Magic:
		return bad("magic %q", h[:8])
	case h.u32(layout.HdrOrder) != layout.Order:
		return bad("byte order %#x", h.u32(layout.HdrOrder))
	case h.u16(layout.HdrMajor) != layout.Major:
		return bad("version %d", h.u16(layout.HdrMajor))
	case h.u32(layout.HdrHeaderLen) != layout.HeaderLen || h.u32(layout.HdrStatLen) != layout.StatLen ||
		h.u32(layout.HdrContextLen) != layout.ContextLen || h.u32(layout.HdrSlotLen) != layout.SlotLen:
		return bad("lengths of records %d, %d, %d, %d", h.u32(layout.HdrHeaderLen), h.u32(layout.HdrStatLen), h.u32(layout.HdrContextLen), h.u32(layout.HdrSlotLen))
	case h.u32(layout.HdrWord) != 4 && h.u32(layout.HdrWord) != 8:
		return bad("pointers of %d bytes; want 4 or 8", h.u32(layout.HdrWord))
	case h.u64(layout.HdrSize) < layout.HeaderLen || h.u64(layout.HdrSize) > m.Len():
		return bad("the header says that %d bytes are in use, and the file has %d", h.u64(layout.HdrSize), m.Len())
	}
	switch state := h.u32(layout.HdrState); state {
	case layout.StateReady:
	case layout.StateBuilding:
		return ErrNotReady
	case layout.StateEnded:
		return ErrEnded
	default:
		return bad("state %d", state)
	}
	return h.checkStamp(m)
}

// checkStamp checks where the time stamp lies.
func (h *header) checkStamp(m *shm.Map) error {
	off, width := uint64(h.u32(layout.HdrTimeOff)), uint64(h.u32(layout.HdrTimeWord))
	if width != 4 && width != 8 {
		return bad("times have words of %d bytes; want 4 or 8", width)
	}
	if off%width != 0 || off < layout.HeaderLen || !m.Has(off, 2*width) {
		return bad("the time stamp is at offset %d, where none can be", off)
	}
	return nil
}

// timeOut returns the time-out that the supplier asks for. It returns 0 if it gave none
// or one out of range, and -1 if it wants no time-out at all.
func (h *header) timeOut() time.Duration {
	switch s := h.u32(layout.HdrTimeOut); {
	case s == layout.TimeOutNever:
		return -1
	case s >= layout.TimeOutLeast && s <= layout.TimeOutMost:
		return time.Duration(s) * time.Second
	}
	return 0
}

// Info returns what the header says.
func (r *Reader) Info() Info { return r.info }

// Contexts returns the fixed contexts and the templates, in the supplier's order.
func (r *Reader) Contexts() []Context { return r.contexts }

// About how many bytes a copy of a record takes in memory.
const (
	statMemory    = 320
	contextMemory = 640
)

// Memory returns about how many bytes the copies take that Open has made.
func (r *Reader) Memory() int64 { return r.memory }

// Values returns how many values the fixed contexts have.
func (r *Reader) Values() int { return r.fixed }

// Bytes returns how much of the file is mapped.
func (r *Reader) Bytes() int64 { return int64(r.m.Len()) }

// Alive reports whether the supplier's process lives. Its lock in the kernel tells,
// whatever the namespace of the process is and whichever process has its number now.
func (r *Reader) Alive() (bool, error) { return r.m.Locked(layout.AliveOffset) }

// Close unmaps the segment.
func (r *Reader) Close() error { return r.m.Close() }

// text reads a NUL-terminated field.
func text(field []byte) (string, bool) {
	n := bytes.IndexByte(field, 0)
	if n < 0 {
		return "", false
	}
	return string(field[:n]), true
}

// Is reports whether the file at path is the one that the reader has open.
func (r *Reader) Is(path string) bool { return r.m.Is(path) }
