package collect

import (
	"strings"
	"testing"
	"time"

	"github.com/pcp-rtime/rtime/internal/armseg/layout"
	"github.com/pcp-rtime/rtime/internal/armseg/reader/readertest"
)

// TestLimits: only a limited number of a user's files is read. When one ends, another is
// read.
func TestLimits(t *testing.T) {
	w := newWorld(t)
	w.conf.MaxUserFiles = 2
	n := w.names(7)
	var procs []*readertest.Proc
	for i := range uint32(4) {
		procs = append(procs, readertest.NewProc(t, w.dir, n, 100+i))
		procs[i].Good(0, 1, 10, w.mono)
	}
	w.start()
	w.look()
	if d, h := w.tran("Bank/Deposit"), w.c.Snapshot().Health; d.Count != 2 || h.Files != 2 || h.Refused != 2 ||
		!strings.Contains(h.LastRefused, "the limit is maxuserprocesses") {
		t.Errorf("%+v %+v", d, h)
	}
	procs[0].Die()
	procs[1].Die()
	w.look()
	w.pass(time.Duration(retry))
	w.look()
	if d, h := w.tran("Bank/Deposit"), w.c.Snapshot().Health; d.Count != 4 || h.Files != 2 || h.Refused != 0 {
		t.Errorf("%+v %+v", d, h)
	}
	conf := w.conf
	conf.MaxUserBytes = 1
	w.conf = conf
	w.start()
	w.look()
	if h := w.c.Snapshot().Health; h.Files != 0 || !strings.Contains(h.LastRefused, "the limit maxuserbytes in rtarm.conf is 1") {
		t.Errorf("%+v", h)
	}
}

// TestPartial: cells beyond the limit are not read, and that is reported.
func TestPartial(t *testing.T) {
	w := newWorld(t)
	n := w.names(7)
	p := readertest.NewProc(t, w.dir, n, 100)
	page := p.Cell(0, 1) // all entries of all directories lead to it
	dir := uint64(p.Get32(p.Block(0)+layout.BlockDir)) * 64
	for i := range uint64(layout.PageCells) {
		p.Put32(dir+4*i, uint32(page/64))
	}
	for i := range uint64(layout.DirPages) {
		p.Put32(p.Block(0)+layout.BlockDir+4*i, uint32(dir/64))
	}
	for i := range uint64(layout.BlockMax) {
		p.Put32(readertest.BlocksOff+4*i, uint32(p.Block(0)/64))
	}
	p.Put32(layout.ProcBlockNext, layout.BlockMax)
	w.start()
	w.look()
	w.look()
	if h := w.c.Snapshot().Health; h.Partial != 1 || h.Processes != 1 {
		t.Errorf("%+v", h)
	}
	if cells := w.c.programs.order[0].procs[0].r.Cells(); cells > maxCells+16 {
		t.Errorf("%d cells", cells)
	}
}

// TestDescriptors: so few files are open that there is room to record those that have
// ended. After that the others have their turn.
func TestDescriptors(t *testing.T) {
	w := newWorld(t)
	n := w.names(7)
	w.start()
	w.c.programs.most = 3
	for i := range uint32(4) {
		p := readertest.NewProc(t, w.dir, n, 100+i)
		p.Good(0, 1, 10, w.mono)
		p.Die()
	}
	w.look()
	if d, h := w.tran("Bank/Deposit"), w.c.Snapshot().Health; d.Count != 2 || h.Refused != 2 ||
		!strings.Contains(h.LastRefused, "ulimit -n") {
		t.Errorf("%+v %+v", d, h)
	}
	w.pass(time.Duration(retry))
	w.look()
	if d := w.tran("Bank/Deposit"); d.Count != 4 || w.c.Snapshot().Health.Refused != 0 {
		t.Errorf("%+v", d)
	}
	if n := descriptors(); n < 1 {
		t.Errorf("%d descriptors", n)
	}
}
