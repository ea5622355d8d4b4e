//go:build linux

package reader

import (
	"github.com/pcp-rtime/rtime/internal/armseg/layout"
)

// seenBlock is what is known of a block.
type seenBlock struct {
	off    uint64
	ops    uint64
	looked int // how often the block was read since ops changed
	pages  [layout.DirPages]*seenPage
}

// seenPage is a page of a block's directory. cells holds the indexes of its cells in
// Proc.cells, plus 1; 0 stands for no cell.
type seenPage struct {
	off   uint64
	cells [layout.PageCells]uint32
}

// seenCell is what a cell held when it was last read.
type seenCell struct {
	off, n  uint64
	tran    uint32
	total   Totals
	hist    Hist
	metrics *[layout.Metrics + 1]MetricTotals // nil where there are none
}

// Totals are what a cell has counted. Times are nanoseconds.
type Totals struct {
	Count, GoodNS      uint64
	Aborted, AbortedNS uint64
	Failed, FailedNS   uint64
	Updates, BadData   uint64
	Min, Max           uint64 // of good ones; Min has all bits set while there are none
}

// CellDelta is what a block has counted of a transaction since the last look.
type CellDelta struct {
	Tran uint32
	// Totals holds what was added. Only Min and Max are of all good ones so far.
	Totals
	Hist    []Count        // good ones by their buckets
	Ended   []layout.Ended // the latest of them, in order; not always all
	Metrics []MetricDelta
}

// Count is a number of transactions in a bucket.
type Count struct {
	Bucket uint8
	N      uint64
}

const lookTwice = 2

// Changed calls f for every cell that has changed since the last call. If full is true, it
// calls f for every cell. now is CLOCK_MONOTONIC. Changed remembers what f was called for
// even if it ends with an error, so f never gets anything twice.
func (p *Proc) Changed(full bool, now int64, f func(*CellDelta)) error {
	if err := p.m.Solid(); err != nil { // its owner may have made holes since it was opened
		return err
	}
	return p.guard(func() error {
		if err := p.findBlocks(); err != nil {
			return err
		}
		for i := range p.blocks {
			if b := &p.blocks[i]; b.off != 0 {
				if err := p.readBlock(b, full, now, f); err != nil {
					return err
				}
			}
		}
		return nil
	})
}

func (p *Proc) findBlocks() error {
	next, _ := p.m.Load32(layout.ProcBlockNext)
	off := p.head.u64(layout.ProcBlocksOff)
	for i := range min(next, p.head.u32(layout.ProcBlockMax)) {
		if int(i) == len(p.blocks) {
			p.blocks = append(p.blocks, seenBlock{})
		}
		if p.blocks[i].off != 0 {
			continue
		}
		if v, _ := p.m.Load32(off + 4*uint64(i)); v != 0 {
			if err := p.has(uint64(v)*64, layout.BlockLen); err != nil {
				return err
			}
			if p.full() {
				return nil
			}
			p.blocks[i].off = uint64(v) * 64
			p.others += cellsPerBlock
		}
	}
	return nil
}

// readBlock skips a block whose writer says that nothing changed. It reads a block once
// more after each change, because the writer may store the word before what the word
// counts.
func (p *Proc) readBlock(b *seenBlock, full bool, now int64, f func(*CellDelta)) error {
	flags, _ := p.m.Load32(b.off + layout.BlockFlags)
	ops, _ := p.m.Load64(b.off + layout.BlockOps)
	if ops != b.ops {
		b.ops, b.looked = ops, 0
	}
	if flags&layout.BlockOpsKept != 0 && b.looked >= lookTwice && !full {
		return nil
	}
	b.looked++
	for i := range b.pages {
		if err := p.readPage(b, i, full, now, f); err != nil {
			return err
		}
	}
	return nil
}

func (p *Proc) readPage(b *seenBlock, i int, full bool, now int64, f func(*CellDelta)) error {
	v, _ := p.m.Load32(b.off + layout.BlockDir + 4*uint64(i))
	pg := b.pages[i]
	switch {
	case pg == nil && v == 0:
		return nil
	case pg == nil:
		if err := p.has(uint64(v)*64, 4*layout.PageCells); err != nil {
			return err
		}
		if p.full() {
			return nil
		}
		pg = &seenPage{off: uint64(v) * 64}
		b.pages[i] = pg
		p.others += cellsPerPage
	case uint64(v)*64 != pg.off:
		return badFormat("a page of a directory has moved")
	}
	for j := range pg.cells {
		c, err := p.findCell(pg, j, uint32(i*layout.PageCells+j+1))
		if err != nil {
			return err
		}
		if c != nil {
			if err := p.readCell(c, full, now, f); err != nil {
				return err
			}
		}
	}
	return nil
}

func (p *Proc) full() bool {
	yes := p.Cells() >= p.limits.Cells
	p.over = p.over || yes
	return yes
}

