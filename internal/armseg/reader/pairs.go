//go:build linux

package reader

import (
	"bytes"

	"github.com/pcp-rtime/rtime/internal/armseg/layout"
)

// PairKey names a transaction and its parent. The parent's correlator tells all but Tran.
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
	in   [layout.PairsLen]bool
}

type seenPair struct {
	off   uint64
	key   PairKey
	total PairTotals
}

// Pairs calls f for every pair that has changed since the last call, with what was added.
// It remembers what f was called for even if it ends with an error. A pair keeps its
// number; numbers begin with 0.
func (p *Proc) Pairs(f func(number int, k *PairKey, added PairTotals)) error {
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

func (p *Proc) pairTotals(off uint64) (t PairTotals) {
	t.Count, _ = p.m.Load64(off + layout.PairCount)
	t.GoodNS, _ = p.m.Load64(off + layout.PairSum)
	t.Aborted, _ = p.m.Load64(off + layout.PairAborted)
	t.Failed, _ = p.m.Load64(off + layout.PairFailed)
	return t
}

func (p *Proc) findPairs() error {
	off, _ := p.m.Load64(layout.ProcPairsOff)
	n, _ := p.m.Load32(layout.ProcPairsLen)
	length, _ := p.m.Load32(layout.ProcPairLen)
	switch {
	case off == 0 || n == 0:
		return nil
	case n > layout.PairsLen || length != layout.PairLen:
		return badFormat("%d pairs of %d bytes", n, length)
	case p.pairs.off != 0 && p.pairs.off != off:
		return badFormat("the pairs have moved")
	}
	if err := p.has(off, uint64(n)*layout.PairLen); err != nil {
		return err
	}
	p.pairs.off = off
	for i := range n {
		at := off + uint64(i)*layout.PairLen
		if p.pairs.in[i] {
			continue
		}
		if state, _ := p.m.Load32(at + layout.PairState); state == layout.RecordPublished {
			p.pairs.in[i] = true
			p.pairs.seen = append(p.pairs.seen, seenPair{off: at, key: p.pairKey(at)})
		}
	}
	return nil
}

func (p *Proc) pairKey(off uint64) PairKey {
	b := make(record, layout.PairLen)
	p.m.CopyWords(b, off)
	return PairKey{Tran: b.u32(layout.PairTran), Vendor: b.u16(layout.PairVendor), Version: b.u16(layout.PairVersion), Instance: b.u16(layout.PairInstance),
		AddrFormat: b.u16(layout.PairAddrFormat), Class: b.u32(layout.PairClass),
		Address: string(bytes.Clone(b[layout.PairAddress:][:min(b.u16(layout.PairAddrLen), 24)]))}
}

// PairTotals calls f for every pair that was read, with the total of what Pairs has
// reported.
func (p *Proc) PairTotals(f func(number int, t PairTotals)) {
	for i := range p.pairs.seen {
		f(i, p.pairs.seen[i].total)
	}
}
