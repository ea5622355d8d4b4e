package writer

import (
	"os"
	"sync/atomic"
	"unsafe"

	"github.com/pcp-rtime/rtime/internal/ddsseg/layout"
)

// Slot is a volatile context in a segment. Its area stays until Free. The slot itself is
// free for the next context as soon as the context is removed.
type Slot struct {
	Area
	index      uint32
	data       uint64
	dataLen    uint32
	help, json uint64
	helpLen    int
	jsonLen    int
}

// Add publishes a volatile context that uses the template with that index. Its cost does
// not depend on the number of contexts.
func (w *Writer) Add(template int, c ContextDecl) (*Slot, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.ended {
		return nil, os.ErrClosed
	}
	s := &Slot{dataLen: w.decls[template].DataLen, helpLen: len(c.Help), jsonLen: len(c.Labels)}
	if err := w.place(s, c); err != nil {
		return nil, err
	}
	off := w.slotOff(s.index)
	s.Words, s.Update = w.words(s.data, s.dataLen), w.update(off)

	atomic.AddUint32(w.at32(off+layout.SlotSeq), 1)
	w.record(off, s, uint32(template), c)
	atomic.StoreUint32(w.at32(off+layout.SlotActive), 1)
	atomic.AddUint32(w.at32(off+layout.SlotSeq), 1)
	atomic.StoreUint32(w.at32(layout.HdrSlotsCount), w.used)
	w.changed(s.index)
	return s, nil
}

// changed counts a change of a slot and puts the slot into the list of the latest changes.
// The list lets a reader find the slot among many.
func (w *Writer) changed(slot uint32) {
	n := atomic.LoadUint32(w.at32(layout.HdrChanges))
	atomic.StoreUint32(w.at32(layout.HdrRecent+uint64(n%layout.RecentCount)*4), slot+1)
	atomic.StoreUint32(w.at32(layout.HdrChanges), n+1)
}

// Remove withdraws a context. The program may still store into its values.
func (w *Writer) Remove(s *Slot) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.ended {
		return
	}
	off := w.slotOff(s.index)
	atomic.AddUint32(w.at32(off+layout.SlotSeq), 1)
	atomic.StoreUint32(w.at32(off+layout.SlotActive), 0)
	atomic.AddUint32(w.at32(off+layout.SlotSeq), 1)
	w.changed(s.index)
	w.slots = append(w.slots, s.index)
	w.giveBack(s.help, uint64(s.helpLen))
	w.giveBack(s.json, uint64(s.jsonLen))
}

// Free gives back the area of a removed context. Nothing may store there any more. The
// removal is counted before another context gets the area; readers rely on that.
func (w *Writer) Free(s *Slot) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if !w.ended {
		w.giveBack(s.data, uint64(s.dataLen))
	}
}

// Size returns the number of bytes of the segment that are in use.
func (w *Writer) Size() uint64 {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.end
}

// place finds room for all that the context needs. If there is not enough, it takes none.
func (w *Writer) place(s *Slot, c ContextDecl) (err error) {
	get := func(n int) uint64 {
		if n == 0 || err != nil {
			return 0
		}
		off, e := w.alloc(uint64(n))
		err = e
		return off
	}
	if s.data = get(int(s.dataLen)); err != nil {
		return err
	}
	if s.help = get(s.helpLen); err != nil {
		w.giveBack(s.data, uint64(s.dataLen))
		return err
	}
	if s.json = get(s.jsonLen); err == nil {
		s.index, err = w.slot()
	} else {
		s.jsonLen = 0
	}
	if err != nil {
		w.giveBack(s.data, uint64(s.dataLen))
		w.giveBack(s.help, uint64(s.helpLen))
		w.giveBack(s.json, uint64(s.jsonLen))
		return err
	}
	copy(w.m.mem[s.help:], c.Help)
	copy(w.m.mem[s.json:], c.Labels)
	return nil
}

// slot takes a free slot. If there is none, it takes the next that was never used, with
// its block.
func (w *Writer) slot() (uint32, error) {
	if n := len(w.slots); n > 0 {
		index := w.slots[n-1]
		w.slots = w.slots[:n-1]
		return index, nil
	}
	block, _ := layout.SlotPlace(w.used)
	if block >= layout.SlotBlocks {
		return 0, ErrNoRoom
	}
	if w.block[block] == 0 {
		off := (w.end + 63) &^ 63
		if err := w.reserve(off + layout.SlotLen*(layout.SlotBlockFirst<<block)); err != nil {
			return 0, err
		}
		w.block[block] = off
		atomic.StoreUint64(w.at64(layout.HdrSlotBlock+8*uint64(block)), off)
	}
	w.used++
	return w.used - 1, nil
}

func (w *Writer) slotOff(n uint32) uint64 {
	block, index := layout.SlotPlace(n)
	return w.block[block] + layout.SlotLen*uint64(index)
}

// record copies a context to its slot by words. It leaves out words that others may read
// at any time, and words that already have the right value: most of a record is zeros.
func (w *Writer) record(off uint64, s *Slot, template uint32, c ContextDecl) {
	var r [layout.SlotLen / 8]uint64
	b := unsafe.Slice((*byte)(unsafe.Pointer(&r)), layout.SlotLen)
	put32 := func(at int, v uint32) { *(*uint32)(unsafe.Pointer(&b[at])) = v }
	copy(b[layout.CtxPath:layout.CtxPath+layout.PathLen-1], c.Path)
	copy(b[layout.CtxDescr:layout.CtxDescr+layout.DescrLen-1], c.Descr)
	r[layout.CtxDataOff/8] = s.data
	r[layout.CtxHelpOff/8] = s.help
	put32(layout.CtxHelpLen, uint32(s.helpLen))
	put32(layout.CtxLabelsLen, uint32(s.jsonLen))
	r[layout.CtxLabelsOff/8] = s.json
	for i, v := range r {
		if at := w.at64(off + 8*uint64(i)); !apart(8*i) && *at != v {
			atomic.StoreUint64(at, v)
		}
	}
	w.put32(off+layout.CtxASN, c.ASN)
	w.put32(off+layout.SlotTemplate, template)
	w.put32(off+layout.CtxDataLen, s.dataLen)
	// A reader may be between its two loads of this word. So the word goes on counting and
	// does not start again at 0.
	if update := w.at32(off + layout.CtxUpdate); *update&1 == 1 {
		atomic.AddUint32(update, 1)
	}
}

// apart reports whether the word at this offset of a slot is written as two halves.
func apart(off int) bool {
	return off == layout.CtxASN || off == layout.SlotTemplate || off == layout.CtxDataLen
}
