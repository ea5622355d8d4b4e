package shm

import (
	"bytes"
	"encoding/binary"
	"os"
	"path/filepath"
	"testing"
)

// TestSmallWords compares the loads of parts of words, and of unaligned bytes, with what
// the file holds.
func TestSmallWords(t *testing.T) {
	path := filepath.Join(t.TempDir(), "f")
	data := make([]byte, 30)
	for i := range data {
		data[i] = byte(0x80 + i*3)
	}
	if err := os.WriteFile(path, data, 0o600); err != nil {
		t.Fatal(err)
	}
	m := open(t, path, Options{Max: 100})
	for off := range uint64(34) {
		v8, ok := m.Load8(off)
		if want := off < 30; ok != want || ok && v8 != data[off] {
			t.Errorf("Load8(%d): %#x %v", off, v8, ok)
		}
		v16, ok := m.Load16(off)
		if want := off < 30 && off%2 == 0; ok != want || ok && v16 != binary.NativeEndian.Uint16(data[off:]) {
			t.Errorf("Load16(%d): %#x %v", off, v16, ok)
		}
		for n := range 32 {
			b := make([]byte, n)
			ok := m.CopyWords(b, off)
			if want := int(off)+n <= 30; ok != want || ok && !bytes.Equal(b, data[off:int(off)+n]) {
				t.Errorf("CopyWords(%d bytes, %d): %x %v", n, off, b, ok)
			}
		}
	}
}
