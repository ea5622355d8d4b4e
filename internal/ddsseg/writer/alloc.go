package writer

import (
	"fmt"
	"math/bits"
	"sync/atomic"

	"github.com/pcp-rtime/rtime/internal/ddsseg/layout"
)

// The size of a block is a power of two, at least a cache line, so that no two
// contexts share a line. A block that was given back is used again for the next
// request of its size.
const minBlock = 6

func blockClass(n uint64) int { return max(bits.Len64(n-1), minBlock) }

// alloc returns the offset of n bytes, all zero. n must be greater than 0.
func (w *Writer) alloc(n uint64) (uint64, error) {
	class := blockClass(n)
	if free := w.pools[class]; len(free) > 0 {
		off := free[len(free)-1]
		w.pools[class] = free[:len(free)-1]
		for i := range w.words(off, 1<<class) {
			atomic.StoreUint64(w.at64(off+8*uint64(i)), 0)
		}
		return off, nil
	}
	off := (w.end + 63) &^ 63
	return off, w.reserve(off + 1<<class)
}

// giveBack takes a block of n bytes back. n is 0 if there was none.
func (w *Writer) giveBack(off, n uint64) {
	if n > 0 {
		class := blockClass(n)
		w.pools[class] = append(w.pools[class], off)
	}
}

// reserve moves the end of what is in use to end. The file grows by an eighth of
// itself, so that growing costs the same per byte at every size.
func (w *Writer) reserve(end uint64) error {
	if end > w.m.size {
		const page = 1 << 16
		size := (max(end, w.m.size+w.m.size/8) + page - 1) &^ (page - 1)
		err := w.m.extend(size)
		if err != nil && size > end {
			err = w.m.extend((end + 4095) &^ 4095)
		}
		if err != nil {
			return fmt.Errorf("%w: %w", ErrNoRoom, err)
		}
	}
	w.end = end
	atomic.StoreUint64(w.at64(layout.HdrSize), end)
	return nil
}
