package segments

import (
	"errors"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/pcp-rtime/rtime/pmdas/internal/kit/segdir"
)

func TestEvents(t *testing.T) {
	dir := t.TempDir()
	d, err := Open(dir)
	if err != nil {
		t.Fatal(err)
	}
	defer d.Close()
	expect := func(want ...string) {
		t.Helper()
		seen, err := d.Events()
		if err != nil {
			t.Fatal(err)
		}
		var got []string
		for name := range seen {
			got = append(got, name)
		}
		slices.Sort(got)
		if !slices.Equal(got, want) {
			t.Errorf("%v, want %v", got, want)
		}
	}
	in := func(name string) string { return filepath.Join(dir, name) }
	must := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	expect()
	must(os.WriteFile(in(".new-1"), nil, 0o600))
	must(os.WriteFile(in("other"), nil, 0o600))
	expect()
	must(os.Rename(in(".new-1"), in("1-2-3.dds")))
	expect("1-2-3.dds")
	must(os.Rename(in("1-2-3.dds"), in("2.dds")))
	expect("1-2-3.dds", "2.dds")
	must(os.WriteFile(in("2.dds"), nil, 0o600))
	expect("2.dds")
	list, others, last, err := d.List(9)
	if err != nil || !last || !slices.Equal(list, []string{"2.dds"}) || !slices.Equal(others, []string{"other"}) {
		t.Errorf("%v %v %v %v", list, others, last, err)
	}
	must(os.Truncate(in("2.dds"), 5))
	expect("2.dds")
	must(d.Remove("2.dds"))
	expect("2.dds")
	must(os.RemoveAll(dir))
	if _, err := d.Events(); !errors.Is(err, segdir.ErrGone) {
		t.Errorf("without the directory: %v", err)
	}
	if _, err := Open(dir); err == nil {
		t.Error("a directory that is not there was opened")
	}
}
