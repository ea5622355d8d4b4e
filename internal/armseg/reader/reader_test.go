//go:build linux

package reader_test

import (
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"testing"

	"github.com/pcp-rtime/rtime/internal/armseg/layout"
	"github.com/pcp-rtime/rtime/internal/armseg/reader"
	"github.com/pcp-rtime/rtime/internal/armseg/reader/readertest"
	"github.com/pcp-rtime/rtime/internal/shm"
)

const anyBytes = 1 << 38

func me() uint32 { return uint32(os.Geteuid()) }

func openProc(t testing.TB, p *readertest.Proc) *reader.Proc {
	t.Helper()
	r, err := reader.OpenProc(p.Path, me(), reader.Limits{Bytes: anyBytes, Cells: 1 << 20})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { r.Close() })
	return r
}

func openNames(t testing.TB, n *readertest.Names) *reader.Names {
	t.Helper()
	r, err := reader.OpenNames(n.Path, me())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { r.Close() })
	return r
}

// TestBuckets: bounds, middles and their error, as docs/arm-segment.md states them.
func TestBuckets(t *testing.T) {
	next := uint64(0)
	for b := range 256 {
		lo, hi := layout.BucketBounds(uint8(b))
		if lo != next || int(layout.Bucket(lo)) != b || int(layout.Bucket(hi)) != b {
			t.Fatalf("bucket %d: %d to %d", b, lo, hi)
		}
		mid := layout.BucketMiddle(uint8(b))
		for _, v := range []uint64{lo, hi} {
			diff := math.Abs(float64(mid) - float64(v))
			if lo < 512 && diff > 32 || lo >= 512 && diff > float64(v)/16 {
				t.Errorf("bucket %d: %d is %v from %d", b, mid, diff, v)
			}
		}
		next = hi + 1
	}
	if next != 1<<40 || layout.Bucket(math.MaxUint64) != 255 {
		t.Errorf("the last ends at %d", next)
	}
}

// TestHist compares with a plain array.
func TestHist(t *testing.T) {
	var h reader.Hist
	var want [256]uint64
	r := rand.New(rand.NewPCG(1, 2))
	for range 2000 {
		b, n := uint8(r.IntN(256)), r.Uint64N(100)
		if r.IntN(3) == 0 && want[b] >= n {
			h.Sub(b, n)
			want[b] -= n
		} else {
			h.Add(b, n)
			want[b] += n
		}
	}
	last := -1
	h.Each(func(b uint8, n uint64) bool {
		if int(b) <= last || want[b] != n || h.Get(b) != n {
			t.Errorf("bucket %d: %d, want %d", b, n, want[b])
		}
		last = int(b)
		return true
	})
	h.Reset()
	h.Each(func(uint8, uint64) bool { t.Error("not empty"); return false })
	if h.Get(3) != 0 {
		t.Error("not empty")
	}
}