// findCell returns a cell, nil where there is none.
func (p *Proc) findCell(pg *seenPage, j int, tran uint32) (*seenCell, error) {
	v, _ := p.m.Load32(pg.off + 4*uint64(j))
	off := uint64(v) * 64
	if k := pg.cells[j]; k != 0 {
		c := &p.cells[k-1]
		if c.off != off {
			return nil, badFormat("a cell has moved")
		}
		return c, nil
	}
	if off == 0 || p.full() {
		return nil, nil
	}
	if err := p.has(off, layout.CellLen); err != nil {
		return nil, err
	}
	p.cells = append(p.cells, seenCell{off: off, tran: tran, total: Totals{Min: ^uint64(0)}})
	pg.cells[j] = uint32(len(p.cells))
	return &p.cells[len(p.cells)-1], nil
}

// word reads a word of a cell, which is mapped and aligned.
func (p *Proc) word(c *seenCell, field uint64) uint64 {
	v, _ := p.m.Load64(c.off + field)
	return v
}

func (p *Proc) readCell(c *seenCell, full bool, now int64, f func(*CellDelta)) error {
	// The writer stores n last, so n is read first.
	n := p.word(c, layout.CellN)
	t := Totals{
		GoodNS:  p.word(c, layout.CellSum),
		Aborted: p.word(c, layout.CellAborted), AbortedNS: p.word(c, layout.CellAbortedNS),
		Failed: p.word(c, layout.CellFailed), FailedNS: p.word(c, layout.CellFailedNS),
		Updates: p.word(c, layout.CellUpdates), BadData: p.word(c, layout.CellBadData),
		Count: c.total.Count, Min: c.total.Min, Max: c.total.Max,
	}
	if n == c.n && t == c.total && !full && !p.metricsChanged(c) {
		return nil
	}
	d := &p.delta
	*d = CellDelta{Tran: c.tran, Hist: d.Hist[:0], Ended: d.Ended[:0], Metrics: d.Metrics[:0]}
	if err := p.compare(c, d, n, &t, now); err != nil {
		return err
	}
	if err := p.readMetrics(c, d); err != nil {
		return err
	}
	for _, h := range d.Hist {
		c.hist.Add(h.Bucket, h.N)
	}
	c.n, c.total = n, t
	f(d)
	return nil
}

// compare fills in d, and those totals in t that are read after the histogram.
func (p *Proc) compare(c *seenCell, d *CellDelta, n uint64, t *Totals, now int64) error {
	if n < c.n {
		return ErrBack
	}
	for k := max(c.n, n-min(n, layout.RingLen)); k < n; k++ {
		if e, ok := layout.RingEnded(p.word(c, layout.CellRing+8*(k%layout.RingLen)), k, now); ok {
			d.Ended = append(d.Ended, e)
		}
	}
	// The writer adds to the sum before it adds to the histogram. The histogram is read
	// first here, so every transaction that it counts is in the sum.
	if err := p.compareHist(c, d); err != nil {
		return err
	}
	was := &c.total
	t.Count += d.Count
	t.GoodNS = p.word(c, layout.CellSum)
	t.Min, t.Max = p.word(c, layout.CellMin), p.word(c, layout.CellMax)
	if t.GoodNS < was.GoodNS || t.Aborted < was.Aborted || t.AbortedNS < was.AbortedNS || t.Failed < was.Failed ||
		t.FailedNS < was.FailedNS || t.Updates < was.Updates || t.BadData < was.BadData {
		return ErrBack
	}
	d.GoodNS, d.Aborted, d.AbortedNS = t.GoodNS-was.GoodNS, t.Aborted-was.Aborted, t.AbortedNS-was.AbortedNS
	d.Failed, d.FailedNS = t.Failed-was.Failed, t.FailedNS-was.FailedNS
	d.Updates, d.BadData = t.Updates-was.Updates, t.BadData-was.BadData
	d.Min, d.Max = t.Min, t.Max
	return nil
}

func (p *Proc) compareHist(c *seenCell, d *CellDelta) error {
	var seen [layout.HistLen]uint64
	c.hist.Each(func(b uint8, n uint64) bool { seen[b] = n; return true })
	for b := range seen {
		n := p.word(c, layout.CellHist+8*uint64(b))
		if n == seen[b] {
			continue
		}
		if n < seen[b] {
			return ErrBack
		}
		d.Hist = append(d.Hist, Count{Bucket: uint8(b), N: n - seen[b]})
		d.Count += n - seen[b]
	}
	return nil
}

// Totals calls f for every cell that was read, with the total of what Changed has reported.
// metrics is nil if the cell has none.
func (p *Proc) Totals(f func(tran uint32, t *Totals, metrics *[layout.Metrics + 1]MetricTotals)) {
	for i := range p.cells {
		f(p.cells[i].tran, &p.cells[i].total, p.cells[i].metrics)
	}
}
