package spmi_test

import (
	"errors"
	"fmt"
	"os"
	"runtime"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/pcp-rtime/rtime/spmi"
)

type bingo struct {
	Problems  spmi.Counter `descr:"Fake counter value" asn:"1"`
	Solutions spmi.Float
}

// moretest is a supplier with one fixed context, below which others come and go.
func moretest(t testing.TB, dir string) *spmi.Supplier {
	t.Helper()
	return open(t, spmi.Options{Dir: dir, Vendor: "DDS/IBM",
		Volatile: []*spmi.Context{{Path: "Moretest/INST1", Values: (*bingo)(nil)}}},
		&spmi.Context{Path: "Moretest"})
}

func must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// TestAddRemove: a context appears with its values and texts, and goes again.
func TestAddRemove(t *testing.T) {
	dir := segments(t)
	s := moretest(t, dir)
	r, w := reader(t, dir), watch{}
	w.scan(t, r)
	if len(w) != 0 {
		t.Fatalf("%d contexts before the first", len(w))
	}
	v := &bingo{}
	c := &spmi.Context{Path: "Moretest/Bingo", Descr: "Dynamically added", ASN: 5, Values: v,
		Help: "Help of one.", Labels: map[string]string{"host": "farvel"}}
	for range 3 {
		must(t, s.Add(c))
		v.Problems.Add(3)
		c.Update(func() { v.Problems.Inc(); v.Solutions.Set(2.5) })
		w.scan(t, r)
		got := w.find(t, "DDS/IBM/Moretest/Bingo")
		if got.Descr != "Dynamically added" || got.ASN != 5 || got.Help != "Help of one." || got.Labels != `{"host":"farvel"}` ||
			len(got.Stats) != 2 || got.Stats[0].Name != "problems" {
			t.Fatalf("%+v", got)
		}
		if vals := values(t, r, got); vals[0] != 4 {
			t.Fatalf("values %v", vals)
		}
		must(t, s.Remove(c))
		w.scan(t, r)
		if len(w) != 0 {
			t.Fatal("a removed context is still there")
		}
		if collect(t, r, got, make([]uint64, 2)) {
			t.Fatal("a removed context has values")
		}
	}
}

// TestAfterRemove: a handle that is used after its context was removed never changes
// the values of the context that has the slot now.
func TestAfterRemove(t *testing.T) {
	dir := segments(t)
	s := moretest(t, dir)
	var old []*bingo
	var gone []*spmi.Context
	for i := range 100 {
		v := &bingo{}
		c := &spmi.Context{Path: fmt.Sprintf("Moretest/old%d", i), Values: v}
		must(t, s.Add(c))
		old, gone = append(old, v), append(gone, c)
	}
	for _, c := range gone {
		must(t, s.Remove(c))
	}
	runtime.GC() // would give back areas that nothing refers to
	fresh := make([]bingo, 300)
	for i := range fresh {
		must(t, s.Add(&spmi.Context{Path: fmt.Sprintf("Moretest/new%d", i), Values: &fresh[i]}))
	}
	for i, v := range old {
		v.Problems.Add(1000)
		v.Solutions.Set(1000)
		gone[i].Update(func() { v.Problems.Inc() })
	}
	for i := range fresh {
		if fresh[i].Problems.Value() != 0 || fresh[i].Solutions.Value() != 0 {
			t.Fatalf("context %d was stored into through a handle of another", i)
		}
	}
	r, w := reader(t, dir), watch{}
	w.scan(t, r)
	if len(w) != 300 {
		t.Fatalf("%d contexts, want 300", len(w))
	}
	for _, c := range w {
		if v := values(t, r, c); v[0] != 0 || v[1] != 0 {
			t.Fatalf("%s: %v", c.Path, v)
		}
	}
	// An update of a removed context must not hide the values of the context that has
	// its slot now, either.
	for _, c := range gone {
		c.Update(func() {
			for slot := range uint32(100) {
				values(t, r, w[slot])
			}
		})
	}
}

// TestBounded: a hundred thousand contexts come and go. They take only the room of
// those that are there at once, and of those that the collector has not freed yet.
func TestBounded(t *testing.T) {
	dir := segments(t)
	s := moretest(t, dir)
	for i := range 100000 {
		c := &spmi.Context{Path: fmt.Sprintf("Moretest/c%d", i), Values: &bingo{},
			Help: strings.Repeat("h", i%200), Labels: map[string]string{"n": "v"}}
		must(t, s.Add(c))
		must(t, s.Remove(c))
		if i%1000 == 0 {
			runtime.GC()
		}
	}
	info, err := os.Stat(files(t, dir)[0])
	must(t, err)
	if info.Size() > 4<<20 {
		t.Errorf("the file has grown to %d bytes", info.Size())
	}
	r, w := reader(t, dir), watch{}
	w.scan(t, r)
	if len(w) != 0 {
		t.Errorf("%d contexts are left", len(w))
	}
}

