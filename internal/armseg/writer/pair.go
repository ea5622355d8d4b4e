package writer

import (
	"hash/fnv"
	"sync/atomic"
	"unsafe"

	"github.com/pcp-rtime/rtime/internal/armseg/layout"
)

// pair returns the number plus 1 of the pair of a transaction and its parent, and makes the pair
// if it is not there. It returns 0 if there is no parent or no room. A parent without a class was
// no transaction of ARM, and makes no pair.
func (w *Writer) pair(tran uint32, parent *layout.Correlator) uint32 {
	if parent.Class == 0 {
		return 0
	}
	hash := hashPair(parent, tran)
	if n, _ := w.findPair(hash); n != 0 {
		return n
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	n, free := w.findPair(hash)
	switch {
	case n != 0:
		return n
	case free == 0 || w.makePairs() != nil:
		atomic.AddUint64(word64(w.base, layout.ProcPairsLost), 1)
		return 0
	}
	w.fillPair(w.pairAt(free), hash, tran, parent)
	return free
}

// hashPair returns the hash of the fields that make a pair. It leaves a trace context out, which
// differs each time and is no address.
func hashPair(c *layout.Correlator, tran uint32) uint64 {
	head := layout.Correlator{AddrFormat: c.AddrFormat, Vendor: c.Vendor, Version: c.Version, Instance: c.Instance, Class: c.Class}
	if !c.TraceContext() {
		head.Address = c.Address
	}
	var b [layout.CorrelatorMax + 4]byte
	h := fnv.New64a()
	h.Write(head.Append(b[:0]))
	h.Write([]byte{byte(tran), byte(tran >> 8), byte(tran >> 16), byte(tran >> 24)})
	return h.Sum64()
}

// findPair returns the number plus 1 of the pair with this hash. If there is none, it returns the
// first free place for it, also plus 1. Both are 0 if the table is full.
func (w *Writer) findPair(hash uint64) (number, free uint32) {
	off := w.pairs.Load()
	for i := range uint64(layout.PairsLen) {
		n := uint32((hash+i)%layout.PairsLen) + 1
		if off == 0 {
			return 0, n
		}
		at := w.pairAt(n)
		switch {
		case get32(w.base, at+layout.PairState) != layout.RecordPublished:
			return 0, n
		case get64(w.base, at+layout.PairHash) == hash:
			return n, 0
		}
	}
	return 0, 0
}

func (w *Writer) pairAt(number uint32) uint64 {
	return w.pairs.Load() + uint64(number-1)*layout.PairLen
}

// makePairs allocates the table when the first pair needs it. The caller holds w.mu.
func (w *Writer) makePairs() error {
	if w.pairs.Load() != 0 {
		return nil
	}
	off, err := w.alloc(layout.PairsLen * layout.PairLen)
	if err == nil {
		w.pairs.Store(off)
		put64(w.base, layout.ProcPairsOff, off)
	}
	return err
}

func (w *Writer) fillPair(at, hash uint64, tran uint32, c *layout.Correlator) {
	put32(w.base, at+layout.PairTran, tran)
	put64(w.base, at+layout.PairHash, hash)
	put16(w.base, at+layout.PairVendor, c.Vendor)
	put16(w.base, at+layout.PairVersion, c.Version)
	put16(w.base, at+layout.PairInstance, c.Instance)
	put16(w.base, at+layout.PairAddrFormat, c.AddrFormat)
	put32(w.base, at+layout.PairClass, c.Class)
	if !c.TraceContext() {
		n := copy(bytesAt(w.base, at+layout.PairAddress, 24), c.Address)
		put16(w.base, at+layout.PairAddrLen, uint16(n))
	}
	put32(w.base, at+layout.PairState, layout.RecordPublished)
}

// countPair counts an execution of the pair's child.
func (w *Writer) countPair(number uint32, d uint64, s Status) {
	if number > layout.PairsLen || w.pairs.Load() == 0 {
		return // another process has written into the slot
	}
	p := unsafe.Add(w.base, w.pairAt(number))
	switch s {
	case Good:
		atomic.AddUint64((*uint64)(unsafe.Add(p, layout.PairSum)), d)
		atomic.AddUint64((*uint64)(unsafe.Add(p, layout.PairCount)), 1)
	case Aborted:
		atomic.AddUint64((*uint64)(unsafe.Add(p, layout.PairAborted)), 1)
	default:
		atomic.AddUint64((*uint64)(unsafe.Add(p, layout.PairFailed)), 1)
	}
}
