//go:build linux

package armseg

import "bytes"

// PairKey is a transaction and its parent, as the parent's correlator tells.
type PairKey struct {
	Tran       uint32 // the child
	Vendor     uint16
	Version    uint16
	Instance   uint16
	AddrFormat uint16
	Class      uint32 // the parent's tran_id
	Address    string // bytes
}

// PairTotals are a pair's counts, and the time of the good ones in nanoseconds.
type PairTotals struct {
	Count, GoodNS, Aborted, Failed uint64
}

// seenPairs is what is known of the table of pairs.
type seenPairs struct {
	off  uint64
	seen []seenPair
	in   [PairsLen]bool
}

type seenPair struct {
	off   uint64
	key   PairKey
	total PairTotals
}

// Pairs calls f for every pair that has changed since the last call, with what was added.
// What f was called for is remembered, also where an error ends it. number is the same
// for the same pair each time, and counts from 0.
func (p *ProcReader) Pairs(f func(number int, k *PairKey, added PairTotals)) error {
	return p.guard(func() error {
		if err := p.findPairs(); err != nil {
			return err
		}
		for i := range p.pairs.seen {
			r := &p.pairs.seen[i]
			now := p.pairTotals(r.off)
			was := r.total
			if now == was {
				continue
			}
			if now.Count < was.Count || now.GoodNS < was.GoodNS || now.Aborted < was.Aborted || now.Failed < was.Failed {
				return ErrBack
			}
			r.total = now
			f(i, &r.key, PairTotals{now.Count - was.Count, now.GoodNS - was.GoodNS, now.Aborted - was.Aborted, now.Failed - was.Failed})
		}
		return nil
	})
}

func (p *ProcReader) pairTotals(off uint64) (t PairTotals) {
	t.Count, _ = p.m.Load64(off + PairCount)
	t.GoodNS, _ = p.m.Load64(off + PairSum)
	t.Aborted, _ = p.m.Load64(off + PairAborted)
	t.Failed, _ = p.m.Load64(off + PairFailed)
	return t
}

func (p *ProcReader) findPairs() error {
	off, _ := p.m.Load64(ProcPairsOff)
	n, _ := p.m.Load32(ProcPairsLen)
	length, _ := p.m.Load32(ProcPairLen)
	switch {
	case off == 0 || n == 0:
		return nil
	case n > PairsLen || length != PairLen:
		return badFormat("%d pairs of %d bytes", n, length)
	case p.pairs.off != 0 && p.pairs.off != off:
		return badFormat("the pairs have moved")
	}
	if err := p.has(off, uint64(n)*PairLen); err != nil {
		return err
	}
	p.pairs.off = off
	for i := range n {
		at := off + uint64(i)*PairLen
		if p.pairs.in[i] {
			continue
		}
		if state, _ := p.m.Load32(at + PairState); state == RecordPublished {
			p.pairs.in[i] = true
			p.pairs.seen = append(p.pairs.seen, seenPair{off: at, key: p.pairKey(at)})
		}
	}
	return nil
}

func (p *ProcReader) pairKey(off uint64) PairKey {
	b := make(record, PairLen)
	p.m.CopyWords(b, off)
	return PairKey{Tran: b.u32(PairTran), Vendor: b.u16(PairVendor), Version: b.u16(PairVersion), Instance: b.u16(PairInstance),
		AddrFormat: b.u16(PairAddrFormat), Class: b.u32(PairClass),
		Address: string(bytes.Clone(b[PairAddress:][:min(b.u16(PairAddrLen), 24)]))}
}

// PairTotals calls f for every pair that was read, with what Pairs has told of it
// altogether.
func (p *ProcReader) PairTotals(f func(number int, t PairTotals)) {
	for i := range p.pairs.seen {
		f(i, p.pairs.seen[i].total)
	}
}
