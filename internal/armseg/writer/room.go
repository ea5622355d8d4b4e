package writer

import (
	"fmt"
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

// grow backs the file from where it ends so far, so that end and some more are backed. The
// caller holds w.mu, or is alone.
func (w *Writer) grow(backed, end uint64) error {
	// Where there is no room, not every start is to ask for some.
	if w.noRoom != nil && time.Since(w.lastTry) < growRetry {
		return w.noRoom
	}
	size := (max(end, backed+backed/4) + growStep - 1) / growStep * growStep
	err := w.extend(backed, min(size, w.file.size))
	if err != nil && size > end {
		// The last of what there is.
		err = w.extend(backed, (end+4095)/4096*4096)
	}
	if w.noRoom = nil; err != nil {
		w.noRoom, w.lastTry = fmt.Errorf("%w: %w", ErrNoRoom, err), time.Now()
	}
	return w.noRoom
}

func (w *Writer) extend(from, to uint64) error {
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
	put64(w.base, layout.ProcBacked, to)
	return nil
}

// alloc hands out n bytes, all zero. The caller holds w.mu.
func (w *Writer) alloc(n uint64) (uint64, error) {
	off := get64(w.base, layout.ProcBump)
	end := off + (n+63)&^63
	if backed := get64(w.base, layout.ProcBacked); end > backed {
		if err := w.grow(backed, end); err != nil {
			return 0, err
		}
	}
	put64(w.base, layout.ProcBump, end)
	return off, nil
}
