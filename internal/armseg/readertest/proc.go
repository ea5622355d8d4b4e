//go:build linux

package readertest

import (
	"fmt"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/pcp-rtime/rtime/internal/armseg"
)

// Proc is a process's file. The process is dead for readers once Die was called, if they
// do not find its pid: it is of a pid namespace that does not exist, unless changed.
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
	InitsOff  = armseg.ProcLen
	ChunksOff = InitsOff + 4*armseg.AppMax
	BlocksOff = ChunksOff + 4*armseg.ChunkMax
	firstRoom = BlocksOff + 4*armseg.BlockMax
)

// NewProc publishes the file of a process that uses the names.
func NewProc(t testing.TB, dir string, n *Names, pid uint32) *Proc {
	t.Helper()
	name := fmt.Sprintf("%d-%d-%016x%s", n.UID, pid, pid, armseg.ProcSuffix)
	p := &Proc{File: create(t, dir, name, n.UID, 64<<10), names: n, pages: map[[2]int]uint64{}, cells: map[[2]int]uint64{}}
	p.next = firstRoom
	p.Text(armseg.ProcMagic, armseg.MagicProc)
	for off, v := range map[uint64]uint32{
		armseg.ProcOrder: armseg.ByteOrder, armseg.ProcMajor: armseg.Major, armseg.ProcHeaderLen: armseg.ProcLen,
		armseg.ProcBlockLen: armseg.BlockLen, armseg.ProcChunkLen: armseg.ChunkLen, armseg.ProcCellLen: armseg.CellLen,
		armseg.ProcState: armseg.StateReady, armseg.ProcPID: pid, armseg.ProcUID: n.UID, armseg.ProcLanguage: armseg.LanguageC,
		armseg.ProcAppMax: armseg.AppMax, armseg.ProcChunkMax: armseg.ChunkMax, armseg.ProcBlockMax: armseg.BlockMax,
		armseg.ProcEventLen: armseg.EventLen, armseg.ProcPairLen: armseg.PairLen,
	} {
		p.Put32(off, v)
	}
	p.Put16(armseg.ProcMajor, armseg.Major)
	p.Put16(armseg.ProcMinor, 0)
	for off, v := range map[uint64]uint64{
		armseg.ProcPIDNS: 1, armseg.ProcStart: 1234, armseg.ProcNonce: n.Nonce,
		armseg.ProcInitsOff: InitsOff, armseg.ProcChunksOff: ChunksOff, armseg.ProcBlocksOff: BlocksOff,
	} {
		p.Put64(off, v)
	}
	p.Text(armseg.ProcName, "program")
	p.lock(unix.F_WRLCK)
	p.publish()
	return p
}

// lock takes or gives up the process's lock. It belongs to the open file, not to this
// process, since closing a reader in this process would give that up.
func (p *Proc) lock(typ int16) {
	p.t.Helper()
	l := unix.Flock_t{Type: typ, Start: armseg.AliveOffset, Len: 1}
	if err := unix.FcntlFlock(p.f.Fd(), unix.F_OFD_SETLK, &l); err != nil {
		p.t.Fatal(err)
	}
}

// Die ends the process as a kill does.
func (p *Proc) Die() { p.lock(unix.F_UNLCK) }

// Block returns where a block is, from 0 on; it is made if it is not there.
func (p *Proc) Block(i int) uint64 {
	for len(p.blocks) <= i {
		off := p.alloc(armseg.BlockLen)
		p.Put32(off+armseg.BlockOwner, armseg.BlockExclusive)
		p.Put32(BlocksOff+4*uint64(len(p.blocks)), uint32(off/64))
		p.blocks = append(p.blocks, off)
		p.Put32(armseg.ProcBlockNext, uint32(len(p.blocks)))
	}
	return p.blocks[i]
}

// Cell returns where a block's cell for a transaction is; it is made if it is not there.
func (p *Proc) Cell(block int, tran uint32) uint64 {
	k := [2]int{block, int(tran)}
	if off, ok := p.cells[k]; ok {
		return off
	}
	b, i := p.Block(block), tran-1
	pk := [2]int{block, int(i / armseg.PageCells)}
	if p.pages[pk] == 0 {
		p.pages[pk] = p.alloc(4 * armseg.PageCells)
		p.Put32(b+armseg.BlockDir+4*uint64(i/armseg.PageCells), uint32(p.pages[pk]/64))
	}
	off := p.alloc(armseg.CellLen)
	p.Put32(off+armseg.CellTran, tran)
	p.Put64(off+armseg.CellMin, ^uint64(0))
	p.Put32(p.pages[pk]+4*uint64(i%armseg.PageCells), uint32(off/64))
	p.cells[k] = off
	return off
}

