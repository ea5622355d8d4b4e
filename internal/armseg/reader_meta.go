//go:build linux

package armseg

// MetricDesc describes an application's metric.
type MetricDesc struct {
	Type uint32 // 1 to 9, the string's 10; 0 where there is none
	Name string // may be empty
}

// Descs returns the descriptions of a transaction's metrics, the string's last. ok is
// false while there are none.
func (n *NamesReader) Descs(id uint32) (descs [Metrics + 1]MetricDesc, ok bool, err error) {
	off, in := n.trans.at(id)
	if !in {
		return descs, false, nil
	}
	err = n.m.Guard(func() {
		if state, _ := n.m.Load32(off + TranMeta); state != RecordPublished {
			return
		}
		ok = true
		flags, _ := n.m.Load32(off + TranMetaFlags)
		b := make(record, (Metrics+1)*DescLen)
		n.m.CopyWords(b, off+TranDescs)
		for i := range descs {
			d := b[i*DescLen:][:DescLen]
			// From the highest bit on, in the order of the data buffers (ARM 2.0 guide).
			if flags&(0x80>>i) != 0 && validType(i, d.u32(DescType)) {
				descs[i] = MetricDesc{Type: d.u32(DescType), Name: Text(d[DescName:])}
			}
		}
	})
	return descs, ok, err
}

func validType(i int, t uint32) bool {
	if i == Metrics {
		return t == TypeString32
	}
	return t >= TypeCounter32 && t <= TypeString8
}
