package agent

import (
	"fmt"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/pcp-rtime/rtime/internal/ddsseg/layout"
	"github.com/pcp-rtime/rtime/internal/ddsseg/writer"
	"github.com/pcp-rtime/rtime/pcp"
)

// TestTextOfUpdate: characters and numbers of the same update belong together.
func TestTextOfUpdate(t *testing.T) {
	const letters = 64
	l := newLab(t)
	stats := []writer.StatDecl{{Name: "n", Type: layout.ULong, DataType: layout.ULong, ValueType: layout.Quantity, Size: 8},
		{Name: "text", Type: layout.Char, DataType: layout.Char, ValueType: layout.Quantity, Offset: 8, Size: letters}}
	w, err := writer.Create(l.dir, writer.Program{Name: "text"}, []writer.ContextDecl{{Path: "DDS/v"}, {Path: "DDS/v/many"},
		{Path: "DDS/v/many/any", Template: true, Stats: stats, DataLen: 8 + letters}}, nil, nil)
	must(t, err)
	slot, err := w.Add(2, writer.ContextDecl{Path: "DDS/v/many/one"})
	must(t, err)
	set := func(n uint64) {
		slot.Update.Begin()
		defer slot.Update.End()
		atomic.StoreUint64(&slot.Words[0], n)
		for i := range slot.Words[1:] {
			atomic.StoreUint64(&slot.Words[1+i], (n+'a')*0x0101010101010101)
		}
	}
	set(0)
	var stop atomic.Bool
	var wg sync.WaitGroup
	wg.Go(func() {
		for n := uint64(0); !stop.Load(); n++ {
			set(n % 26)
		}
	})
	t.Cleanup(func() {
		stop.Store(true)
		wg.Wait()
		w.Unmap()
	})
	var ids []pcp.PMID
	for _, m := range []string{"dds.v.many.n", "dds.v.many.text"} {
		d, err := l.Desc(m)
		must(t, err)
		ids = append(ids, d.PMID)
	}
	seen := 0
	for range 1000000 {
		if seen >= 500 {
			return
		}
		sets := l.Fetch(ids...)
		if len(sets[0].Values) != len(sets[1].Values) {
			t.Fatalf("half a context: %v", sets)
		}
		for i, v := range sets[0].Values {
			n, err := v.Value.Int64()
			must(t, err)
			if got, want := fmt.Sprint(sets[1].Values[i].Value), strings.Repeat(string(rune('a'+n)), letters); !strings.Contains(got, want) {
				t.Fatalf("%s with %d", got, n)
			}
			seen++
		}
	}
	t.Errorf("%d values", seen)
}
