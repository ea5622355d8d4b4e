package pmda

import (
	"encoding/binary"

	"github.com/pcp-rtime/rtime/pcp"
	"github.com/pcp-rtime/rtime/pdu"
)

// Indexed is the Getter of a numeric metric whose values stand in an array: what was
// added for an instance is the index of its value. It is Per without a call for each
// value, for agents with very many. get is called once for each time that the metric is
// asked for, after InDom.Prepare. It returns the values as pcp.RawNumber takes them,
// and which instances have one: has nil stands for all whose index is within the array.
func Indexed[I ~uint32](t pcp.Type, d *InDom[I], get func() (values []uint64, has func(I) bool)) Getter {
	g := Getter{typ: t, indom: d}
	switch t {
	case pcp.Type64, pcp.TypeU64, pcp.TypeDouble:
		g.fetch = func(v *Values) {
			l := d.wanted(v.server)
			values, has := get()
			indexedDouble(v.w, t, l, values, has)
		}
	case pcp.Type32, pcp.TypeU32, pcp.TypeFloat:
		g.fetch = func(v *Values) {
			l := d.wanted(v.server)
			values, has := get()
			for i, at := range l.data {
				if int(at) < len(values) && (has == nil || has(at)) {
					v.w.Number(l.ids[i], t, values[at])
				}
			}
		}
	default:
		return Getter{} // which New reports
	}
	return g
}

// indexedDouble is perDouble without calls.
func indexedDouble[I ~uint32](w *pdu.ResultWriter, t pcp.Type, l *list[I], values []uint64, has func(I) bool) {
	sets, blocks, pos := w.Doubles(len(l.ids))
	head := uint32(t)<<24 | 12
	n := 0
	ids := l.ids[:len(l.data)]
	for i, at := range l.data {
		if int(at) >= len(values) || has != nil && !has(at) {
			continue
		}
		binary.BigEndian.PutUint64(sets[8*n:8*n+8], uint64(uint32(ids[i]))<<32|uint64(pos))
		b := blocks[12*n : 12*n+12]
		binary.BigEndian.PutUint32(b, head)
		binary.BigEndian.PutUint64(b[4:], values[at])
		pos += pdu.BlockWords
		n++
	}
	w.AddDoubles(n)
}