// TestMany: a hundred thousand contexts exist at once, in a file no larger than they
// need.
func TestMany(t *testing.T) {
	const many = 100000
	dir := segments(t)
	s := moretest(t, dir)
	vs := make([]bingo, many)
	cs := make([]spmi.Context, many)
	for i := range cs {
		cs[i].Path, cs[i].Values = fmt.Sprintf("Moretest/c%d", i), &vs[i]
		must(t, s.Add(&cs[i]))
		vs[i].Problems.Set(uint64(i))
	}
	info, err := os.Stat(files(t, dir)[0])
	must(t, err)
	if info.Size() > many*(2*320+64)*9/8 {
		t.Errorf("the file has %d bytes", info.Size())
	}
	r, w := reader(t, dir), watch{}
	w.scan(t, r)
	if len(w) != many {
		t.Fatalf("%d contexts", len(w))
	}
	for slot, c := range w {
		if v := values(t, r, c); v[0] != uint64(slot) || c.Path != fmt.Sprintf("DDS/IBM/Moretest/c%d", slot) {
			t.Fatalf("slot %d: %s, %v", slot, c.Path, v)
		}
	}
	for i := range cs {
		must(t, s.Remove(&cs[i]))
	}
	w.scan(t, r)
	if len(w) != 0 {
		t.Errorf("%d contexts are left", len(w))
	}
}

// TestReaderMeanwhile: while contexts come and go, a reader sees each with its own
// values, or does not see it.
func TestReaderMeanwhile(t *testing.T) {
	dir := segments(t)
	s := moretest(t, dir)
	r, w := reader(t, dir), watch{}
	stop := make(chan bool)
	var wg sync.WaitGroup
	wg.Go(func() {
		for i := uint64(0); ; i++ {
			select {
			case <-stop:
				return
			default:
			}
			v := &bingo{}
			c := &spmi.Context{Path: fmt.Sprintf("Moretest/c%d", i%10), ASN: uint32(i%10) + 1, Values: v}
			if s.Add(c) != nil {
				t.Error("Add failed")
				return
			}
			v.Problems.Set(i%10 + 1)
			if i%500 == 0 {
				runtime.GC()
			}
			s.Remove(c)
		}
	})
	seen := 0
	for deadline := time.Now().Add(5 * time.Minute); seen < 2000 && time.Now().Before(deadline); {
		w.scan(t, r)
		for _, c := range w {
			out := make([]uint64, 2)
			if !collect(t, r, c, out) {
				continue
			}
			if out[0] != 0 && (uint32(out[0]) != c.ASN || c.Path != fmt.Sprintf("DDS/IBM/Moretest/c%d", out[0]-1)) {
				t.Errorf("%s, number %d, shows %d", c.Path, c.ASN, out[0])
			}
			seen++
		}
	}
	close(stop)
	wg.Wait()
	if seen < 2000 {
		t.Fatalf("only %d values seen in five minutes", seen)
	}
}

func TestVolatileErrors(t *testing.T) {
	dir := segments(t)
	s := moretest(t, dir)
	at := func(path string) *spmi.Context { return &spmi.Context{Path: path, Values: &bingo{}} }
	top := at("Moretest/top")
	must(t, s.Add(top))
	must(t, s.Add(&spmi.Context{Path: "Moretest/numbered", ASN: 9, Values: &bingo{}}))
	fixed := &spmi.Context{Path: "DDS/IBM/Fixed"}
	var n spmi.Counter
	for name, c := range map[string]struct {
		err, want error
	}{
		"live already":          {s.Add(top), spmi.ErrDuplicate},
		"same path":             {s.Add(at("Moretest/top")), spmi.ErrDuplicate},
		"same number":           {s.Add(&spmi.Context{Path: "Moretest/x", ASN: 9, Values: &bingo{}}), spmi.ErrDuplicate},
		"fixed path":            {s.Add(at("Moretest")), spmi.ErrDuplicate},
		"name of a statistic":   {s.Add(at("Moretest/top/problems")), spmi.ErrDuplicate},
		"number of a statistic": {s.Add(&spmi.Context{Path: "Moretest/top/x", ASN: 1, Values: &bingo{}}), spmi.ErrDuplicate},
		"no parent":             {s.Add(at("Moretest/none/x")), spmi.ErrInvalidCx},
		"vendor with values":    {s.Add(at("DDS/Other")), spmi.ErrBadArgument},
		"DDS itself":            {s.Add(at("DDS")), spmi.ErrBadArgument},
		"path":                  {s.Add(at("Moretest/")), spmi.ErrBadArgument},
		"kind":                  {s.Add(context("Moretest/x", spmi.Stat{Name: "n", To: &n})), spmi.ErrBadArgument},
		"no values":             {s.Add(&spmi.Context{Path: "Moretest/x"}), spmi.ErrBadArgument},
		"nil values":            {s.Add(&spmi.Context{Path: "Moretest/x", Values: (*bingo)(nil)}), spmi.ErrBadArgument},
		"remove what never was": {s.Remove(at("Moretest/x")), spmi.ErrDeleted},
		"remove fixed":          {s.Remove(fixed), spmi.ErrDeleted},
	} {
		if !errors.Is(c.err, c.want) {
			t.Errorf("%s: %v, want %v", name, c.err, c.want)
		}
	}
	below := at("Moretest/top/below")
	must(t, s.Add(below))
	if err := s.Remove(top); !errors.Is(err, spmi.ErrInstBusy) {
		t.Errorf("removing what has contexts below: %v", err)
	}
	must(t, s.Remove(below))
	must(t, s.Remove(top))
	if err := s.Remove(top); !errors.Is(err, spmi.ErrDeleted) {
		t.Errorf("removing twice: %v", err)
	}
	must(t, s.Add(top))
	must(t, s.Close())
	if err := s.Add(at("Moretest/late")); !errors.Is(err, spmi.ErrNotInit) {
		t.Errorf("Add after Close: %v", err)
	}
	if err := s.Remove(top); !errors.Is(err, spmi.ErrNotInit) {
		t.Errorf("Remove after Close: %v", err)
	}
}

