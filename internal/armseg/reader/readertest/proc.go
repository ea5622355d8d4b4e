//go:build linux

package readertest

import (
	"fmt"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/pcp-rtime/rtime/internal/armseg/layout"
	"github.com/pcp-rtime/rtime/internal/armseg/reader"
)

// Proc is a process's file. Its lock is held until Die is called. Readers cannot look for
// its pid, because its pid namespace does not exist unless a test changes it.
type Proc struct {
	*File
	names  *Names
	blocks []uint64
	pages  map[[2]int]uint64
	cells  map[[2]int]uint64
	chunks []uint64
}

// Where the tables are.
const (
	InitsOff  = layout.ProcLen
	ChunksOff = InitsOff + 4*layout.AppMax
	BlocksOff = ChunksOff + 4*layout.ChunkMax
	firstRoom = BlocksOff + 4*layout.BlockMax
)

// NewProc publishes the file of a process that uses the names.
func NewProc(t testing.TB, dir string, n *Names, pid uint32) *Proc {
	t.Helper()
	name := fmt.Sprintf("%d-%d-%016x%s", n.UID, pid, pid, layout.ProcSuffix)
	p := &Proc{File: create(t, dir, name, n.UID, 64<<10), names: n, pages: map[[2]int]uint64{}, cells: map[[2]int]uint64{}}
	p.next = firstRoom
	p.Text(layout.ProcMagic, layout.MagicProc)
	for off, v := range map[uint64]uint32{
		layout.ProcOrder: layout.ByteOrder, layout.ProcMajor: layout.Major, layout.ProcHeaderLen: layout.ProcLen,
		layout.ProcBlockLen: layout.BlockLen, layout.ProcChunkLen: layout.ChunkLen, layout.ProcCellLen: layout.CellLen,
		layout.ProcState: layout.StateReady, layout.ProcPID: pid, layout.ProcUID: n.UID, layout.ProcLanguage: layout.LanguageC,
		layout.ProcAppMax: layout.AppMax, layout.ProcChunkMax: layout.ChunkMax, layout.ProcBlockMax: layout.BlockMax,
		layout.ProcEventLen: layout.EventLen, layout.ProcPairLen: layout.PairLen,
	} {
		p.Put32(off, v)
	}
	p.Put16(layout.ProcMajor, layout.Major)
	p.Put16(layout.ProcMinor, 0)
	for off, v := range map[uint64]uint64{
		layout.ProcPIDNS: 1, layout.ProcStart: 1234, layout.ProcNonce: n.Nonce,
		layout.ProcInitsOff: InitsOff, layout.ProcChunksOff: ChunksOff, layout.ProcBlocksOff: BlocksOff,
	} {
		p.Put64(off, v)
	}
	p.Text(layout.ProcName, "program")
	p.lock(unix.F_WRLCK)
	p.publish()
	return p
}

// lock takes or gives up the process's lock. The lock belongs to the open file and not to
// this process, because this process would lose its own when it closes a reader of the
// file.
func (p *Proc) lock(typ int16) {
	p.t.Helper()
	l := unix.Flock_t{Type: typ, Start: layout.AliveOffset, Len: 1}
	if err := unix.FcntlFlock(p.f.Fd(), unix.F_OFD_SETLK, &l); err != nil {
		p.t.Fatal(err)
	}
}

// Die ends the process as a kill does.
func (p *Proc) Die() { p.lock(unix.F_UNLCK) }

// Block returns where the i-th block is, counted from 0. It makes the blocks that are not
// there.
func (p *Proc) Block(i int) uint64 {
	for len(p.blocks) <= i {
		off := p.alloc(layout.BlockLen)
		p.Put32(off+layout.BlockOwner, layout.BlockExclusive)
		p.Put32(BlocksOff+4*uint64(len(p.blocks)), uint32(off/64))
		p.blocks = append(p.blocks, off)
		p.Put32(layout.ProcBlockNext, uint32(len(p.blocks)))
	}
	return p.blocks[i]
}

// Cell returns where a block's cell for a transaction is, and makes it if it is not
// there.
func (p *Proc) Cell(block int, tran uint32) uint64 {
	k := [2]int{block, int(tran)}
	if off, ok := p.cells[k]; ok {
		return off
	}
	b, i := p.Block(block), tran-1
	pk := [2]int{block, int(i / layout.PageCells)}
	if p.pages[pk] == 0 {
		p.pages[pk] = p.alloc(4 * layout.PageCells)
		p.Put32(b+layout.BlockDir+4*uint64(i/layout.PageCells), uint32(p.pages[pk]/64))
	}
	off := p.alloc(layout.CellLen)
	p.Put32(off+layout.CellTran, tran)
	p.Put64(off+layout.CellMin, ^uint64(0))
	p.Put32(p.pages[pk]+4*uint64(i%layout.PageCells), uint32(off/64))
	p.cells[k] = off
	return off
}

