//go:build linux

package reader

import (
	"github.com/pcp-rtime/rtime/internal/armseg/layout"
)

// MetricDesc describes an application's metric.
type MetricDesc struct {
	Type uint32 // 1 to 9, 10 for the string; 0 if there is no metric
	Name string // may be empty
}

// Descs returns the descriptions of a transaction's metrics, the string's last. ok is
// false while there are none.
func (n *Names) Descs(id uint32) (descs [layout.Metrics + 1]MetricDesc, ok bool, err error) {
	off, in := n.trans.at(id)
	if !in {
		return descs, false, nil
	}
	err = n.m.Guard(func() {
		if state, _ := n.m.Load32(off + layout.TranMeta); state != layout.RecordPublished {
			return
		}
		ok = true
		flags, _ := n.m.Load32(off + layout.TranMetaFlags)
		b := make(record, (layout.Metrics+1)*layout.DescLen)
		n.m.CopyWords(b, off+layout.TranDescs)
		for i := range descs {
			d := b[i*layout.DescLen:][:layout.DescLen]
			// The flags begin at the highest bit, in the order of the data buffer (ARM 2.0 guide).
			if flags&(0x80>>i) != 0 && validType(i, d.u32(layout.DescType)) {
				descs[i] = MetricDesc{Type: d.u32(layout.DescType), Name: Text(d[layout.DescName:])}
			}
		}
	})
	return descs, ok, err
}

func validType(i int, t uint32) bool {
	if i == layout.Metrics {
		return t == layout.TypeString32
	}
	return t >= layout.TypeCounter32 && t <= layout.TypeString8
}
