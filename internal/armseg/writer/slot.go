package writer

import (
	"sort"
	"sync/atomic"
	"unsafe"

	"github.com/pcp-rtime/rtime/internal/armseg/layout"
)

// The parts of a slot's state word: state, generation and transaction.
const (
	genShift  = 3
	genMax    = 1<<14 - 1
	tranShift = 32

	handleShift = 17 // of the generation in a handle

	// A start that finds no free slot after so many tries takes a new chunk, until
	// the process has all its chunks.
	searchLen = 256
)

func slotGen(word uint64) uint64 { return word >> genShift & genMax }

// claim takes a slot of the block for a transaction. active is the slot's state word
// while the transaction runs. slot is nil if there is none.
func (b *block) claim(tran uint32) (slot unsafe.Pointer, active uint64) {
	slot = unsafe.Add(b.w.base, uintptr(b.getHint())*64)
	if active = take(slot, tran); active != 0 {
		return slot, active
	}
	return b.search(tran)
}

// take claims a slot if it is free. It returns the slot's state word for running, or 0.
func take(slot unsafe.Pointer, tran uint32) (active uint64) {
	old := atomic.LoadUint64((*uint64)(slot))
	if old&7 != layout.SlotFree {
		return 0
	}
	gen := slotGen(old) + 1
	if gen > genMax {
		gen = 1
	}
	word := gen<<genShift | uint64(tran)<<tranShift
	if !atomic.CompareAndSwapUint64((*uint64)(slot), old, word|layout.SlotClaimed) {
		return 0
	}
	return word | layout.SlotActive
}

// search looks for a free slot near the hint, then in a new chunk, then in all chunks.
func (b *block) search(tran uint32) (slot unsafe.Pointer, active uint64) {
	w := b.w
	if w.full.Load() {
		return nil, 0
	}
	chunks := *b.chunks.Load()
	from := b.position(chunks)
	if slot, active = b.scan(chunks, from, searchLen, tran); slot != nil {
		return slot, active
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	if len(*b.chunks.Load()) == len(chunks) { // else another goroutine has just added one
		c, err := b.addChunk()
		if err == nil {
			chunks, from = *b.chunks.Load(), uint32(len(chunks))*layout.SlotsPerChunk
			b.freed(c.slot(0))
		}
	} else {
		chunks, from = *b.chunks.Load(), uint32(len(chunks))*layout.SlotsPerChunk
	}
	if slot, active = b.scan(chunks, from, uint32(len(chunks))*layout.SlotsPerChunk, tran); slot != nil {
		return slot, active
	}
	return w.scanAll(tran)
}

// scanAll looks through the other blocks. The caller holds w.mu.
func (w *Writer) scanAll(tran uint32) (slot unsafe.Pointer, active uint64) {
	// This is set before the search. A goroutine that frees a slot which the search
	// has passed clears it again.
	w.full.Store(true)
	for _, other := range w.blocks {
		if chunks := other.chunks.Load(); chunks != nil {
			slot, active = other.scan(*chunks, 0, uint32(len(*chunks))*layout.SlotsPerChunk, tran)
			if slot != nil {
				w.full.Store(false)
				return slot, active
			}
		}
	}
	atomic.AddUint64(word64(w.base, layout.ProcNoRoom), 1)
	return nil, 0
}

// scan tries n slots of the chunks, beginning with the from-th.
func (b *block) scan(chunks []chunk, from, n uint32, tran uint32) (slot unsafe.Pointer, active uint64) {
	all := uint32(len(chunks)) * layout.SlotsPerChunk
	for i := range min(n, all) {
		at := (from + i) % all
		where := chunks[at/layout.SlotsPerChunk].slot(at % layout.SlotsPerChunk)
		slot = unsafe.Add(b.w.base, uintptr(where)*64)
		if active = take(slot, tran); active != 0 {
			b.freed(chunks[(at+1)%all/layout.SlotsPerChunk].slot((at + 1) % layout.SlotsPerChunk))
			return slot, active
		}
	}
	return nil, 0
}

// position returns the hint's place among the slots of the chunks.
func (b *block) position(chunks []chunk) uint32 {
	hint := b.getHint()
	i := sort.Search(len(chunks), func(i int) bool { return chunks[i].slot(layout.SlotsPerChunk) > hint })
	if i == len(chunks) || hint < chunks[i].slot(0) {
		return 0
	}
	return uint32(i)*layout.SlotsPerChunk + hint - chunks[i].slot(0)
}

// place returns a slot's chunk and the slot's number in it.
func (w *Writer) place(slot unsafe.Pointer) (s chunk, at uint32) {
	where := uint32((uintptr(slot) - uintptr(w.base)) / 64)
	chunks := *w.chunks.Load()
	s = chunks[sort.Search(len(chunks), func(i int) bool { return chunks[i].slot(layout.SlotsPerChunk) > where })]
	return s, where - s.slot(0)
}

// handle returns the handle that arm_start of libarm would give: the generation and the
// number of the slot.
func (r *Running) handle() uint32 {
	s, at := r.c.b.w.place(r.slot)
	return uint32(slotGen(r.active))<<handleShift | s.number*layout.SlotsPerChunk + at
}

// The hint may be out of date, or its slot may have been taken meanwhile. The start then
// searches.

func (b *block) freed(where uint32) { release32(&b.hint, where) }
func (b *block) getHint() uint32    { return atomic.LoadUint32(&b.hint) }
