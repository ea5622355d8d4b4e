//go:build linux

package shm

import (
	"os"
	"path/filepath"
	"testing"
)

// TestExchange: words are exchanged where they are wholly mapped, aligned and writable,
// and nowhere else.
func TestExchange(t *testing.T) {
	path := filepath.Join(t.TempDir(), "f")
	if err := os.WriteFile(path, make([]byte, 20), 0o600); err != nil {
		t.Fatal(err)
	}
	m := open(t, path, Options{Max: 100, Write: true})
	if done, ok := m.CompareAndSwap64(8, 0, 5); !done || !ok {
		t.Error(done, ok)
	}
	if done, ok := m.CompareAndSwap64(8, 0, 6); done || !ok {
		t.Error(done, ok)
	}
	if done, ok := m.CompareAndSwap32(16, 0, 7); !done || !ok {
		t.Error(done, ok)
	}
	if done, ok := m.CompareAndSwap32(16, 0, 8); done || !ok {
		t.Error(done, ok)
	}
	if old, ok := m.Swap32(16, 9); old != 7 || !ok {
		t.Error(old, ok)
	}
	r := open(t, path, Options{Max: 100})
	if v, _ := r.Load64(8); v != 5 {
		t.Error(v)
	}
	if v, _ := r.Load32(16); v != 9 {
		t.Error(v)
	}
	for _, off := range []uint64{1, 2, 4, 12, 16, 20, 24, 1 << 63, 1<<64 - 8, 1<<64 - 1} {
		if _, ok := m.CompareAndSwap64(off, 0, 1); ok {
			t.Errorf("CompareAndSwap64(%d)", off)
		}
	}
	for _, off := range []uint64{1, 2, 18, 20, 1 << 63, 1<<64 - 4} {
		_, ok := m.CompareAndSwap32(off, 0, 1)
		_, ok2 := m.Swap32(off, 1)
		if ok || ok2 {
			t.Errorf("32 bits at %d", off)
		}
	}
	_, a := r.CompareAndSwap64(8, 5, 1)
	_, b := r.CompareAndSwap32(16, 9, 1)
	_, c := r.Swap32(16, 1)
	if a || b || c {
		t.Error("exchanged through a mapping that is for reading")
	}
}
