package main

import (
	"encoding/binary"
	"fmt"
	"os"
	"path/filepath"

	"github.com/pcp-rtime/rtime/pcp"
)

// Lengths of what an MMV file of version 1 is made of, and the numbers of its
// sections.
const (
	mmvHeader, mmvSection, mmvIndom, mmvInstance, mmvMetric, mmvValue = 40, 16, 32, 80, 104, 32

	mmvIndoms, mmvInstances, mmvMetrics, mmvValues = 1, 2, 3, 4
)

// writeMMV writes an MMV file with so many 64-bit metrics over so many instances, as
// mmv_stats_init(3) lays it out; insts 0 means metrics with one value. The cluster of
// the metrics is given, items count from 0, and values are those of cagent/agent.c.
func writeMMV(dir string, cluster, metrics, insts int) error {
	w := &mmvWriter{insts: insts, metrics: metrics}
	w.layout()
	w.header(cluster)
	if insts > 0 {
		w.indom(cluster)
	}
	for m := range metrics {
		w.metric(m, cluster)
	}
	return os.WriteFile(filepath.Join(dir, fmt.Sprintf("bench%d", cluster)), w.b, 0o644)
}

type mmvWriter struct {
	b                              []byte
	metrics, insts                 int
	offIndom, offInst, offMet, off int
}

func (w *mmvWriter) perMetric() int { return max(w.insts, 1) }

func (w *mmvWriter) layout() {
	at := mmvHeader + 2*mmvSection
	if w.insts > 0 {
		at += 2 * mmvSection
		w.offIndom, w.offInst = at, at+mmvIndom
		at += mmvIndom + w.insts*mmvInstance
	}
	w.offMet = at
	w.off = at + w.metrics*mmvMetric
	w.b = make([]byte, w.off+w.metrics*w.perMetric()*mmvValue)
}

func (w *mmvWriter) u32(off int, v uint32) { binary.NativeEndian.PutUint32(w.b[off:], v) }
func (w *mmvWriter) u64(off int, v uint64) { binary.NativeEndian.PutUint64(w.b[off:], v) }

func (w *mmvWriter) header(cluster int) {
	copy(w.b, "MMV\x00")
	w.u32(4, 1)
	w.u64(8, 1) // the two generations agree: the file is complete
	w.u64(16, 1)
	w.u32(32, uint32(os.Getpid()))
	w.u32(36, uint32(cluster))
	sections := [][3]int{
		{mmvMetrics, w.metrics, w.offMet},
		{mmvValues, w.metrics * w.perMetric(), w.off},
	}
	if w.insts > 0 {
		sections = append([][3]int{{mmvIndoms, 1, w.offIndom}, {mmvInstances, w.insts, w.offInst}}, sections...)
	}
	w.u32(24, uint32(len(sections)))
	for i, s := range sections {
		w.u32(mmvHeader+i*mmvSection, uint32(s[0]))
		w.u32(mmvHeader+i*mmvSection+4, uint32(s[1]))
		w.u64(mmvHeader+i*mmvSection+8, uint64(s[2]))
	}
}

func (w *mmvWriter) indom(serial int) {
	w.u32(w.offIndom, uint32(serial))
	w.u32(w.offIndom+4, uint32(w.insts))
	w.u64(w.offIndom+8, uint64(w.offInst))
	for i := range w.insts {
		at := w.offInst + i*mmvInstance
		w.u64(at, uint64(w.offIndom))
		w.u32(at+12, uint32(i))
		copy(w.b[at+16:], fmt.Sprintf("instance%d", i))
	}
}

func (w *mmvWriter) metric(m, serial int) {
	at := w.offMet + m*mmvMetric
	copy(w.b[at:], fmt.Sprintf("bench.item%d", m))
	w.u32(at+64, uint32(m))
	w.u32(at+68, uint32(pcp.Type64))
	w.u32(at+72, uint32(pcp.SemInstant))
	w.u32(at+80, uint32(pcp.InDomNull))
	if w.insts > 0 {
		w.u32(at+80, uint32(serial))
	}
	for i := range w.perMetric() {
		v := w.off + (m*w.perMetric()+i)*mmvValue
		w.u64(v, 42)
		w.u64(v+16, uint64(at))
		if w.insts > 0 {
			w.u64(v, uint64(1000*i+m))
			w.u64(v+24, uint64(w.offInst+i*mmvInstance))
		}
	}
}