// TestDamagedHeaders damages each field of the headers.
func TestDamagedHeaders(t *testing.T) {
	names := map[string]struct {
		off, width, v uint64
		want          error
	}{
		"nothing": {layout.NamesMinor, 2, 9, nil}, "magic": {0, 8, 1, reader.ErrFormat}, "order": {layout.NamesOrder, 4, 0x04030201, reader.ErrFormat},
		"major": {layout.NamesMajor, 2, 1, reader.ErrFormat}, "header": {layout.NamesHeaderLen, 4, 0, reader.ErrFormat},
		"app": {layout.NamesAppLen, 4, 1, reader.ErrFormat}, "tran": {layout.NamesTranLen, 4, 1 << 31, reader.ErrFormat},
		"building": {layout.NamesState, 4, 0, reader.ErrNotReady}, "state": {layout.NamesState, 4, 9, reader.ErrNotReady},
		"owner": {layout.NamesUID, 4, 12345, reader.ErrOwner},
		"apps":  {layout.NamesAppMax, 4, layout.AppMax + 1, reader.ErrFormat}, "trans": {layout.NamesTranMax, 4, math.MaxUint32, reader.ErrFormat},
		"apps beyond": {layout.NamesAppsOff, 8, 1 << 40, reader.ErrFormat}, "overflow": {layout.NamesTransOff, 8, math.MaxUint64 - 7, reader.ErrFormat},
		"unaligned": {layout.NamesTransOff, 8, readertest.AppsOff + 4, reader.ErrFormat}, "in the header": {layout.NamesAppsOff, 8, 0, reader.ErrFormat},
		"address": {layout.NamesAddrLen, 2, math.MaxUint16, nil},
	}
	for what, c := range names {
		n := readertest.NewNames(t, t.TempDir(), me(), 7)
		put(n.File, c.off, c.width, c.v)
		r, err := reader.OpenNames(n.Path, me())
		if !errors.Is(err, c.want) || (err == nil) != (c.want == nil) {
			t.Errorf("names, %s: %v, want %v", what, err, c.want)
		}
		if r != nil {
			if len(r.Address) > 24 {
				t.Errorf("address of %d bytes", len(r.Address))
			}
			r.Close()
		}
	}
	procs := map[string]struct {
		off, width, v uint64
		want          error
	}{
		"nothing": {layout.ProcMinor, 2, 9, nil}, "magic": {0, 8, 1, reader.ErrFormat}, "major": {layout.ProcMajor, 2, 1, reader.ErrFormat},
		"header": {layout.ProcHeaderLen, 4, 0, reader.ErrFormat}, "block": {layout.ProcBlockLen, 4, 0, reader.ErrFormat},
		"chunk": {layout.ProcChunkLen, 4, 0, reader.ErrFormat}, "cell": {layout.ProcCellLen, 4, 0, reader.ErrFormat},
		"building": {layout.ProcState, 4, 0, reader.ErrNotReady}, "state": {layout.ProcState, 4, 2, reader.ErrNotReady},
		"owner": {layout.ProcUID, 4, 12345, reader.ErrOwner}, "inits": {layout.ProcInitsOff, 8, 1 << 50, reader.ErrFormat},
		"apps": {layout.ProcAppMax, 4, math.MaxUint32, reader.ErrFormat}, "chunks": {layout.ProcChunkMax, 4, layout.ChunkMax + 1, reader.ErrFormat},
		"chunks unaligned": {layout.ProcChunksOff, 8, 1001, reader.ErrFormat}, "blocks": {layout.ProcBlockMax, 4, 1 << 31, reader.ErrFormat},
		"blocks overflow": {layout.ProcBlocksOff, 8, math.MaxUint64 - 7, reader.ErrFormat},
	}
	for what, c := range procs {
		dir := t.TempDir()
		p := readertest.NewProc(t, dir, readertest.NewNames(t, dir, me(), 7), 1)
		put(p.File, c.off, c.width, c.v)
		r, err := reader.OpenProc(p.Path, me(), reader.Limits{Bytes: anyBytes, Cells: 100})
		if !errors.Is(err, c.want) || (err == nil) != (c.want == nil) {
			t.Errorf("process, %s: %v, want %v", what, err, c.want)
		}
		if r != nil {
			r.Close()
		}
	}
}

func put(f *readertest.File, off, width, v uint64) {
	switch width {
	case 2:
		f.Put16(off, uint16(v))
	case 4:
		f.Put32(off, uint32(v))
	default:
		f.Put64(off, v)
	}
}

