package armseg

import (
	"fmt"
	"sync/atomic"
)

// Where the tables of a process's file lie.
const (
	procInits  = ProcLen
	procChunks = procInits + 4*AppMax
	procBlocks = procChunks + 4*ChunkMax
	procTables = procBlocks + 4*BlockMax // the end of them

	mapSize64 = 4 << 30 // address space that a process's file may grow into
	mapSize32 = 64 << 20
	growStep  = 128 << 10
)

// grow backs the file from where it ends so far, so that end and some more are backed.
func (w *Writer) grow(backed, end uint64) error {
	size := (max(end, backed+backed/4) + growStep - 1) / growStep * growStep
	err := w.extend(backed, min(size, w.file.size))
	if err != nil && size > end {
		// The last of what there is.
		err = w.extend(backed, (end+4095)/4096*4096)
	}
	if err != nil {
		atomic.AddUint64(word64(w.base, ProcNoRoom), 1)
		return fmt.Errorf("%w: %w", ErrNoRoom, err)
	}
	return nil
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
	put64(w.base, ProcBacked, to)
	return nil
}

// alloc hands out n bytes, all zero. The caller holds w.mu.
func (w *Writer) alloc(n uint64) (uint64, error) {
	off := get64(w.base, ProcBump)
	end := off + (n+63)&^63
	if backed := get64(w.base, ProcBacked); end > backed {
		if err := w.grow(backed, end); err != nil {
			return 0, err
		}
	}
	put64(w.base, ProcBump, end)
	return off, nil
}
