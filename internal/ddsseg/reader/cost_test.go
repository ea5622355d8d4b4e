//go:build linux

package reader_test

import (
	"errors"
	"fmt"
	"os"
	"runtime"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/pcp-rtime/rtime/internal/ddsseg/layout"
	"github.com/pcp-rtime/rtime/internal/ddsseg/reader"
	"github.com/pcp-rtime/rtime/internal/ddsseg/reader/readertest"
	"github.com/pcp-rtime/rtime/internal/shm"
)

// TestOverlappingTexts: a reader copies no more text than the file holds, however often
// its records name the same bytes.
func TestOverlappingTexts(t *testing.T) {
	const n = 900
	many := make([]readertest.Stat, n)
	for i := range many {
		many[i] = readertest.Stat{Name: fmt.Sprintf("s%d", i), Type: layout.ULong, Size: 8, Offset: uint32(8 * i)}
	}
	many[0].Help = strings.Repeat("x", reader.MaxHelp)
	s := readertest.New(t, "overlap", 1<<20, readertest.Context{Path: "DDS/IBM/Test", Stats: many})
	path := s.Publish(t.TempDir(), -1)
	if r, err := reader.Open(path, limits); err != nil {
		t.Fatal("before: ", err)
	} else {
		r.Close()
	}
	for i := range n { // each names the bytes of the first help
		from, to := s.StatOff(0), s.StatOff(i)
		copy(s.B[to+layout.StatHelpOff:to+layout.StatHelpOff+8], s.B[from+layout.StatHelpOff:])
		s.Put32(to+layout.StatHelpLen, reader.MaxHelp)
	}
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	_, err := reader.Open(path, limits)
	runtime.ReadMemStats(&after)
	if !errors.Is(err, reader.ErrFormat) || !strings.Contains(err.Error(), "texts overlap") {
		t.Errorf("error %v", err)
	}
	if grown := after.TotalAlloc - before.TotalAlloc; grown > 4<<20 {
		t.Errorf("%d bytes were allocated for a file of 1 MiB", grown)
	}
}

// TestOverlappingSlotTexts: the same for contexts in slots. Only the context that takes too
// much is refused, and one that goes makes room for another.
func TestOverlappingSlotTexts(t *testing.T) {
	s := sample(t, 0)
	r := open(t, s.Publish(t.TempDir(), -1))
	help := s.Room(reader.MaxHelp)
	whole := readertest.DefaultSize / reader.MaxHelp
	for i := range uint32(whole + 10) {
		s.Add(i, 2, fmt.Sprintf("DDS/IBM/Test/i%d", i), "", func(off uint64) {
			s.Put64(off+layout.CtxHelpOff, help)
			s.Put32(off+layout.CtxHelpLen, reader.MaxHelp)
		})
	}
	w := newWatch()
	scan(t, r, w)
	if len(w.at) >= whole || len(w.at) < whole-2 || len(w.bad)+len(w.at) != whole+10 {
		t.Fatalf("%d contexts of %d, %d refused", len(w.at), whole+10, len(w.bad))
	}
	for i := range w.at {
		s.Delete(i)
		s.Add(i, 2, fmt.Sprintf("DDS/IBM/Test/again%d", i), "", func(off uint64) {
			s.Put64(off+layout.CtxHelpOff, help)
			s.Put32(off+layout.CtxHelpLen, reader.MaxHelp)
		})
		break
	}
	had := len(w.at)
	scan(t, r, w)
	if len(w.at) != had {
		t.Errorf("%d contexts, %d before one was replaced", len(w.at), had)
	}
}

// TestHoles: a file with holes is refused, because reading them would cost the reader
// memory. A file that gets holes later is damaged.
func TestHoles(t *testing.T) {
	s := sample(t, 1<<20)
	path := s.Publish(t.TempDir(), -1)
	r := open(t, path)
	if err := r.Whole(); err != nil {
		t.Fatal(err)
	}
	s.Punch(512<<10, 256<<10)
	if err := r.Whole(); !errors.Is(err, shm.ErrHoles) {
		t.Errorf("a hole that came later: %v", err)
	}
	if _, err := reader.Open(path, limits); !errors.Is(err, shm.ErrHoles) {
		t.Errorf("a file with a hole: %v", err)
	}
	f, err := os.OpenFile(path, os.O_RDWR, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	if err := unix.Fallocate(int(f.Fd()), 0, 0, 1<<20); err != nil {
		t.Fatal(err)
	}
	if _, err := reader.Open(path, limits); err != nil {
		t.Errorf("the hole filled: %v", err)
	}
}
