package reader_test

import (
	"fmt"
	"os"
	"path/filepath"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/pcp-rtime/rtime/internal/ddsseg/layout"
	"github.com/pcp-rtime/rtime/internal/ddsseg/reader"
	"github.com/pcp-rtime/rtime/spmi"
)

// ten has values that are all equal after an update.
type ten struct{ A, B, C, D, E, F, G, H, I, J spmi.Gauge }

func (v *ten) all() []*spmi.Gauge {
	return []*spmi.Gauge{&v.A, &v.B, &v.C, &v.D, &v.E, &v.F, &v.G, &v.H, &v.I, &v.J}
}

func (v *ten) set(n int64) {
	for _, g := range v.all() {
		g.Set(n)
	}
}

// supplyDir makes a directory, as the agent does.
func supplyDir(t testing.TB) string {
	t.Helper()
	dir := t.TempDir()
	if err := os.Mkdir(filepath.Join(dir, layout.ClaimsDir), 0o700); err != nil {
		t.Fatal(err)
	}
	return dir
}

// segment opens the one segment in a directory.
func segment(t testing.TB, dir string) *reader.Reader {
	t.Helper()
	list, err := filepath.Glob(filepath.Join(dir, "*"+layout.Suffix))
	if err != nil || len(list) != 1 {
		t.Fatalf("%v %v", list, err)
	}
	return open(t, list[0])
}

// TestNeverTorn: a reader beside a busy supplier sees all of an update or none, and
// counts that only grow. If a slot is given away and taken again, the reader sees only
// the values of the context that was reported to it.
func TestNeverTorn(t *testing.T) {
	dir := supplyDir(t)
	values := new(ten)
	fixed := &spmi.Context{Path: "DDS/v/ten", Values: values}
	s, err := spmi.Open(spmi.Options{Dir: dir, Volatile: []*spmi.Context{{Path: "DDS/v/I", Values: (*ten)(nil)}}}, &spmi.Context{Path: "DDS/v"}, fixed)
	if err != nil || s.Err() != nil {
		t.Fatal(err, s.Err())
	}
	defer s.Close()
	var stop atomic.Bool
	var wg sync.WaitGroup
	wg.Add(2)
	go func() {
		defer wg.Done()
		for n := int64(1); !stop.Load(); n++ {
			fixed.Update(func() { values.set(n) })
		}
	}()
	go func() {
		defer wg.Done()
		for n := int64(1); !stop.Load(); n++ {
			v := new(ten)
			c := &spmi.Context{Path: fmt.Sprintf("DDS/v/i%d", n), Values: v}
			if err := s.Add(c); err != nil {
				t.Error(err)
				return
			}
			c.Update(func() { v.set(n) })
			if err := s.Remove(c); err != nil {
				t.Error(err)
				return
			}
		}
	}()
	defer wg.Wait()
	defer stop.Store(true)

	r := segment(t, dir)
	seen, last, volatile := 0, uint64(0), 0
	for round := 0; seen < 20000 || volatile < 100; round++ {
		if round > 20000000 {
			t.Fatalf("%d values, %d of volatile contexts", seen, volatile)
		}
		if v, ok := collect(t, r, &r.Contexts()[1]); ok {
			seen++
			for _, x := range v {
				if x != v[0] {
					t.Fatalf("half an update: %v", v)
				}
			}
			if v[0] < last {
				t.Fatalf("%d after %d", v[0], last)
			}
			last = v[0]
		}
		w := newWatch()
		scan(t, r, w)
		for _, c := range w.at {
			v, ok := collect(t, r, c)
			if !ok {
				continue
			}
			volatile++
			var own uint64
			if _, err := fmt.Sscanf(c.Path, "DDS/v/i%d", &own); err != nil {
				t.Fatal(err)
			}
			for _, x := range v {
				if x != v[0] || x != 0 && x != own {
					t.Fatalf("%s: %v", c.Path, v)
				}
			}
		}
	}
}
