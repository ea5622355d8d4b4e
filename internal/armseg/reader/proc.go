//go:build linux

package reader

import (
	"github.com/pcp-rtime/rtime/internal/armseg/layout"
	"github.com/pcp-rtime/rtime/internal/shm"
)

// ProcInfo is what a process's header says and does not change.
type ProcInfo struct {
	UID      uint32
	PID      uint32 // in the namespace PIDNS
	PIDNS    uint64
	Start    uint64 // of the process, in ticks since boot
	Nonce    uint64 // of the file of names that it uses
	Language uint32
	Name     string // program; may be empty
}

// Limits bound what a reader takes from one process.
type Limits struct {
	Bytes int64 // of the file; at most 2^38
	// Cells is how many cells are read. A block counts as 4 cells, and a page of its
	// directory or a chunk of slots as 16, because reading them costs as much. What is
	// beyond the limit is left out.
	Cells int
}

// Proc reads a process's file and remembers what it has read, so that it can tell what was
// added. What it returns is copied and checked, and is valid until its next call. One
// goroutine at a time may call its methods. After a method has failed, only Totals and
// PairTotals may be called; they tell what was read before.
type Proc struct {
	ProcInfo

	m      *shm.Map
	limits Limits
	head   record
	blocks []seenBlock
	chunks []uint64 // offsets
	cells  []seenCell
	others int // what else counts as cells
	pairs  seenPairs
	events seenEvents
	over   bool
	delta  CellDelta
}

// OpenProc opens and checks a process's file.
func OpenProc(path string, uid uint32, l Limits) (*Proc, error) {
	p := &Proc{limits: l, head: make(record, layout.ProcLen)}
	var err error
	p.m, err = openFile(path, shm.Options{Min: layout.ProcLen, Max: min(l.Bytes, 1<<38), Solid: true}, uid, p.load)
	if err != nil {
		return nil, err
	}
	return p, nil
}

func (p *Proc) load(m *shm.Map) error {
	h := p.head
	m.CopyWords(h, 0)
	if err := checkHeader(h, layout.MagicProc); err != nil {
		return err
	}
	switch {
	case h.u32(layout.ProcHeaderLen) != layout.ProcLen || h.u32(layout.ProcBlockLen) != layout.BlockLen ||
		h.u32(layout.ProcChunkLen) != layout.ChunkLen || h.u32(layout.ProcCellLen) != layout.CellLen:
		return badFormat("lengths of records %d, %d, %d, %d",
			h.u32(layout.ProcHeaderLen), h.u32(layout.ProcBlockLen), h.u32(layout.ProcChunkLen), h.u32(layout.ProcCellLen))
	case h.u32(layout.ProcState) != layout.StateReady:
		return ErrNotReady
	}
	for _, t := range []struct{ off, n, length, most uint64 }{
		{h.u64(layout.ProcInitsOff), uint64(h.u32(layout.ProcAppMax)), 4, layout.AppMax},
		{h.u64(layout.ProcChunksOff), uint64(h.u32(layout.ProcChunkMax)), 4, layout.ChunkMax},
		{h.u64(layout.ProcBlocksOff), uint64(h.u32(layout.ProcBlockMax)), 4, layout.BlockMax},
	} {
		if t.n > t.most || t.off%8 != 0 || t.off < layout.ProcLen || !m.Has(t.off, t.n*t.length) {
			return badFormat("a table of %d at %d", t.n, t.off)
		}
	}
	p.ProcInfo = ProcInfo{UID: h.u32(layout.ProcUID), PID: h.u32(layout.ProcPID), PIDNS: h.u64(layout.ProcPIDNS), Start: h.u64(layout.ProcStart),
		Nonce: h.u64(layout.ProcNonce), Language: h.u32(layout.ProcLanguage), Name: Text(h[layout.ProcName:][:64])}
	return checkUser(m, p.UID)
}

// What looking at other things costs, in cells.
const (
	cellsPerBlock = 4
	cellsPerPage  = 16
	cellsPerChunk = 16
)

// guard calls f. It returns f's error, or one for a fault in the mapping; after either the
// file must not be used.
func (p *Proc) guard(f func() error) error {
	var bad error
	if err := p.m.Guard(func() { bad = f() }); err != nil {
		return err
	}
	return bad
}