// TestStatsAndValues: a kind declared by Stats also serves contexts declared by Values.
// Stats.
func TestStatsAndValues(t *testing.T) {
	var p spmi.Counter
	var f spmi.Float
	byStats := []spmi.Stat{{Name: "problems", To: &p}, {Name: "solutions", To: &f}}
	s := open(t, spmi.Options{Dir: segments(t), Volatile: []*spmi.Context{context("DDS/T/x/y", byStats...)}}, context("DDS/T/x"))
	v := &bingo{}
	must(t, s.Add(&spmi.Context{Path: "DDS/T/x/a", Values: v}))
	must(t, s.Add(context("DDS/T/x/b", byStats...)))
	v.Problems.Add(1)
	p.Add(2)
	if v.Problems.Value() != 1 || p.Value() != 2 {
		t.Error("two contexts share values")
	}
	_, err := spmi.Open(spmi.Options{Dir: segments(t), Volatile: []*spmi.Context{
		context("DDS/T/x/y", byStats...), {Path: "DDS/T/x/z", Values: &bingo{}}}}, context("DDS/T/x"))
	if !errors.Is(err, spmi.ErrDuplicate) {
		t.Errorf("the same kind twice: %v", err)
	}
}

// tmpfs makes a directory of segments of that size.
func tmpfs(t *testing.T, size string) string {
	t.Helper()
	dir := t.TempDir()
	if err := syscall.Mount("tmpfs", dir, "tmpfs", 0, "size="+size); err != nil {
		t.Fatalf("this test mounts a file system, as root: %v", err)
	}
	t.Cleanup(func() { syscall.Unmount(dir, syscall.MNT_DETACH) })
	prepare(t, dir)
	return dir
}

// TestFull: when the file system is full, existing contexts go on working, new ones
// are refused, and freed room is used.
func TestFull(t *testing.T) {
	dir := tmpfs(t, "512k")
	s := moretest(t, dir)
	var cs []*spmi.Context
	var err error
	for i := 0; err == nil && i < 100000; i++ {
		c := &spmi.Context{Path: fmt.Sprintf("Moretest/c%d", i), Values: &bingo{}}
		if err = s.Add(c); err == nil {
			c.Values.(*bingo).Problems.Inc()
			cs = append(cs, c)
		}
	}
	if !errors.Is(err, spmi.ErrNoMemory) || !errors.Is(err, syscall.ENOSPC) {
		t.Fatalf("after %d contexts: %v", len(cs), err)
	}
	if len(cs) < 100 {
		t.Fatalf("only %d contexts in 512 kB", len(cs))
	}
	for _, c := range cs {
		c.Values.(*bingo).Problems.Inc()
	}
	r, w := reader(t, dir), watch{}
	w.scan(t, r)
	if len(w) != len(cs) {
		t.Errorf("%d contexts seen, want %d", len(w), len(cs))
	}
	for _, c := range w {
		if v := values(t, r, c); v[0] != 2 {
			t.Fatalf("%s: %v", c.Path, v)
		}
	}
	must(t, s.Remove(cs[0]))
	cs[0] = nil
	again := &spmi.Context{Path: "Moretest/again", Values: &bingo{}}
	for deadline := time.Now().Add(2 * time.Minute); s.Add(again) != nil; time.Sleep(time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatal("the room of a removed context does not come back")
		}
		runtime.GC()
	}
	// Another supplier finds no room at all, and works in private memory.
	for size := 1 << 16; size > 0; size /= 2 {
		for i := 0; os.WriteFile(fmt.Sprintf("%s/filler%d.%d", dir, size, i), make([]byte, size), 0o600) == nil; i++ {
		}
	}
	var n spmi.Counter
	s2, err := spmi.Open(spmi.Options{Dir: dir}, context("DDS/T/x", spmi.Stat{Name: "n", To: &n}))
	must(t, err)
	defer s2.Close()
	n.Add(5)
	if !errors.Is(s2.Err(), syscall.ENOSPC) || n.Value() != 5 {
		t.Errorf("second supplier: %v, %d", s2.Err(), n.Value())
	}
}
