package collect

import (
	"encoding/hex"
	"fmt"
	"net/netip"

	"github.com/pcp-rtime/rtime/internal/armseg/reader"
)

// vendor is our number in correlators (docs/arm-segment.md).
const vendor = 41377

// Formats of addresses in correlators (ARM 2.0 guide, appendix).
const (
	addrIPv4     = 1
	addrIPv4Port = 2
	addrIPv6     = 3
	addrIPv6Port = 4
)

// addPair adds what came to a pair.
func (c *counts) addPair(p *proc, i int, k *reader.PairKey, added reader.PairTotals) {
	for len(p.counted.pairs) <= i {
		p.counted.pairs = append(p.counted.pairs, nil)
	}
	if p.counted.pairs[i] == nil {
		child := c.tran(p.n, k.Tran)
		if child == nil {
			return
		}
		parent, label := c.parent(p, k)
		p.counted.pairs[i] = c.rows.pairOf(&c.conf, p.u.name, parent, label, child.row)
	}
	p.counted.pairs[i].add(&added)
}

func (r *pairRow) add(t *reader.PairTotals) {
	r.dirty = true
	r.Count += t.Count
	r.GoodNS += t.GoodNS
	r.Aborted += t.Aborted
	r.Failed += t.Failed
}

// parent returns the row that a parent's correlator stands for. If the parent is not of this
// host, row is nil, and label is what to call it.
func (c *counts) parent(p *proc, k *reader.PairKey) (row *tranRow, label string) {
	if k.Vendor == vendor {
		// The same user comes first, because a correlator has only 16 bits of the user's id.
		if t := c.ours(p.u, k); t != nil {
			return t, ""
		}
		for _, u := range c.users {
			if t := c.ours(u, k); t != nil {
				return t, ""
			}
		}
	}
	return nil, fmt.Sprintf("%d:%s:%d", k.Vendor, address(k.AddrFormat, k.Address), k.Class)
}

// ours returns the user's transaction that a correlator stands for, or nil.
func (c *counts) ours(u *account, k *reader.PairKey) *tranRow {
	if uint16(u.uid) != k.Instance {
		return nil
	}
	for i := len(u.names) - 1; i >= 0; i-- { // the latest first
		n := u.names[i]
		if n.r.AddrFormat == k.AddrFormat && string(n.r.Address) == k.Address {
			if t := c.tran(n, k.Class); t != nil {
				return t.row
			}
		}
	}
	return nil
}

// address returns the address in a correlator as people write it.
func address(format uint16, b string) string {
	raw := []byte(b)
	switch {
	case format == addrIPv4 && len(raw) == 4, format == addrIPv6 && len(raw) == 16:
		ip, _ := netip.AddrFromSlice(raw)
		return ip.String()
	case format == addrIPv4Port && len(raw) == 6, format == addrIPv6Port && len(raw) == 18:
		n := len(raw) - 2
		ip, _ := netip.AddrFromSlice(raw[:n])
		return netip.AddrPortFrom(ip, uint16(raw[n])<<8|uint16(raw[n+1])).String()
	}
	return hex.EncodeToString(raw)
}
