package past

import (
	"errors"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/pcp-rtime/rtime/internal/armseg/layout"
	"github.com/pcp-rtime/rtime/internal/armseg/reader"
)

// kept is an open record, with what it told when it was opened and since then.
type kept struct {
	*Record
	choices []Choice
	entries map[uint32][]*Entry
	errs    []error
	steps   []string
}

// open opens a record in a directory. there lists the files of processes that still exist.
func open(t *testing.T, dir string, apart bool, there ...File) *kept {
	t.Helper()
	k := &kept{entries: make(map[uint32][]*Entry)}
	var err error
	k.Record, err = Open(Options{
		Dir: dir, Apart: apart,
		There: func(f File) bool { return slices.Contains(there, f) },
		Fail:  func(err error) { k.errs = append(k.errs, err) },
		Step:  func(what string) { k.steps = append(k.steps, what) },
	}, func(c Choice) { k.choices = append(k.choices, c) },
		func(uid uint32, e *Entry) { k.entries[uid] = append(k.entries[uid], e) })
	if err != nil {
		t.Fatal(err)
	}
	return k
}

// entry returns the entry of a process that has counted a transaction once.
func entry(f File, ns uint64) *Entry {
	tran := NewTran("Bank", "Deposit")
	tran.Add(&reader.Totals{Count: 1, GoodNS: ns, Min: ns, Max: ns})
	tran.Last, tran.LastAt, tran.Avg = ns, int64(ns), float64(ns)
	tran.AddMetric("queue", &reader.MetricTotals{Type: layout.TypeGauge32, Count: 1, Sum: 2})
	tran.AddMetric("queue", &reader.MetricTotals{Type: layout.TypeGauge64, Count: 1, Sum: 3})
	tran.AddMetric("queue", &reader.MetricTotals{Type: layout.TypeCounter32, Count: 1, Sum: 5})
	return &Entry{File: f.File, Inode: f.Inode, Trans: []Tran{*tran},
		Pairs: []Pair{{Name: "Web/Page>Bank/Deposit", PairTotals: reader.PairTotals{Count: 1, GoodNS: ns}}}}
}

// TestRecord: what is saved and added comes back, from several records, and from the one that
// they are folded into.
func TestRecord(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "past")
	k := open(t, dir, false)
	if k.choices != nil || len(k.entries) != 0 {
		t.Errorf("%v, %v in a new record", k.choices, k.entries)
	}
	choices := []Choice{{Kind: AppName, Name: "Bank"}, {Kind: TranName, Name: "Bank/Deposit"}, {Kind: PairName, Over: true}}
	if !k.Save(choices[:1]) || !k.Save(nil) || !k.Save(choices[1:]) {
		t.Error(k.errs)
	}
	a, b := File{"7-1-a.arm", 11}, File{"7-2-b.arm", 12}
	if !k.Add(7, entry(a, 10)) || !k.Add(7, entry(b, 30)) || !k.Add(8, &Entry{File: "8-1-c.arm"}) {
		t.Error(k.errs)
	}
	for round := range 3 {
		if err := k.Close(); err != nil {
			t.Fatal(err)
		}
		k = open(t, dir, false, b)
		if !slices.Equal(k.choices, choices) || len(k.entries) != 1 || k.Damaged() != 0 || k.errs != nil {
			t.Errorf("%v, %v, %v", k.choices, k.entries, k.errs)
		}
		list := k.entries[7]
		if round == 0 {
			if len(list) != 2 || !slices.Equal(list[0].AllFiles(), []File{a}) || list[0].Trans[0].Count != 1 {
				t.Errorf("%+v", list)
			}
			continue
		}
		if len(list) != 1 || !slices.Equal(list[0].AllFiles(), []File{b}) || len(list[0].Trans) != 1 || len(list[0].Pairs) != 1 {
			t.Fatalf("%+v", list)
		}
		d, p := list[0].Trans[0], list[0].Pairs[0]
		if d.Count != 2 || d.GoodNS != 40 || d.Min != 10 || d.Max != 30 || d.Last != 30 || d.Avg != 30 || p.Count != 2 || p.GoodNS != 40 {
			t.Errorf("%+v, %+v", d, p)
		}
		if m := d.Metrics; len(m) != 2 || m[0].Count != 4 || m[0].Sum != 10 || m[1].Count != 2 || m[1].Sum != 10 {
			t.Errorf("%+v", m)
		}
	}
}