// Good counts a good transaction that took ns and ended at a time of CLOCK_MONOTONIC.
func (p *Proc) Good(block int, tran uint32, ns uint64, at int64) {
	c := p.Cell(block, tran)
	p.Put64(c+layout.CellMax, max(p.Get64(c+layout.CellMax), ns))
	p.Put64(c+layout.CellMin, min(p.Get64(c+layout.CellMin), ns))
	p.Add64(c+layout.CellSum, ns)
	p.Add64(c+layout.CellHist+8*uint64(layout.Bucket(ns)), 1)
	n := p.Get64(c + layout.CellN)
	p.Put64(c+layout.CellRing+8*(n%layout.RingLen), layout.RingWord(n, ns, at))
	p.Put64(c+layout.CellN, n+1)
}

// Bad counts a transaction that failed or was aborted.
func (p *Proc) Bad(block int, tran uint32, failed bool, ns uint64) {
	c := p.Cell(block, tran)
	if failed {
		p.Add64(c+layout.CellFailed, 1)
		p.Add64(c+layout.CellFailedNS, ns)
		return
	}
	p.Add64(c+layout.CellAborted, 1)
	p.Add64(c+layout.CellAbortedNS, ns)
}

// Slot returns where a slot is, by its number in the process.
func (p *Proc) Slot(i int) uint64 {
	for len(p.chunks) <= i/layout.SlotsPerChunk {
		off := p.alloc(layout.ChunkLen)
		p.Put32(ChunksOff+4*uint64(len(p.chunks)), uint32(off/64))
		p.chunks = append(p.chunks, off)
		p.Put32(layout.ProcChunkNext, uint32(len(p.chunks)))
	}
	return p.chunks[i/layout.SlotsPerChunk] + layout.ChunkSlots + uint64(i%layout.SlotsPerChunk)*layout.SlotLen
}

// Run puts a slot into a state, for a transaction that began at start.
func (p *Proc) Run(i int, tran uint32, state uint64, start int64) {
	s := p.Slot(i)
	p.Put64(s+layout.SlotStart, uint64(start))
	p.Put64(s+layout.SlotState, state|1<<3|uint64(tran)<<32)
}

// Use adds n to the process's calls of arm_init less those of arm_end, here and in the
// file of names.
func (p *Proc) Use(app uint32, n int32) {
	off := InitsOff + 4*uint64(app-1)
	p.Put32(off, p.Get32(off)+uint32(n))
	p.names.Add64(AppOff(app)+layout.AppUse, uint64(int64(n)))
}

// Pair makes the i-th pair and returns where it is.
func (p *Proc) Pair(i int, k reader.PairKey) uint64 {
	off := p.Get64(layout.ProcPairsOff)
	if off == 0 {
		off = p.alloc(layout.PairsLen * layout.PairLen)
		p.Put64(layout.ProcPairsOff, off)
		p.Put32(layout.ProcPairsLen, layout.PairsLen)
	}
	off += uint64(i) * layout.PairLen
	p.Put32(off+layout.PairTran, k.Tran)
	p.Put16(off+layout.PairVendor, k.Vendor)
	p.Put16(off+layout.PairVersion, k.Version)
	p.Put16(off+layout.PairInstance, k.Instance)
	p.Put16(off+layout.PairAddrFormat, k.AddrFormat)
	p.Put32(off+layout.PairClass, k.Class)
	p.Put16(off+layout.PairAddrLen, uint16(len(k.Address)))
	copy(p.B[off+layout.PairAddress:][:24], k.Address)
	p.Put32(off+layout.PairState, layout.RecordPublished)
	return off
}

// Metric returns where a cell's i-th metric is, and makes it if it is not there.
func (p *Proc) Metric(block int, tran uint32, i int, typ uint32) uint64 {
	c := p.Cell(block, tran)
	off := p.Get64(c + layout.CellMetricsOff)
	if off == 0 {
		off = p.alloc((layout.Metrics + 1) * layout.MetricLen)
		p.Put64(c+layout.CellMetricsOff, off)
	}
	off += uint64(i) * layout.MetricLen
	p.Put32(off+layout.MetricType, typ)
	return off
}

// Event writes the next event and returns where it is.
func (p *Proc) Event(kind, tran, handle uint32, at int64) uint64 {
	off := p.Get64(layout.ProcTraceOff)
	if off == 0 {
		off = p.alloc(layout.TraceLen * layout.EventLen)
		p.Put64(layout.ProcTraceOff, off)
		p.Put32(layout.ProcTraceLen, layout.TraceLen)
	}
	i := p.Get64(layout.ProcTraceNext)
	off += i % layout.TraceLen * layout.EventLen
	clear(p.B[off:][:layout.EventLen])
	p.Put64(off+layout.EventTime, uint64(at))
	p.Put32(off+layout.EventKind, kind)
	p.Put32(off+layout.EventTran, tran)
	p.Put32(off+layout.EventHandle, handle)
	p.Put64(off+layout.EventSeq, 2*i+2)
	p.Put64(layout.ProcTraceNext, i+1)
	return off
}