// has makes sure that n bytes at off are mapped, and that they are aligned as records are.
func (p *Proc) has(off, n uint64) error {
	if off%64 != 0 || off < layout.ProcLen {
		return badFormat("a record at %d", off)
	}
	if p.m.Has(off, n) {
		return nil
	}
	if err := p.m.Grow(); err != nil {
		return err
	}
	if !p.m.Has(off, n) {
		return badFormat("a record at %d, and the file has %d bytes", off, p.m.Len())
	}
	return nil
}

// Alive reports whether the process holds its lock.
func (p *Proc) Alive() (locked bool, err error) { return p.m.Locked(layout.AliveOffset) }

// Counters are what a process could not count in a cell.
type Counters struct {
	NoRoom, BadHandles, BadData, PairsLost uint64
}

// Counters returns what the header counts.
func (p *Proc) Counters() (c Counters, err error) {
	err = p.m.Guard(func() {
		c.NoRoom, _ = p.m.Load64(layout.ProcNoRoom)
		c.BadHandles, _ = p.m.Load64(layout.ProcBadHandles)
		c.BadData, _ = p.m.Load64(layout.ProcBadData)
		c.PairsLost, _ = p.m.Load64(layout.ProcPairsLost)
	})
	return c, err
}

// Uses calls f for those of the first n applications for which the process has called
// arm_init more often than arm_end. ahead is the difference.
func (p *Proc) Uses(n int, f func(app uint32, ahead int32)) error {
	return p.m.Guard(func() {
		off := p.head.u64(layout.ProcInitsOff)
		for i := range min(uint32(max(n, 0)), p.head.u32(layout.ProcAppMax)) {
			if v, _ := p.m.Load32(off + 4*uint64(i)); int32(v) > 0 {
				f(i+1, int32(v))
			}
		}
	})
}

// Running calls f for every transaction that runs, with its start in nanoseconds of
// CLOCK_MONOTONIC. It leaves out those whose start or stop has not returned.
func (p *Proc) Running(f func(tran uint32, start int64)) error {
	return p.guard(func() error {
		next, _ := p.m.Load32(layout.ProcChunkNext)
		if err := p.findChunks(min(next, p.head.u32(layout.ProcChunkMax))); err != nil {
			return err
		}
		for _, off := range p.chunks {
			if off != 0 {
				p.slots(off+layout.ChunkSlots, f)
			}
		}
		return nil
	})
}

// findChunks looks for new chunks among the first n in the table. 0 stands for a chunk
// that is not there yet.
func (p *Proc) findChunks(n uint32) error {
	off := p.head.u64(layout.ProcChunksOff)
	for i := range n {
		if int(i) == len(p.chunks) {
			p.chunks = append(p.chunks, 0)
		}
		if p.chunks[i] != 0 {
			continue
		}
		v, _ := p.m.Load32(off + 4*uint64(i))
		at := uint64(v) * 64
		if at != 0 {
			if p.full() {
				return nil
			}
			if err := p.has(at, layout.ChunkLen); err != nil {
				return err
			}
			p.others += cellsPerChunk
		}
		p.chunks[i] = at
	}
	return nil
}

func (p *Proc) slots(off uint64, f func(tran uint32, start int64)) {
	for range layout.SlotsPerChunk {
		state, _ := p.m.Load64(off + layout.SlotState)
		if state&7 == layout.SlotActive {
			start, _ := p.m.Load64(off + layout.SlotStart)
			if again, _ := p.m.Load64(off + layout.SlotState); again == state {
				f(uint32(state>>32), int64(start))
			}
		}
		off += layout.SlotLen
	}
}

// LimitCells changes how many cells are read; those that are known stay.
func (p *Proc) LimitCells(n int) { p.limits.Cells = n }

// Over reports whether something was left out for a limit.
func (p *Proc) Over() bool { return p.over }

// Cells returns how many cells are known, counted as Limits says.
func (p *Proc) Cells() int { return len(p.cells) + p.others }

// Bytes returns how many bytes are mapped.
func (p *Proc) Bytes() int64 { return int64(p.m.Len()) }

// Is reports whether the file at path is this one.
func (p *Proc) Is(path string) bool { return p.m.Is(path) }

// Inode returns the file's number on its device.
func (p *Proc) Inode() uint64 {
	st, err := p.m.Stat()
	if err != nil {
		return 0
	}
	return st.Ino
}

// Close gives the file up.
func (p *Proc) Close() error { return p.m.Close() }
