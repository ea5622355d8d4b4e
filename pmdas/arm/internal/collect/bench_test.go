package collect

import (
	"fmt"
	"testing"

	"github.com/pcp-rtime/rtime/internal/armseg/layout"
	"github.com/pcp-rtime/rtime/internal/armseg/reader/readertest"
)

// BenchmarkLook measures a look at 10,000 transactions of which none, some or all have
// changed, and at 1,000 processes.
func BenchmarkLook(b *testing.B) {
	for _, c := range []struct{ procs, trans, active int }{
		{1, 10000, 0}, {1, 10000, 100}, {1, 10000, 10000}, {1000, 10, 0}, {1000, 10, 1000},
	} {
		b.Run(fmt.Sprintf("procs=%d/trans=%d/active=%d", c.procs, c.trans, c.active), func(b *testing.B) {
			w := newWorld(b)
			n := readertest.NewNames(b, w.dir, w.uid, 7)
			app := n.App("App")
			for i := range c.trans {
				n.Tran(app, fmt.Sprint(i))
			}
			var procs []*readertest.Proc
			for i := range c.procs {
				p := readertest.NewProc(b, w.dir, n, uint32(i+1))
				p.Use(app, 1)
				p.Run(0, 1, layout.SlotFree, 0)
				for j := range c.trans {
					p.Good(0, uint32(j+1), uint64(j)*100, w.mono)
				}
				procs = append(procs, p)
			}
			w.start()
			w.pass(1e9)
			w.c.look()
			b.ReportAllocs()
			for b.Loop() {
				b.StopTimer()
				for i := range c.active {
					procs[i%c.procs].Good(0, uint32(i/c.procs%c.trans+1), uint64(i)*1000, w.mono)
				}
				w.pass(1e9)
				b.StartTimer()
				w.c.look()
			}
		})
	}
}
