package ids

import (
	"fmt"
	"math"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
)

// TestNames: each name is found by its number and each number by its name, however many there
// are and however long they are, and they are listed in the order in which they were added.
func TestNames(t *testing.T) {
	const many = 30000
	var n names
	of := func(i int) entry {
		return entry{int32(i*7919) & math.MaxInt32, fmt.Sprint(i, " ", strings.Repeat("x", i%900))}
	}
	for i := range many {
		e := of(i)
		if _, ok := n.lookup(e.name); ok {
			t.Fatalf("%.20q is there before it was added", e.name)
		}
		if _, ok := n.name(e.id); ok {
			t.Fatalf("%d is there before it was added", e.id)
		}
		n.add(e)
	}
	before := append(records{}, n.records...)
	n.add(entry{1, "another"})
	i := 0
	for id, name := range before.all() {
		if e := of(i); id != e.id || string(name) != e.name {
			t.Fatalf("record %d is %d %.20q", i, id, name)
		}
		i++
	}
	if i != many || n.count != many+1 {
		t.Errorf("%d records, %d names", i, n.count)
	}
	for i := range many {
		e := of(i)
		if id, ok := n.lookup(e.name); !ok || id != e.id {
			t.Fatalf("%.20q has number %d, %v; want %d", e.name, id, ok, e.id)
		}
		if name, ok := n.name(e.id); !ok || name != e.name {
			t.Fatalf("number %d is that of %.20q, %v", e.id, name, ok)
		}
	}
}

// heap returns how many bytes are in use.
func heap() int {
	var m runtime.MemStats
	runtime.GC()
	runtime.GC()
	runtime.ReadMemStats(&m)
	return int(m.HeapAlloc)
}

// TestBytesOfNumber: a number that is kept for ever takes the bytes of its name and at most 24
// more, whether it is new or was read from the file.
func TestBytesOfNumber(t *testing.T) {
	const many, most = 100000, len("16 i000000") + 24
	path := filepath.Join(mount(t, "64m"), "f")
	for _, when := range []string{"new", "read from the file"} {
		before := heap()
		f, err := Open(path)
		must(t, err)
		m := space(t, f, "n", math.MaxInt32)
		for i := range many {
			number(t, m, fmt.Sprintf("16 i%06d", i))
			if i%1000 == 0 {
				commit(t, f)
			}
		}
		must(t, f.Sync())
		if held := (heap() - before) / many; held > most || m.Len() != many {
			t.Errorf("%s: %d names, %d bytes for each; want at most %d", when, m.Len(), held, most)
		}
		must(t, f.Close())
	}
}
