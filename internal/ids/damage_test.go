package ids

import (
	"bytes"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"slices"
	"testing"
)

// given is what was told before a file was damaged: numbers of two spaces, and values.
type given struct {
	dir    string
	data   []byte // the file
	names  [2]map[string]int32
	values map[string]string
	safe   int // bytes of the file that were on the disk before anything that follows was told
}

// left makes the file that processes leave which are killed, the last one not.
func left(t *testing.T) *given {
	t.Helper()
	// In memory: to wait for a disk takes long.
	g := &given{dir: mount(t, "64m"), names: [2]map[string]int32{{}, {}}, values: make(map[string]string)}
	path := filepath.Join(g.dir, "f")
	for run := range 3 {
		f, err := Open(path)
		must(t, err)
		spaces := g.spaces(t, f)
		must(t, f.Sync())
		info, err := os.Stat(path)
		must(t, err)
		g.safe = int(info.Size())
		for i := range 6 {
			name := fmt.Sprintf("n%d.%d", run, i)
			for k, m := range spaces {
				g.names[k][name] = number(t, m, name)
			}
			must(t, f.Put(name, []byte("value "+name)))
			g.values[name] = "value " + name
		}
		commit(t, f)
		g.data, err = os.ReadFile(path)
		must(t, err)
		must(t, f.Close())
		must(t, os.WriteFile(path, g.data, 0o644)) // as a kill leaves it
	}
	return g
}

func (g *given) spaces(t *testing.T, f *File) [2]*Map {
	t.Helper()
	return [2]*Map{space(t, f, "n", math.MaxInt32), space(t, f, "small", 1<<19-1)}
}

// check opens a damaged file. Each name that is still known has its number; no number that
// was given to a name is given to another; values that are there are right.
func (g *given) check(t *testing.T, data []byte, what string) (lost int, f *File) {
	t.Helper()
	dir, err := os.MkdirTemp(g.dir, "")
	must(t, err)
	path := filepath.Join(dir, "f")
	must(t, os.WriteFile(path, data, 0o644))
	f, err = Open(path)
	must(t, err)
	defer f.Close()
	if f.Err() != nil {
		t.Fatalf("%s: %v", what, f.Err())
	}
	for k, m := range g.spaces(t, f) {
		taken := make(map[int32]string)
		for name, id := range g.names[k] {
			taken[id] = name
			switch now, ok := m.Lookup(name); {
			case !ok:
				lost++
			case now != id:
				t.Fatalf("%s: %s had number %d and has %d", what, name, id, now)
			}
		}
		for i := range 100 {
			id := number(t, m, fmt.Sprint("new", i))
			if taken[id] != "" || id >= FirstVolatile {
				t.Fatalf("%s: number %d was %q's, and is given again", what, id, taken[id])
			}
		}
	}
	for key, value := range values(t, f) {
		if g.values[key] != value {
			t.Fatalf("%s: %s is %q", what, key, value)
		}
	}
	return lost, f
}

func TestEveryByteDamaged(t *testing.T) {
	g := left(t)
	if lost, f := g.check(t, g.data, "whole"); lost != 0 || f.Damage() != nil {
		t.Fatalf("%d numbers of a good file are lost, %v", lost, f.Damage())
	}
	for i := range g.data {
		bad := bytes.Clone(g.data)
		bad[i] ^= 0x15
		lost, f := g.check(t, bad, fmt.Sprint("byte ", i))
		// A newline that is lost takes two records.
		if lost > 2 {
			t.Fatalf("byte %d: %d numbers are lost", i, lost)
		}
		if d := f.Damage(); i < len(bad)-1 && (d == nil || d.SetAside == "") {
			t.Fatalf("byte %d: damage %v", i, d)
		}
	}
}

func TestBlocksDamaged(t *testing.T) {
	g := left(t)
	for _, size := range []int{64, 512, len(g.data)} {
		for at := 0; at < len(g.data); at += size / 4 {
			bad := bytes.Clone(g.data)
			clear(bad[at:min(at+size, len(bad))])
			g.check(t, bad, fmt.Sprintf("%d zeros at %d", size, at))
			// A file that ends earlier, with a whole line, cannot be told from one that was
			// never longer: docs/administration.md says what that costs.
			if at+size < len(bad) {
				g.check(t, slices.Delete(bytes.Clone(g.data), at, at+size), fmt.Sprintf("%d bytes at %d gone", size, at))
			}
		}
	}
}

// TestEveryTruncation: a power failure takes back what was written since the last fsync.
func TestEveryTruncation(t *testing.T) {
	g := left(t)
	for size := g.safe; size < len(g.data); size++ {
		_, f := g.check(t, g.data[:size], fmt.Sprint(size, " bytes left"))
		if f.Damage() != nil {
			t.Fatalf("%d bytes left: %v", size, f.Damage())
		}
		g.check(t, append(bytes.Clone(g.data[:size]), make([]byte, 100)...), fmt.Sprint(size, " bytes left and zeros"))
	}
}

func FuzzFile(f *testing.F) {
	f.Add([]byte("r n 64 1073741824\ni n 0 a\ni n 1 b\nf 3\nv 1 k v\nd k\n"))
	f.Add([]byte("i n 2147483647 a\ni n 2147483647 b\nr n 5 4\nv 9 k v\nv  k\ni n\n\n"))
	f.Fuzz(func(t *testing.T, data []byte) {
		c := newContents()
		for line := range bytes.Lines(data) {
			record := bytes.TrimSuffix(line, []byte("\n"))
			if c.record(record) != nil {
				continue
			}
			// What is accepted is what would be written.
			switch record[0] {
			case 'v', 'd':
				key, value, err := parseValue(record)
				if again := valueRecord(nil, key, value); err != nil || record[0] == 'd' != (value == nil) || !bytes.HasSuffix(again, record[2:]) && len(again) != len(record) {
					t.Fatalf("%q is %q, %q, %v", record, key, value, err)
				}
			}
		}
		for name, s := range c.spaces {
			if checkSpace(name) != nil || s.bound > s.limit {
				t.Fatalf("%q %+v", name, s)
			}
			for id, b := range s.records.all() {
				e := entry{id, string(b)}
				if name, ok := s.name(id); checkName(e.name) != nil || idIn(s, e.name) != e.id || !ok || name != e.name {
					t.Fatalf("%+v", e)
				}
			}
		}
		c.jump(int64(len(data)), true)
	})
}
