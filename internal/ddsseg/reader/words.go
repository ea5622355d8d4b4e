//go:build linux

package reader

import (
	"fmt"
	"math/bits"
	"time"

	"github.com/pcp-rtime/rtime/internal/ddsseg/layout"
	"github.com/pcp-rtime/rtime/internal/shm"
)

// State returns the state that the supplier has put its segment into.
func (r *Reader) State() (state uint32, err error) {
	err = r.m.Guard(func() { state, _ = r.m.Load32(layout.HdrState) })
	return state, err
}

// Whole returns an error that wraps shm.ErrFault if the file is shorter than what is
// mapped, or than its header says. It returns one that wraps shm.ErrHoles if the file has
// holes. If a file is truncated within a page, the rest of the page reads as zeros
// without a fault. Only the size of the file shows that.
func (r *Reader) Whole() error {
	var used uint64
	if err := r.m.Guard(func() { used, _ = r.m.Load64(layout.HdrSize) }); err != nil {
		return err
	}
	st, err := r.m.Stat() // after the header, because a supplier lengthens the file first
	if err != nil {
		return err
	}
	if used = max(used, r.m.Len()); uint64(st.Size) < used {
		return fmt.Errorf("%w: %d bytes are left of %d", shm.ErrFault, st.Size, used)
	}
	return r.m.Solid()
}

// Stamp returns the time stamp of the supplier's last update, in the machine's byte
// order. It returns the zero time if none was set or if it is not a valid time.
func (r *Reader) Stamp() (t time.Time, err error) {
	f := Field{Op: OpTime32}
	if r.head.u32(layout.HdrTimeWord) == 8 {
		f.Op = OpTime64
	}
	err = r.m.Guard(func() {
		if v, ok := r.value(uint64(r.head.u32(layout.HdrTimeOff)), f); ok && v != 0 {
			t = time.UnixMicro(int64(v))
		}
	})
	return t, err
}

// Stamp holds the two words of a time stamp as they are in memory: seconds and
// microseconds, in the byte order in which the supplier stores them.
type Stamp struct {
	words [2]uint64
	width int // bytes of a word
}

// StampWords returns the time stamp of the supplier's last update as it is in memory.
// Each update changes it. Nothing else shows that the supplier still works.
func (r *Reader) StampWords() (s Stamp, err error) {
	off := uint64(r.head.u32(layout.HdrTimeOff))
	s.width = int(r.head.u32(layout.HdrTimeWord))
	err = r.m.Guard(func() {
		for i := range s.words {
			at := off + uint64(i*s.width)
			if s.width == 8 {
				s.words[i], _ = r.m.Load64(at)
			} else {
				v, _ := r.m.Load32(at)
				s.words[i] = uint64(v)
			}
		}
	})
	return s, err
}

// Before returns how long before now the stamp was set, if that is less than limit. It
// tries the machine's byte order and, as the SPMI's guide wants it, that of big-endian
// machines.
func (s Stamp) Before(now time.Time, limit time.Duration) (age time.Duration, ok bool) {
	swapped := uint64(bits.ReverseBytes32(uint32(s.words[0])))
	if s.width == 8 {
		swapped = bits.ReverseBytes64(s.words[0])
	}
	for _, seconds := range []uint64{s.words[0], swapped} {
		if seconds > 1<<40 {
			continue // not a valid time
		}
		if age = now.Sub(time.Unix(int64(seconds), 0)); age > 0 && age < limit {
			return age, true
		}
	}
	return 0, false
}
