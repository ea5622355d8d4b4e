package writer

import (
	"fmt"
	"sync/atomic"
	"time"

	"github.com/pcp-rtime/rtime/internal/armseg/layout"
)

// Where the tables of a process's file lie.
const (
	procInits  = layout.ProcLen
	procChunks = procInits + 4*layout.AppMax
	procBlocks = procChunks + 4*layout.ChunkMax
	procTables = procBlocks + 4*layout.BlockMax // the end of them

	mapSize64 = 4 << 30 // address space that a process's file may grow into
	mapSize32 = 64 << 20
	growStep  = 64 << 10
	growRetry = 100 * time.Millisecond
)

// grow allocates the file up to end, and some more. The caller holds w.mu, or no other
// goroutine knows w yet.
func (w *Writer) grow(end uint64) error {
	// While there is no room, only one start in growRetry asks for some.
	if w.noRoom != nil && time.Since(w.lastTry) < growRetry {
		return w.noRoom
	}
	size := (max(end, w.backed+w.backed/4) + growStep - 1) / growStep * growStep
	err := w.extend(min(size, w.file.size))
	if err != nil && size > end {
		// There may still be enough for this request alone.
		err = w.extend((end + 4095) / 4096 * 4096)
	}
	if w.noRoom = nil; err != nil {
		w.noRoom, w.lastTry = fmt.Errorf("%w: %w", ErrNoRoom, err), time.Now()
	}
	return w.noRoom
}

func (w *Writer) extend(to uint64) error {
	from := w.backed
	if to <= from || to > w.file.size {
		return fmt.Errorf("%s: %d bytes of address space are used up", w.file.path, w.file.size)
	}
	if err := w.file.belowLimit(to); err != nil {
		return err
	}
	err := w.file.reserve(from, to-from)
	if unsupported(err) {
		err = w.file.zero(from, to-from)
	}
	if err != nil {
		return err
	}
	w.backed = to
	put64(w.base, layout.ProcBacked, to)
	return nil
}

// alloc hands out n bytes, all zero. The caller holds w.mu.
func (w *Writer) alloc(n uint64) (uint64, error) {
	off := w.bump
	end := off + (n+63)&^63
	if end > w.backed {
		if err := w.grow(end); err != nil {
			return 0, err
		}
	}
	w.bump = end
	put64(w.base, layout.ProcBump, end)
	return off, nil
}

// once returns the offset that at holds. If that is 0, it allocates n bytes and stores their
// offset in at, and in word for readers of the file. It returns 0 if there is no room.
func (w *Writer) once(at *atomic.Uint64, word *uint64, n uint64) uint64 {
	if off := at.Load(); off != 0 {
		return off
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	if off := at.Load(); off != 0 {
		return off
	}
	off, err := w.alloc(n)
	if err != nil {
		return 0
	}
	at.Store(off)
	atomic.StoreUint64(word, off)
	return off
}
