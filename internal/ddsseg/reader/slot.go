//go:build linux

package reader

import (
	"fmt"
	"slices"

	"github.com/pcp-rtime/rtime/internal/ddsseg/layout"
)

// slotSeen is what a reader has seen of a slot.
type slotSeen struct {
	seq    uint32
	active bool   // v knows that the context is active
	texts  uint16 // bytes of help and labels; they count while the context is active
}

// Volatile learns of changes of volatile contexts.
type Volatile interface {
	// Gone reports that the context that was in a slot is gone.
	Gone(slot uint32)
	// Came reports the context that a slot holds now, or why it cannot be read.
	Came(slot uint32, c *Context, err error)
}

// Changed reports whether there is anything for Scan. It costs two loads.
func (r *Reader) Changed() (yes bool, err error) {
	err = r.m.Guard(func() {
		now, _ := r.m.Load32(layout.HdrChanges)
		yes = !r.scanned || r.later || now != r.changes
	})
	return yes, err
}

// Scan looks for volatile contexts that have come and gone since the last Scan. It
// reports them to v: first those that are gone, then those that came. It deals with at
// most limit slots and leaves the rest to the next Scan. It returns how many slots it
// dealt with. Scan decodes the slots that changed. If more than RecentCount changed, or
// if the supplier keeps no list of them, it also loads a word of each slot that was
// ever used. v must not call the reader.
func (r *Reader) Scan(v Volatile, limit int) (n int, err error) {
	var bad error
	if err := r.m.Guard(func() { n, bad = r.scan(v, limit) }); err != nil {
		return n, err
	}
	return n, bad
}

func (r *Reader) scan(v Volatile, limit int) (int, error) {
	// The counter is read before the slots, so that the next Scan sees later changes.
	old, all := r.changes, !r.scanned || r.later
	r.changes, _ = r.m.Load32(layout.HdrChanges)
	r.scanned, r.later = true, false
	if err := r.extend(); err != nil {
		r.later = true
		return 0, err
	}
	r.todo = r.todo[:0]
	if all || !r.recent(old) {
		r.sweep()
	}
	if len(r.todo) > limit {
		r.todo, r.later = r.todo[:limit], true
	}
	for _, i := range r.todo {
		if r.slots[i].active {
			r.slots[i].active = false
			r.texts -= uint64(r.slots[i].texts)
			v.Gone(i)
		}
	}
	for _, i := range r.todo {
		r.came(v, i)
	}
	return len(r.todo), nil
}

// recent finds the slots that changed since the counter was at old, in the supplier's
// list of the latest changes. It returns false if the list does not reach back so far,
// or if the supplier keeps no list.
func (r *Reader) recent(old uint32) bool {
	for n := old; n != r.changes; n++ {
		slot, _ := r.m.Load32(layout.HdrRecent + uint64(n%layout.RecentCount)*4)
		if slot == 0 || uint64(slot) > uint64(len(r.slots)) || n-old >= layout.RecentCount {
			return false
		}
		if !slices.Contains(r.todo, slot-1) {
			r.todo = append(r.todo, slot-1)
		}
	}
	// In the meantime the supplier may have overwritten what was read.
	now, _ := r.m.Load32(layout.HdrChanges)
	return now-old < layout.RecentCount
}

// sweep finds the slots that changed by looking at all of them.
func (r *Reader) sweep() {
	r.todo = r.todo[:0]
	for k, first := 0, uint32(0); int(first) < len(r.slots); k++ {
		count := min(layout.SlotBlockFirst<<k, len(r.slots)-int(first))
		off := r.blocks[k] + layout.SlotSeq
		for i := range r.slots[first : int(first)+count] {
			seq, _ := r.m.Load32(off)
			if seq != r.slots[int(first)+i].seq {
				r.todo = append(r.todo, first+uint32(i))
			}
			off += layout.SlotLen
		}
		first += layout.SlotBlockFirst << k
	}
}

// extend takes in the slots, and their blocks, that are new since the last scan.
func (r *Reader) extend() error {
	count, _ := r.m.Load32(layout.HdrSlotsCount)
	if uint64(count) > uint64(r.limits.Contexts) {
		return fmt.Errorf("%w: the segment has %d slots; at most %d are allowed", ErrLimit, count, r.limits.Contexts)
	}
	for first, k := uint64(0), 0; first < uint64(count); k++ {
		if r.blocks[k] == 0 {
			if err := r.block(k); err != nil {
				return err
			}
		}
		first += layout.SlotBlockFirst << k
	}
	if n := int(count) - len(r.slots); n > 0 {
		r.slots = append(r.slots, make([]slotSeen, n)...)
	}
	return nil
}

// block finds a block of slots. The offset of a block does not change.
func (r *Reader) block(k int) error {
	off, _ := r.m.Load64(layout.HdrSlotBlock + uint64(k)*8)
	size := uint64(layout.SlotBlockFirst) << k * layout.SlotLen
	if !r.m.Has(off, size) {
		if err := r.m.Grow(); err != nil {
			return err
		}
	}
	if off < layout.HeaderLen || off%8 != 0 || !r.m.Has(off, size) {
		return bad("block %d of slots is at offset %d, where none can be", k, off)
	}
	r.blocks[k] = off
	return nil
}

// came reads a slot that has changed.
func (r *Reader) came(v Volatile, i uint32) {
	k, index := layout.SlotPlace(i)
	off := r.blocks[k] + uint64(index)*layout.SlotLen
	for range tries {
		before, _ := r.m.Load32(off + layout.SlotSeq)
		if before&1 != 0 {
			continue
		}
		others := r.texts
		c, active, err := r.slot(off, before)
		own := r.texts - others
		if after, _ := r.m.Load32(off + layout.SlotSeq); after != before {
			r.texts = others
			continue
		}
		if err != nil {
			r.texts, own = others, 0
		}
		r.slots[i] = slotSeen{before, active, uint16(own)}
		if active {
			v.Came(i, c, err)
		}
		return
	}
	r.later = true
}

// slot copies a slot's record.
func (r *Reader) slot(off uint64, seq uint32) (c *Context, active bool, err error) {
	b := make(record, layout.SlotLen)
	if !r.m.CopyWords(b, off) {
		return nil, true, bad("the slot's record is out of bounds")
	}
	if active := b.u32(layout.SlotActive); active == 0 {
		return nil, false, nil
	}
	from := b.u32(layout.SlotTemplate)
	if uint64(from) >= uint64(len(r.contexts)) || !r.contexts[from].Template {
		return nil, true, bad("the slot names context %d as its template, which is none of the templates among %d contexts", from, len(r.contexts))
	}
	c = &Context{From: int(from), Stats: r.contexts[from].Stats}
	if !r.m.Has(b.u64(layout.CtxDataOff), uint64(b.u32(layout.CtxDataLen))) {
		if err := r.m.Grow(); err != nil {
			return nil, true, err
		}
	}
	if err := r.describe(c, b); err != nil {
		return nil, true, err
	}
	if err := r.area(c, b, off); err != nil {
		return nil, true, err
	}
	c.Place.use = seq
	return c, true, nil
}

// Rewind makes the next Scan report all volatile contexts again.
func (r *Reader) Rewind() {
	for _, s := range r.slots {
		if s.active {
			r.texts -= uint64(s.texts)
		}
	}
	r.slots, r.scanned = nil, false
}