// Good counts a good transaction that took ns and ended at a time of CLOCK_MONOTONIC.
func (p *Proc) Good(block int, tran uint32, ns uint64, at int64) {
	c := p.Cell(block, tran)
	p.Put64(c+armseg.CellMax, max(p.Get64(c+armseg.CellMax), ns))
	p.Put64(c+armseg.CellMin, min(p.Get64(c+armseg.CellMin), ns))
	p.Add64(c+armseg.CellSum, ns)
	p.Add64(c+armseg.CellHist+8*uint64(armseg.Bucket(ns)), 1)
	n := p.Get64(c + armseg.CellN)
	p.Put64(c+armseg.CellRing+8*(n%armseg.RingLen), armseg.RingWord(n, ns, at))
	p.Put64(c+armseg.CellN, n+1)
}

// Bad counts one that was aborted or failed.
func (p *Proc) Bad(block int, tran uint32, failed bool, ns uint64) {
	c := p.Cell(block, tran)
	if failed {
		p.Add64(c+armseg.CellFailed, 1)
		p.Add64(c+armseg.CellFailedNS, ns)
		return
	}
	p.Add64(c+armseg.CellAborted, 1)
	p.Add64(c+armseg.CellAbortedNS, ns)
}

// Slot returns where a slot is, by its number in the process.
func (p *Proc) Slot(i int) uint64 {
	for len(p.chunks) <= i/armseg.SlotsPerChunk {
		off := p.alloc(armseg.ChunkLen)
		p.Put32(ChunksOff+4*uint64(len(p.chunks)), uint32(off/64))
		p.chunks = append(p.chunks, off)
		p.Put32(armseg.ProcChunkNext, uint32(len(p.chunks)))
	}
	return p.chunks[i/armseg.SlotsPerChunk] + armseg.ChunkSlots + uint64(i%armseg.SlotsPerChunk)*armseg.SlotLen
}

// Run has a slot in a state, for a transaction that began at a time.
func (p *Proc) Run(i int, tran uint32, state uint64, start int64) {
	s := p.Slot(i)
	p.Put64(s+armseg.SlotStart, uint64(start))
	p.Put64(s+armseg.SlotState, state|1<<3|uint64(tran)<<32)
}

// Use notes arm_init calls of the process, less its arm_end, here and in the names.
func (p *Proc) Use(app uint32, n int32) {
	off := InitsOff + 4*uint64(app-1)
	p.Put32(off, p.Get32(off)+uint32(n))
	p.names.Add64(AppOff(app)+armseg.AppUse, uint64(int64(n)))
}

// Pair returns where the i-th pair is, which is made.
func (p *Proc) Pair(i int, k armseg.PairKey) uint64 {
	off := p.Get64(armseg.ProcPairsOff)
	if off == 0 {
		off = p.alloc(armseg.PairsLen * armseg.PairLen)
		p.Put64(armseg.ProcPairsOff, off)
		p.Put32(armseg.ProcPairsLen, armseg.PairsLen)
	}
	off += uint64(i) * armseg.PairLen
	p.Put32(off+armseg.PairTran, k.Tran)
	p.Put16(off+armseg.PairVendor, k.Vendor)
	p.Put16(off+armseg.PairVersion, k.Version)
	p.Put16(off+armseg.PairInstance, k.Instance)
	p.Put16(off+armseg.PairAddrFormat, k.AddrFormat)
	p.Put32(off+armseg.PairClass, k.Class)
	p.Put16(off+armseg.PairAddrLen, uint16(len(k.Address)))
	copy(p.B[off+armseg.PairAddress:][:24], k.Address)
	p.Put32(off+armseg.PairState, armseg.RecordPublished)
	return off
}

// Metric returns where a cell's i-th metric is; it is made if it is not there.
func (p *Proc) Metric(block int, tran uint32, i int, typ uint32) uint64 {
	c := p.Cell(block, tran)
	off := p.Get64(c + armseg.CellMetricsOff)
	if off == 0 {
		off = p.alloc((armseg.Metrics + 1) * armseg.MetricLen)
		p.Put64(c+armseg.CellMetricsOff, off)
	}
	off += uint64(i) * armseg.MetricLen
	p.Put32(off+armseg.MetricType, typ)
	return off
}

// Event writes the next event and returns where it is.
func (p *Proc) Event(kind, tran, handle uint32, at int64) uint64 {
	off := p.Get64(armseg.ProcTraceOff)
	if off == 0 {
		off = p.alloc(armseg.TraceLen * armseg.EventLen)
		p.Put64(armseg.ProcTraceOff, off)
		p.Put32(armseg.ProcTraceLen, armseg.TraceLen)
	}
	i := p.Get64(armseg.ProcTraceNext)
	off += i % armseg.TraceLen * armseg.EventLen
	clear(p.B[off:][:armseg.EventLen])
	p.Put64(off+armseg.EventTime, uint64(at))
	p.Put32(off+armseg.EventKind, kind)
	p.Put32(off+armseg.EventTran, tran)
	p.Put32(off+armseg.EventHandle, handle)
	p.Put64(off+armseg.EventSeq, 2*i+2)
	p.Put64(armseg.ProcTraceNext, i+1)
	return off
}
