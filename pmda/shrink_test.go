package pmda

import (
	"fmt"
	"runtime"
	"strconv"
	"strings"
	"testing"
)

// TestInDomShrinks: when most instances are gone their memory is given back, and the others
// are found as before.
func TestInDomShrinks(t *testing.T) {
	heap := func() int {
		var m runtime.MemStats
		runtime.GC()
		runtime.GC()
		runtime.ReadMemStats(&m)
		return int(m.HeapAlloc)
	}
	const many, left = 100000, 100
	d := &InDom[int]{Serial: 1}
	if err := d.open(1, lastDigits{}); err != nil {
		t.Fatal(err)
	}
	before := heap()
	for i := range many {
		if _, err := d.Add(fmt.Sprint("n", i), i); err != nil {
			t.Fatal(err)
		}
	}
	for i := left; i < many; i++ {
		if !d.Remove(fmt.Sprint("n", i)) {
			t.Fatalf("n%d is not there", i)
		}
	}
	if held := heap() - before; held > 1000*left {
		t.Errorf("%d bytes are held for %d instances", held, left)
	}
	for i := range left {
		byName, named := d.Get(fmt.Sprint("n", i))
		byID, numbered := d.ByID(int32(i))
		if !named || !numbered || byName != i || byID != i {
			t.Errorf("n%d has %d, %v by name and %d, %v by id", i, byName, named, byID, numbered)
		}
	}
	if d.Len() != left {
		t.Errorf("%d instances", d.Len())
	}
}

// lastDigits numbers names by the digits at their end.
type lastDigits struct{}

func (lastDigits) ID(name string) (int32, error) {
	n, err := strconv.ParseInt(strings.TrimLeft(name, "n"), 10, 32)
	return int32(n), err
}
