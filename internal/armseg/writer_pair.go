package armseg

import (
	"hash/fnv"
	"sync/atomic"
	"unsafe"
)

// pair returns the number plus 1 of the pair of a transaction and its parent's, which it
// makes; 0 says that there is none, or no room. A parent that has no class, since it was
// no transaction of ARM, is nobody's.
func (w *Writer) pair(tran uint32, parent *Correlator) uint32 {
	if parent.Class == 0 {
		return 0
	}
	hash := parent.hash(tran)
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
		atomic.AddUint64(word64(w.base, ProcPairsLost), 1)
		return 0
	}
	w.fillPair(w.pairAt(free), hash, tran, parent)
	return free
}

// hash is of what makes a pair. A trace context is another each time, and no address.
func (c *Correlator) hash(tran uint32) uint64 {
	head := Correlator{AddrFormat: c.AddrFormat, Vendor: c.Vendor, Version: c.Version, Instance: c.Instance, Class: c.Class}
	if !c.TraceContext() {
		head.Address = c.Address
	}
	var b [CorrelatorMax + 4]byte
	h := fnv.New64a()
	h.Write(head.Append(b[:0]))
	h.Write([]byte{byte(tran), byte(tran >> 8), byte(tran >> 16), byte(tran >> 24)})
	return h.Sum64()
}

// findPair returns the number plus 1 of the pair with a hash, and of the first free place
// for it; each is 0 where there is none.
func (w *Writer) findPair(hash uint64) (number, free uint32) {
	off := get64(w.base, ProcPairsOff)
	for i := range uint64(PairsLen) {
		n := uint32((hash+i)%PairsLen) + 1
		if off == 0 {
			return 0, n
		}
		at := w.pairAt(n)
		switch {
		case get32(w.base, at+PairState) != RecordPublished:
			return 0, n
		case get64(w.base, at+PairHash) == hash:
			return n, 0
		}
	}
	return 0, 0
}

func (w *Writer) pairAt(number uint32) uint64 {
	return get64(w.base, ProcPairsOff) + uint64(number-1)*PairLen
}

// makePairs hands out the table, once there is something to put in. The caller holds w.mu.
func (w *Writer) makePairs() error {
	if get64(w.base, ProcPairsOff) != 0 {
		return nil
	}
	off, err := w.alloc(PairsLen * PairLen)
	if err == nil {
		put32(w.base, ProcPairsLen, PairsLen)
		put64(w.base, ProcPairsOff, off)
	}
	return err
}

func (w *Writer) fillPair(at, hash uint64, tran uint32, c *Correlator) {
	put32(w.base, at+PairTran, tran)
	put64(w.base, at+PairHash, hash)
	put16(w.base, at+PairVendor, c.Vendor)
	put16(w.base, at+PairVersion, c.Version)
	put16(w.base, at+PairInstance, c.Instance)
	put16(w.base, at+PairAddrFormat, c.AddrFormat)
	put32(w.base, at+PairClass, c.Class)
	if !c.TraceContext() {
		n := copy(bytesAt(w.base, at+PairAddress, 24), c.Address)
		put16(w.base, at+PairAddrLen, uint16(n))
	}
	put32(w.base, at+PairState, RecordPublished)
}

// countPair counts what the parent's child took.
func (w *Writer) countPair(number uint32, d uint64, s Status) {
	p := unsafe.Add(w.base, w.pairAt(number))
	switch s {
	case Good:
		atomic.AddUint64((*uint64)(unsafe.Add(p, PairSum)), d)
		atomic.AddUint64((*uint64)(unsafe.Add(p, PairCount)), 1)
	case Aborted:
		atomic.AddUint64((*uint64)(unsafe.Add(p, PairAborted)), 1)
	default:
		atomic.AddUint64((*uint64)(unsafe.Add(p, PairFailed)), 1)
	}
}