// TestOtherNames: choices that were made with users merged are forgotten when users are kept
// apart. Counts stay.
func TestOtherNames(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "past")
	k := open(t, dir, false)
	k.Save([]Choice{{Kind: AppName, Name: "Bank"}})
	k.Add(7, entry(File{"7-1-a.arm", 11}, 10))
	k.Close()
	k = open(t, dir, true)
	if len(k.choices) != 0 || len(k.entries[7]) != 1 {
		t.Errorf("%v, %v", k.choices, k.entries)
	}
	k.Save([]Choice{{Kind: AppName, Name: "joe:Bank"}})
	k.Close()
	k = open(t, dir, true)
	if len(k.choices) != 1 || k.choices[0].Name != "joe:Bank" || k.errs != nil {
		t.Errorf("%v, %v", k.choices, k.errs)
	}
}

// TestDamagedNames: of a damaged record of choices all that can be read is kept, even if the
// record can be written anew only later.
func TestDamagedNames(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "past")
	k := open(t, dir, false)
	for _, name := range []string{"One", "Two", "Three"} {
		k.Save([]Choice{{Kind: AppName, Name: name}})
	}
	k.Close()
	path := filepath.Join(dir, namesLog)
	b, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if err := errors.Join(os.WriteFile(path, append(b, "no record\n"...), 0o600), os.MkdirAll(path+newSuffix+"/in", 0o700)); err != nil {
		t.Fatal(err)
	}
	k = open(t, dir, false)
	if k.Damaged() != 1 || len(k.choices) != 3 || k.Save([]Choice{{Kind: AppName, Name: "Lost"}}) {
		t.Errorf("%d damaged, %v", k.Damaged(), k.choices)
	}
	if err := os.RemoveAll(path + newSuffix); err != nil {
		t.Fatal(err)
	}
	if !k.Save([]Choice{{Kind: AppName, Name: "Four"}}) {
		t.Error(k.errs)
	}
	k.Close()
	k = open(t, dir, false)
	var names []string
	for _, c := range k.choices {
		names = append(names, c.Name)
	}
	if !slices.Equal(names, []string{"One", "Two", "Three", "Four"}) || k.Damaged() != 0 {
		t.Errorf("%v, %d damaged", names, k.Damaged())
	}
}

// TestRemoved: if somebody removes the record, everything that was in it is written again.
func TestRemoved(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "past")
	k := open(t, dir, false)
	k.Save([]Choice{{Kind: AppName, Name: "Bank"}})
	k.Add(7, entry(File{"7-1-a.arm", 11}, 10))
	if err := os.RemoveAll(dir); err != nil {
		t.Fatal(err)
	}
	if !k.Add(8, entry(File{"8-1-a.arm", 12}, 20)) {
		t.Error(k.errs)
	}
	k.Close()
	k = open(t, dir, false)
	if len(k.choices) != 1 || len(k.entries[7]) != 1 || len(k.entries[8]) != 1 {
		t.Errorf("%v, %v, %v", k.choices, k.entries, k.errs)
	}
}

// TestLock: only one has the lock at a time. Closing the file frees it.
func TestLock(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "past")
	first, err := Lock(dir)
	if err != nil || first == nil {
		t.Fatal(first, err)
	}
	if second, err := Lock(dir); err != nil || second != nil {
		t.Errorf("a second has it: %v, %v", second, err)
	}
	first.Close()
	second, err := Lock(dir)
	if err != nil || second == nil {
		t.Errorf("%v, %v", second, err)
	}
	second.Close()
}
