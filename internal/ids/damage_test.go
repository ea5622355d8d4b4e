package ids

import (
	"bytes"
	"fmt"
	"hash/crc32"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// small is a file as a killed process leaves it: six names, more numbers reserved.
func small() contents {
	c := contents{reserved: 64}
	for i, name := range []string{"farvel", "a b", "7 x", "end 1 reserved 5", "reserved 9", "z"} {
		c.entries = append(c.entries, entry{int32(i), name})
	}
	return c
}

// openDamaged opens damaged bytes and checks what must hold for any: nothing in them
// is believed unless all of it is, and no number that may be out is given again.
func openDamaged(t *testing.T, data []byte, good contents, what string) *Map {
	t.Helper()
	path := filepath.Join(t.TempDir(), "f")
	if err := os.WriteFile(path, data, 0o600); err != nil {
		t.Fatal(err)
	}
	m := open(t, path)
	if m.Err() != nil {
		t.Fatalf("%s: %v", what, m.Err())
	}
	d := m.Damage()
	if d == nil {
		t.Fatalf("%s: not noticed", what)
	}
	if m.Len() != 0 {
		t.Fatalf("%s: %d names believed", what, m.Len())
	}
	if kept, err := os.ReadFile(d.SetAside); err != nil || !bytes.Equal(kept, data) {
		t.Fatalf("%s: set aside as %q: %v", what, d.SetAside, err)
	}
	if id := number(t, m, "new"); int64(id) < good.reserved || id >= FirstVolatile {
		t.Fatalf("%s: next number is %d, up to %d may be out (%v)", what, id, good.reserved-1, d)
	}
	return m
}

func TestEveryByteDamaged(t *testing.T) {
	good := small()
	data := good.encode()
	for i := range data {
		for _, b := range []byte{0, '\n', ' ', '0', '9', 'x', data[i] ^ 1, data[i] ^ 0x20, data[i] ^ 0x80} {
			if b == data[i] {
				continue
			}
			bad := bytes.Clone(data)
			bad[i] = b
			if _, err := decode(bad); err == nil {
				t.Fatalf("byte %d as %q: not noticed", i, b)
			}
			if n := resume(bad, int64(FirstVolatile)); n < good.reserved || n > int64(FirstVolatile)/2 {
				t.Fatalf("byte %d as %q: numbers go on at %d", i, b, n)
			}
		}
		bad := bytes.Clone(data)
		bad[i] ^= 0x55
		_ = openDamaged(t, bad, good, fmt.Sprintf("byte %d", i)).Close()
	}
}

func TestEveryTruncation(t *testing.T) {
	good := small()
	data := good.encode()
	for i := range data {
		_ = openDamaged(t, data[:i], good, fmt.Sprintf("%d bytes left", i)).Close()
	}
	_ = openDamaged(t, append(data, '\n'), good, "a byte more").Close()
	_ = openDamaged(t, append(data, data...), good, "twice").Close()
}

// TestBlocksDamaged: zeros, as a file system may leave them, in place of each part.
func TestBlocksDamaged(t *testing.T) {
	good := contents{reserved: 6000}
	for i := range 5000 {
		good.entries = append(good.entries, entry{int32(i), fmt.Sprint("host", i)})
	}
	data := good.encode()
	for at := 0; at < len(data); at += 4096 {
		bad := bytes.Clone(data)
		clear(bad[at:min(at+4096, len(bad))])
		_ = openDamaged(t, bad, good, fmt.Sprintf("zeros at %d", at)).Close()
	}
	clear(data)
	_ = openDamaged(t, data, good, "all zeros").Close()
}

// seal gives text the check sum that it would have.
func seal(text string) []byte {
	return fmt.Appendf([]byte(text), "%08x\n", crc32.Checksum([]byte(text), castagnoli))
}

func TestRefused(t *testing.T) {
	if _, err := decode(seal("rtime-ids 1 reserved 3\n0 a\n2 b\nend 2 reserved 3 crc32c ")); err != nil {
		t.Fatalf("good file: %v", err)
	}
	for _, c := range []struct{ text, want string }{
		{"rtime-ids 2 reserved 3\n0 a\nend 1 reserved 3 crc32c ", `version "2" is not known`},
		{"other 1 reserved 3\nend 0 reserved 3 crc32c ", "not a file of numbers"},
		{"rtime-ids 1 reserved\nend 0 reserved 0 crc32c ", "first line"},
		{"rtime-ids 1 reserved -1\nend 0 reserved -1 crc32c ", "out of range"},
		{"rtime-ids 1 reserved 1073741825\nend 0 reserved 1073741825 crc32c ", "out of range"},
		{"rtime-ids 1 reserved 3\n3 a\nend 1 reserved 3 crc32c ", "not below the bound"},
		{"rtime-ids 1 reserved 3\n0 a\n0 b\nend 2 reserved 3 crc32c ", "there already"},
		{"rtime-ids 1 reserved 3\n0 a\n1 a\nend 2 reserved 3 crc32c ", "there already"},
		{"rtime-ids 1 reserved 3\n-1 a\nend 1 reserved 3 crc32c ", "no number"},
		{"rtime-ids 1 reserved 3\n0\nend 1 reserved 3 crc32c ", "empty name"},
		{"rtime-ids 1 reserved 3\n0 a\nend 2 reserved 3 crc32c ", "last line"},
		{"rtime-ids 1 reserved 3\n0 a\nend 1 reserved 4 crc32c ", "last line"},
		{"rtime-ids 1 reserved 3\n0 " + strings.Repeat("x", MaxName+1) + "\nend 1 reserved 3 crc32c ", "at most"},
	} {
		if _, err := decode(seal(c.text)); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("decode(%.60q) = %v, want %q", c.text, err, c.want)
		}
	}
}

