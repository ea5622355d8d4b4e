package writer

import (
	"sync/atomic"

	"github.com/pcp-rtime/rtime/internal/armseg/layout"
)

// block is where the goroutines count that run on one P, as far as the P is known. The
// block gets its records in the file when it is first used.
type block struct {
	w      *Writer
	n      int // the block's index in Writer.blocks
	number uint32
	off    uint64                  // of the block's record, 0 before it is made; w.mu guards this, number and pages
	pages  [layout.DirPages]uint64 // offsets of the directory's pages

	made   atomic.Bool
	chunks atomic.Pointer[[]chunk]

	_ [128]byte
	// hint is the slot that was freed last, as its offset divided by 64. It may be
	// free.
	hint uint32
	_    [128]byte
}

// chunk is 64 slots of a block.
type chunk struct {
	number uint32
	off    uint64         // of the record
	ext    *atomic.Uint64 // offset of its counters' last values, 0 while there are none
}

// pick returns the block of the P that this goroutine runs on. The goroutine may run on
// another P by the time it counts. That costs time, but does no harm.
func (w *Writer) pick() *block { return w.blocks[currentP()%uint(len(w.blocks))] }

// usable makes the block's records. If there is no room for them, it returns another
// block that has some, or nil if there is none.
func (w *Writer) usable(b *block) *block {
	if b.made.Load() {
		return b
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	if b.made.Load() || b.make() == nil {
		return b
	}
	for _, other := range w.blocks {
		if other.made.Load() {
			return other
		}
	}
	return nil
}

// make allocates the block's records and a first chunk. The caller holds w.mu.
func (b *block) make() error {
	w := b.w
	if b.off == 0 {
		off, err := w.alloc(layout.BlockLen)
		if err != nil {
			return err
		}
		b.off, b.number = off, w.nextBlock
		w.nextBlock++
		put32(w.base, off+layout.BlockOwner, layout.BlockShared)
		put32(w.base, procBlocks+4*uint64(b.number), uint32(off/64))
		put32(w.base, layout.ProcBlockNext, w.nextBlock)
	}
	c, err := b.addChunk()
	if err != nil {
		return err
	}
	b.freed(c.slot(0))
	b.made.Store(true)
	return nil
}

// addChunk gives the block 64 more slots. The caller holds w.mu.
func (b *block) addChunk() (chunk, error) {
	w := b.w
	var all []chunk
	if old := w.chunks.Load(); old != nil {
		all = *old
	}
	number := uint32(len(all))
	if number >= layout.ChunkMax {
		return chunk{}, ErrNoRoom
	}
	off, err := w.alloc(layout.ChunkLen)
	if err != nil {
		return chunk{}, err
	}
	put32(w.base, off+layout.ChunkBlock, b.number)
	put32(w.base, procChunks+4*uint64(number), uint32(off/64))
	put32(w.base, layout.ProcChunkNext, number+1)
	var chunks []chunk
	if old := b.chunks.Load(); old != nil {
		chunks = append(chunks, *old...)
	}
	c := chunk{number, off, new(atomic.Uint64)}
	chunks = append(chunks, c)
	all = append(all, c) // readers of the old slice do not see it
	w.chunks.Store(&all)
	b.chunks.Store(&chunks)
	return c, nil
}

// slot returns where a chunk's i-th slot is, as its offset divided by 64.
func (c chunk) slot(i uint32) uint32 { return uint32((c.off+layout.ChunkSlots)/64) + i }
