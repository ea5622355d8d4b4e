//go:build linux

package arm_test

import (
	"bytes"
	"encoding/binary"
	"os"
	"path/filepath"
	"testing"

	"github.com/pcp-rtime/rtime/internal/armseg/layout"
)

// counts holds what all processes have counted of a transaction.
type counts struct {
	good, sum, n, aborted, abortedNS, failed, failedNS, updates, badData uint64
	min, max                                                             uint64
	running                                                              int // slots that are active
	metrics                                                              []metric
}

type metric struct {
	kind             uint32
	count, sum, last uint64
	min, max         uint64
	text             string
}

// image is a file as it was read. The tests read it by the layout alone, so that they notice
// if the package's own reader and writer agree on something that the layout does not say.
type image []byte

func (b image) u32(off uint64) uint32 { return binary.NativeEndian.Uint32(b[off:]) }
func (b image) u64(off uint64) uint64 { return binary.NativeEndian.Uint64(b[off:]) }

func readFile(t testing.TB, path string) image {
	t.Helper()
	b, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return b
}

func procFiles(t testing.TB, dir string) []string {
	t.Helper()
	paths, err := filepath.Glob(filepath.Join(dir, "*"+layout.ProcSuffix))
	if err != nil {
		t.Fatal(err)
	}
	return paths
}

// read adds up what the files in dir say of a transaction.
func read(t testing.TB, dir string, tran uint32) counts {
	t.Helper()
	all := counts{min: 1<<64 - 1}
	for _, path := range procFiles(t, dir) {
		f := readFile(t, path)
		for i := range f.u32(layout.ProcBlockNext) {
			if off := f.u32(f.u64(layout.ProcBlocksOff) + 4*uint64(i)); off != 0 {
				all.block(f, uint64(off)*64, tran)
			}
		}
		for i := range f.u32(layout.ProcChunkNext) {
			off := uint64(f.u32(f.u64(layout.ProcChunksOff)+4*uint64(i))) * 64
			for s := range uint64(layout.SlotsPerChunk) {
				state := f.u64(off + layout.ChunkSlots + s*layout.SlotLen)
				if state&7 == layout.SlotActive && uint32(state>>32) == tran {
					all.running++
				}
			}
		}
	}
	return all
}

func (c *counts) block(f image, off uint64, tran uint32) {
	page := uint64(f.u32(off+layout.BlockDir+4*uint64((tran-1)/layout.PageCells))) * 64
	if page == 0 {
		return
	}
	cell := uint64(f.u32(page+4*uint64((tran-1)%layout.PageCells))) * 64
	if cell == 0 {
		return
	}
	for i := range uint64(layout.HistLen) {
		c.good += f.u64(cell + layout.CellHist + 8*i)
	}
	for off, to := range map[uint64]*uint64{
		layout.CellSum: &c.sum, layout.CellN: &c.n, layout.CellAborted: &c.aborted, layout.CellAbortedNS: &c.abortedNS,
		layout.CellFailed: &c.failed, layout.CellFailedNS: &c.failedNS, layout.CellUpdates: &c.updates, layout.CellBadData: &c.badData,
	} {
		*to += f.u64(cell + off)
	}
	c.min, c.max = min(c.min, f.u64(cell+layout.CellMin)), max(c.max, f.u64(cell+layout.CellMax))
	if off := f.u64(cell + layout.CellMetricsOff); off != 0 {
		c.metrics = nil
		for i := range uint64(layout.Metrics + 1) {
			m := off + i*layout.MetricLen
			c.metrics = append(c.metrics, metric{
				kind: f.u32(m + layout.MetricType), count: f.u64(m + layout.MetricCount), sum: f.u64(m + layout.MetricSum),
				last: f.u64(m + layout.MetricLast), min: f.u64(m + layout.MetricMin), max: f.u64(m + layout.MetricMax),
				text: string(f[m+layout.MetricText : m+layout.MetricText+32]),
			})
		}
	}
}

// keys returns the keys of all transactions in the file of names, as APPLICATION/TRANSACTION.
func keys(t testing.TB, dir string) map[uint32]string {
	t.Helper()
	paths, err := filepath.Glob(filepath.Join(dir, "*"+layout.NamesSuffix))
	if err != nil || len(paths) != 1 {
		t.Fatal(paths, err)
	}
	f, all := readFile(t, paths[0]), map[uint32]string{}
	text := func(off uint64) string { return string(bytes.TrimRight(f[off:off+layout.KeyMax+1], "\x00")) }
	for id := uint32(1); id <= f.u32(layout.NamesTranNext); id++ {
		at := f.u64(layout.NamesTransOff) + uint64(id-1)*layout.TranLen
		app := f.u64(layout.NamesAppsOff) + uint64(f.u32(at+layout.TranApp)-1)*layout.AppLen
		all[id] = text(app+layout.AppKey) + "/" + text(at+layout.TranKey)
	}
	return all
}