func TestResume(t *testing.T) {
	const full = int64(FirstVolatile)
	for _, c := range []struct {
		text  string
		limit int64
		want  int64
	}{
		{"", full, minBlock + blindGap},
		{"garbage", full, minBlock + 2 + blindGap},
		{"rtime-ids 9 reserved 800000000\nend 0 reserved 800000000 crc32c x", full, 800000000},
		{"rtime-ids 1 reserved 100\n5 a\n", full, 100 + minBlock + 4},
		{"rtime-ids 1 reserved 900000000\n5 a\n", full, 6 + minBlock + 4},
		{"rtime-ids 1 reserved 1x0\n500 a\nend 1 reserved 700 crc32c", full, 700 + minBlock + 6},
		{"800 a\n99999999999999999999 b\n900000000 c\n1073741900 volatile\n", full, 801 + minBlock + 8 + blindGap},
		{"800 a\n", 1000, 1000},
		{"garbage", 1 << 10, minBlock + 2 + 1<<8},
	} {
		if got := resume([]byte(c.text), c.limit); got != c.want {
			t.Errorf("resume(%q, %d) = %d, want %d", c.text, c.limit, got, c.want)
		}
	}
}

func TestFewDamagedFilesStay(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "f")
	for i := range 7 {
		if err := os.WriteFile(path, fmt.Appendf(nil, "garbage %d", i), 0o600); err != nil {
			t.Fatal(err)
		}
		m := open(t, path)
		if want := fmt.Sprintf("%s.damaged-%d", path, i+1); m.Damage() == nil || m.Damage().SetAside != want {
			t.Errorf("Damage = %v, want set aside as %s", m.Damage(), want)
		}
		if err := m.Close(); err != nil {
			t.Fatal(err)
		}
		os.Remove(path)
	}
	if got := damagedFiles(path); len(got) != keepDamaged || got[0] != 4 || got[3] != 7 {
		t.Errorf("left over: %v", got)
	}
	if _, err := os.Stat(path + ".tmp"); err == nil {
		t.Error("a temporary file is left over")
	}
}

func FuzzLoad(f *testing.F) {
	f.Add(small().encode())
	f.Add([]byte("rtime-ids 1 reserved 100\n5 a\n"))
	f.Add(seal("rtime-ids 2 reserved 3\n0 a\nend 1 reserved 3 crc32c "))
	f.Add([]byte{})
	f.Fuzz(func(t *testing.T, data []byte) {
		for _, limit := range []int64{int64(FirstVolatile), 1024, 1} {
			if n := resume(data, limit); n < 0 || n > limit {
				t.Fatalf("resume = %d for numbers below %d", n, limit)
			}
		}
		// The check sum keeps the fuzzer out of the parser, so give it one.
		for _, d := range [][]byte{data, seal(string(data))} {
			if c, err := decode(d); err == nil && !bytes.Equal(c.encode(), d) {
				t.Fatalf("accepted %q, would write %q", d, c.encode())
			}
		}
	})
}
