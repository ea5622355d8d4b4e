package writer

import (
	"sync/atomic"
	"unsafe"

	"github.com/pcp-rtime/rtime/internal/armseg/layout"
)

// Tran is a transaction that this process counts.
type Tran struct {
	ID, App uint32

	w       *Writer
	words   tranWords
	cells   []atomic.Pointer[cell] // one for each of the writer's blocks, made when first used
	metrics Declared
	next    atomic.Pointer[Tran] // for a writer without files: where the counts move to
}

// cell holds what a block has counted of a transaction.
type cell struct {
	p       unsafe.Pointer
	b       *block
	tran    *Tran
	metrics atomic.Uint64 // offset of the records of metrics, 0 while there are none
}

// Tran returns a transaction of an application. It returns the same one for the same key
// and metrics. It counts nothing until Activate.
func (w *Writer) Tran(app uint32, key, descr, detail string, metrics Declared) (t *Tran, err error) {
	id, err := w.names.tran(app, key, descr, detail, &metrics)
	if err != nil {
		return nil, err
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	t = w.trans[id]
	if t == nil {
		t = &Tran{ID: id, App: app, w: w, metrics: metrics, words: w.names.words(app, id), cells: make([]atomic.Pointer[cell], len(w.blocks))}
		w.trans[id] = t
	}
	return t, nil
}

// Of reports whether the transaction is one of the writer's.
func (t *Tran) Of(w *Writer) bool { return t.w == w }

// Activate makes the transaction active. ok is false if its application is not in use.
func (t *Tran) Activate() (ok bool) { return t.w.names.activate(t.App, t.ID) }

// Active reports whether executions can start.
func (t *Tran) Active() bool {
	use := atomic.LoadUint64(t.words.use)
	return uint32(use) != 0 && uint32(use>>32) == atomic.LoadUint32(t.words.epoch)
}

// newCell makes the block's cell for the transaction. If there is no room it returns the
// cell of another block, and nil if no block has one.
func (t *Tran) newCell(b *block) *cell {
	w := t.w
	if b = w.usable(b); b == nil {
		return nil
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	if c := t.cells[b.n].Load(); c != nil {
		return c
	}
	off, err := w.makeCell(b, t.ID)
	if err == nil {
		c := &cell{p: unsafe.Add(w.base, off), b: b, tran: t}
		t.cells[b.n].Store(c)
		return c
	}
	for i := range t.cells {
		if c := t.cells[i].Load(); c != nil {
			return c
		}
	}
	return nil
}

// makeCell puts a cell in the directory of a block. The caller holds w.mu.
func (w *Writer) makeCell(b *block, id uint32) (uint64, error) {
	i := (id - 1) / layout.PageCells
	if b.pages[i] == 0 {
		page, err := w.alloc(4 * layout.PageCells)
		if err != nil {
			return 0, err
		}
		b.pages[i] = page
		put32(w.base, b.off+layout.BlockDir+4*uint64(i), uint32(page/64))
	}
	entry := b.pages[i] + 4*uint64((id-1)%layout.PageCells)
	off, err := w.alloc(layout.CellLen)
	if err != nil {
		return 0, err
	}
	put32(w.base, off+layout.CellTran, id)
	put64(w.base, off+layout.CellMin, 1<<64-1)
	put32(w.base, entry, uint32(off/64))
	return off, nil
}
