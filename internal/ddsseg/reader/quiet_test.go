//go:build linux

package reader_test

import (
	"encoding/binary"
	"fmt"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/pcp-rtime/rtime/internal/ddsseg/layout"
	"github.com/pcp-rtime/rtime/internal/ddsseg/reader"
	"github.com/pcp-rtime/rtime/internal/ddsseg/reader/readertest"
	"github.com/pcp-rtime/rtime/internal/ddsseg/writer"
	"github.com/pcp-rtime/rtime/spmi"
)

// quiet fails the test if the reader's answer is not want.
func quiet(t *testing.T, r *reader.Reader, want bool, when string) {
	t.Helper()
	var got bool
	if err := r.Guard(func() { got = r.Quiet() }); got != want || err != nil {
		t.Errorf("%s: quiet %v, %v, want %v", when, got, err, want)
	}
}

// TestQuiet: a supplier is quiet while nothing has changed that the reader does not know
// of, until its first update. A supplier of an earlier version is never quiet, because
// it does not report updates.
func TestQuiet(t *testing.T) {
	s := sample(t, 0)
	s.Add(0, 2, "DDS/IBM/Test/a", "")
	r := open(t, s.Publish(t.TempDir(), -1))
	scan(t, r, newWatch())
	quiet(t, r, false, "before minor version 1")

	s = sample(t, 0)
	binary.NativeEndian.PutUint16(s.B[layout.HdrMinor:], 1)
	s.Add(0, 2, "DDS/IBM/Test/a", "")
	r = open(t, s.Publish(t.TempDir(), -1))
	quiet(t, r, false, "before the first scan")
	w := newWatch()
	scan(t, r, w)
	quiet(t, r, true, "after it")
	s.Delete(0)
	quiet(t, r, false, "after a change")
	scan(t, r, w)
	quiet(t, r, true, "after a scan")
	s.Add(0, 2, "DDS/IBM/Test/b", "")
	s.Add(1, 2, "DDS/IBM/Test/c", "")
	if _, err := r.Scan(w, 1); err != nil {
		t.Fatal(err)
	}
	quiet(t, r, false, "in the middle of a scan")
	scan(t, r, w)
	quiet(t, r, true, "at its end")
	s.Put32(layout.HdrUpdates, 1)
	quiet(t, r, false, "after an update")
}

// TestUpdatesTold: the first update of a fixed or a volatile context ends the quiet,
// before any value changes. A store does not end it.
func TestUpdatesTold(t *testing.T) {
	for _, which := range []string{"fixed", "volatile"} {
		t.Run(which, func(t *testing.T) {
			dir := supplyDir(t)
			all := map[string]*spmi.Context{"fixed": {Path: "DDS/v/ten", Values: new(ten)}, "volatile": {Path: "DDS/v/x", Values: new(ten)}}
			s, err := spmi.Open(spmi.Options{Dir: dir, Volatile: []*spmi.Context{{Path: "DDS/v/I", Values: (*ten)(nil)}}},
				&spmi.Context{Path: "DDS/v"}, all["fixed"])
			if err != nil || s.Err() != nil {
				t.Fatal(err, s.Err())
			}
			defer s.Close()
			if err := s.Add(all["volatile"]); err != nil {
				t.Fatal(err)
			}
			r := segment(t, dir)
			scan(t, r, newWatch())
			values := all[which].Values.(*ten)
			values.set(3)
			quiet(t, r, true, "after stores")
			all[which].Update(func() { quiet(t, r, false, "within the first update") })
			quiet(t, r, false, "after it")
		})
	}
}

// TestPeek: if the supplier was quiet afterwards, values that were read without a look
// at the slot belong to its context, although another context gets the room of a removed
// one at once.
func TestPeek(t *testing.T) {
	dir := supplyDir(t)
	stats := []writer.StatDecl{{Name: "a", Type: layout.ULong, DataType: layout.ULong, Size: 8}}
	decls := []writer.ContextDecl{{Path: "DDS/v"}, {Path: "DDS/v/I", Template: true, Stats: stats, DataLen: 8}}
	w, err := writer.Create(dir, writer.Program{Name: "busy"}, decls, nil, nil)
	if err != nil {
		t.Fatal(err)
	}
	defer w.Unmap()
	var stop atomic.Bool
	var wg sync.WaitGroup
	wg.Add(1)
	go func() {
		defer wg.Done()
		for n := uint64(0); !stop.Load(); n++ {
			slot, err := w.Add(1, writer.ContextDecl{Path: fmt.Sprintf("DDS/v/i%d", n%9+1)})
			if err != nil {
				t.Error(err)
				return
			}
			for range n % 1000 { // sometimes long enough for a reader to find the supplier quiet
				atomic.StoreUint64(&slot.Words[0], n%9+1)
			}
			w.Remove(slot)
			w.Free(slot)
		}
	}()
	defer wg.Wait()
	defer stop.Store(true)
	readertest.Churn(t, segment(t, dir))
}