// TestRefusedFiles: a file is refused if another user owns it, or if it is too large or
// too small.
func TestRefusedFiles(t *testing.T) {
	dir := t.TempDir()
	n := readertest.NewNames(t, dir, me(), 7)
	p := readertest.NewProc(t, dir, n, 1)
	if _, err := reader.OpenProc(p.Path, me()+1, reader.Limits{Bytes: anyBytes}); !errors.Is(err, reader.ErrOwner) {
		t.Error(err)
	}
	if _, err := reader.OpenNames(n.Path, me()+1); !errors.Is(err, reader.ErrOwner) {
		t.Error(err)
	}
	if _, err := reader.OpenProc(p.Path, me(), reader.Limits{Bytes: 1000}); !errors.Is(err, shm.ErrLarge) {
		t.Error(err)
	}
	p.Truncate(1 << 42)
	if _, err := reader.OpenProc(p.Path, me(), reader.Limits{Bytes: math.MaxInt64}); !errors.Is(err, shm.ErrLarge) {
		t.Error(err)
	}
	n.Truncate(1 << 42)
	if _, err := reader.OpenNames(n.Path, me()); !errors.Is(err, shm.ErrLarge) {
		t.Error(err)
	}
	n.Truncate(511)
	if _, err := reader.OpenNames(n.Path, me()); !errors.Is(err, shm.ErrSmall) {
		t.Error(err)
	}
}

// TestNamesOnce: Update tells each record once, whenever it is published, and never a
// dead one.
func TestNamesOnce(t *testing.T) {
	n := readertest.NewNames(t, t.TempDir(), me(), 7)
	a := n.App("A")
	for i := range 5 {
		n.Tran(a, fmt.Sprint(i))
	}
	n.Put32(readertest.TranOff(2)+layout.TranState, layout.RecordDead)
	n.Put32(readertest.TranOff(4)+layout.TranState, layout.RecordBuilding)
	r := openNames(t, n)
	told := func() (list []string) {
		t.Helper()
		err := r.Update(func(id uint32, a *reader.App) { list = append(list, fmt.Sprint("A", id, a.Key, a.Descr)) },
			func(id uint32, a *reader.Tran) { list = append(list, fmt.Sprint(id, a.App, a.Key)) })
		if err != nil {
			t.Fatal(err)
		}
		return list
	}
	if got := fmt.Sprint(told()); got != "[A1Athe application A 1 10 3 12 5 14]" {
		t.Error(got)
	}
	if got := told(); got != nil {
		t.Error(got)
	}
	n.Put32(readertest.TranOff(4)+layout.TranState, layout.RecordPublished)
	n.Tran(a, "new")
	if got := fmt.Sprint(told()); got != "[4 13 6 1new]" {
		t.Error(got)
	}
}

// TestUse: Use returns the word as it stands, and 0 for ids that are not there.
func TestUse(t *testing.T) {
	n := readertest.NewNames(t, t.TempDir(), me(), 7)
	n.Put64(readertest.AppOff(n.App("A"))+layout.AppUse, 9<<32|5)
	r := openNames(t, n)
	if got, err := r.Use(1); err != nil || got != 9<<32|5 {
		t.Errorf("%#x %v", got, err)
	}
	for _, id := range []uint32{0, layout.AppMax + 1, math.MaxUint32} {
		if use, err := r.Use(id); use != 0 || err != nil {
			t.Error(use, err)
		}
	}
}

// TestMissing: opening a missing file fails with ErrNotExist.
func TestMissing(t *testing.T) {
	path := filepath.Join(t.TempDir(), "none")
	if _, err := reader.OpenProc(path, me(), reader.Limits{Bytes: anyBytes}); !errors.Is(err, os.ErrNotExist) {
		t.Error(err)
	}
	if _, err := reader.OpenNames(path, me()); !errors.Is(err, os.ErrNotExist) {
		t.Error(err)
	}
}

func TestText(t *testing.T) {
	for in, want := range map[string]string{"": "", "plain": "plain", "a\x00b": "a", "\xff\xfe": "??", "é": "é", "a\tb\n\x1b[": "a?b??[",
		"a\u00a0b\u202e\u2028": "a?b??", "\u200b": "?"} {
		if got := reader.Text([]byte(in)); got != want {
			t.Errorf("%q: %q, want %q", in, got, want)
		}
	}
}
