//go:build linux

package armseg

import (
	"github.com/pcp-rtime/rtime/internal/shm"
)

// ProcInfo is what the header of a process's file says for good.
type ProcInfo struct {
	UID      uint32
	PID      uint32 // in the namespace PIDNS
	PIDNS    uint64
	Start    uint64 // of the process, in ticks since boot
	Nonce    uint64 // of the file of names that it uses
	Language uint32
	Name     string // program; may be empty
}

// ProcLimits bound what a reader takes from one process.
type ProcLimits struct {
	Bytes int64 // of the file; at most 2^38
	// Cells that are read. A block counts as 4, a page of its directory and a chunk of
	// slots as 16, since looking at them costs as much. What is over is left out.
	Cells int
}

// ProcReader reads a process's file and remembers what it has read, so that it can tell
// what came to it. What it returns is copied, checked and good until its next call. Its
// methods belong to one goroutine at a time. A file of which a method failed is of no
// use any more, but for Totals, which go on to tell what was read.
type ProcReader struct {
	ProcInfo

	m      *shm.Map
	limits ProcLimits
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
func OpenProc(path string, uid uint32, l ProcLimits) (*ProcReader, error) {
	p := &ProcReader{limits: l, head: make(record, ProcLen)}
	var err error
	p.m, err = openFile(path, shm.Options{Min: ProcLen, Max: min(l.Bytes, 1<<38), Write: true}, uid, p.load)
	if err != nil {
		return nil, err
	}
	return p, nil
}

func (p *ProcReader) load(m *shm.Map) error {
	h := p.head
	m.CopyWords(h, 0)
	if err := checkHeader(h, MagicProc); err != nil {
		return err
	}
	switch {
	case h.u32(ProcHeaderLen) != ProcLen || h.u32(ProcBlockLen) != BlockLen ||
		h.u32(ProcChunkLen) != ChunkLen || h.u32(ProcCellLen) != CellLen:
		return badFormat("lengths of records %d, %d, %d, %d",
			h.u32(ProcHeaderLen), h.u32(ProcBlockLen), h.u32(ProcChunkLen), h.u32(ProcCellLen))
	case h.u32(ProcState) != StateReady && h.u32(ProcState) != StateRetired:
		return ErrNotReady
	}
	for _, t := range []struct{ off, n, length, most uint64 }{
		{h.u64(ProcInitsOff), uint64(h.u32(ProcAppMax)), 4, AppMax},
		{h.u64(ProcChunksOff), uint64(h.u32(ProcChunkMax)), 4, ChunkMax},
		{h.u64(ProcBlocksOff), uint64(h.u32(ProcBlockMax)), 4, BlockMax},
	} {
		if t.n > t.most || t.off%8 != 0 || t.off < ProcLen || !m.Has(t.off, t.n*t.length) {
			return badFormat("a table of %d at %d", t.n, t.off)
		}
	}
	p.ProcInfo = ProcInfo{UID: h.u32(ProcUID), PID: h.u32(ProcPID), PIDNS: h.u64(ProcPIDNS), Start: h.u64(ProcStart),
		Nonce: h.u64(ProcNonce), Language: h.u32(ProcLanguage), Name: Text(h[ProcName:][:64])}
	return checkUser(m, p.UID)
}

// What looking at other things costs, in cells.
const (
	cellsPerBlock = 4
	cellsPerPage  = 16
	cellsPerChunk = 16
)

// guard calls f; a fault in it and its error end the use of the file.
func (p *ProcReader) guard(f func() error) error {
	var bad error
	if err := p.m.Guard(func() { bad = f() }); err != nil {
		return err
	}
	return bad
}

// has sees to it that n bytes at off are mapped, and aligned as records are.
func (p *ProcReader) has(off, n uint64) error {
	if off%64 != 0 || off < ProcLen {
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

// Alive reports whether the process holds its lock, and whether it has said that it ends.
func (p *ProcReader) Alive() (locked, retired bool, err error) {
	if locked, err = p.m.Locked(AliveOffset); err != nil {
		return false, false, err
	}
	err = p.m.Guard(func() {
		state, _ := p.m.Load32(ProcState)
		retired = state == StateRetired
	})
	return locked, retired, err
}

// Counters are what a process could not count in a cell.
type Counters struct {
	NoRoom, BadHandles, BadData, PairsLost uint64
}

// Counters returns what the header counts.
func (p *ProcReader) Counters() (c Counters, err error) {
	err = p.m.Guard(func() {
		c.NoRoom, _ = p.m.Load64(ProcNoRoom)
		c.BadHandles, _ = p.m.Load64(ProcBadHandles)
		c.BadData, _ = p.m.Load64(ProcBadData)
		c.PairsLost, _ = p.m.Load64(ProcPairsLost)
	})
	return c, err
}

// Uses calls f for each of the first n applications of which the process has made more
// arm_init than arm_end, with how many.
func (p *ProcReader) Uses(n int, f func(app uint32, ahead int32)) error {
	return p.m.Guard(func() {
		off := p.head.u64(ProcInitsOff)
		for i := range min(uint32(max(n, 0)), p.head.u32(ProcAppMax)) {
			if v, _ := p.m.Load32(off + 4*uint64(i)); int32(v) > 0 {
				f(i+1, int32(v))
			}
		}
	})
}

// TakeUses is Uses of all, and takes them out of the file, each before f is called.
func (p *ProcReader) TakeUses(f func(app uint32, ahead int32)) error {
	return p.m.Guard(func() {
		off := p.head.u64(ProcInitsOff)
		for i := range p.head.u32(ProcAppMax) {
			at := off + 4*uint64(i)
			if v, _ := p.m.Load32(at); int32(v) <= 0 {
				continue
			}
			if v, _ := p.m.Swap32(at, 0); int32(v) > 0 {
				f(i+1, int32(v))
			}
		}
	})
}

// Running calls f for every transaction that runs, with its start in nanoseconds of
// CLOCK_MONOTONIC. One whose start or stop has not returned is none.
func (p *ProcReader) Running(f func(tran uint32, start int64)) error {
	return p.guard(func() error {
		next, _ := p.m.Load32(ProcChunkNext)
		if err := p.findChunks(min(next, p.head.u32(ProcChunkMax))); err != nil {
			return err
		}
		for _, off := range p.chunks {
			if off != 0 {
				p.slots(off+ChunkSlots, f)
			}
		}
		return nil
	})
}

// findChunks adds what is new in the table of chunks. 0 stands for one that is not there
// yet.
func (p *ProcReader) findChunks(n uint32) error {
	off := p.head.u64(ProcChunksOff)
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
			if err := p.has(at, ChunkLen); err != nil {
				return err
			}
			p.others += cellsPerChunk
		}
		p.chunks[i] = at
	}
	return nil
}

func (p *ProcReader) slots(off uint64, f func(tran uint32, start int64)) {
	for range SlotsPerChunk {
		state, _ := p.m.Load64(off + SlotState)
		if state&7 == SlotActive {
			start, _ := p.m.Load64(off + SlotStart)
			if again, _ := p.m.Load64(off + SlotState); again == state {
				f(uint32(state>>32), int64(start))
			}
		}
		off += SlotLen
	}
}

// LimitCells changes how many cells are read; those that are known stay.
func (p *ProcReader) LimitCells(n int) { p.limits.Cells = n }

// Over reports whether something was left out for a limit.
func (p *ProcReader) Over() bool { return p.over }

// Cells returns how many cells are known, as ProcLimits counts.
func (p *ProcReader) Cells() int { return len(p.cells) + p.others }

// Bytes returns how many bytes are mapped.
func (p *ProcReader) Bytes() int64 { return int64(p.m.Len()) }

// Is reports whether the file at path is this one.
func (p *ProcReader) Is(path string) bool { return p.m.Is(path) }

// Inode returns the file's number on its device.
func (p *ProcReader) Inode() uint64 {
	st, err := p.m.Stat()
	if err != nil {
		return 0
	}
	return st.Ino
}

// Close gives the file up.
func (p *ProcReader) Close() error { return p.m.Close() }
