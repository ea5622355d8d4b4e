//go:build linux

package writer

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/user"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/pcp-rtime/rtime/internal/armseg/layout"
	"github.com/pcp-rtime/rtime/internal/armseg/reader"
)

func TestKey(t *testing.T) {
	long := strings.Repeat("x", 40)
	for name, want := range map[string]string{
		"Checking Account Query": "CheckingAccountQuery",
		"Check if any check of this account has bounced during the past 12 months": "Checkifanycheckofthisaccounthas",
		" a\tb ": "a\tb", long: long[:31], strings.Repeat(" ", 96) + long[:31]: long[:31], "/ü": "/ü",
		"": "", " ": "", strings.Repeat("x", 128): "", "a\x00": "", strings.Repeat("x", 31) + "\x00": "",
	} {
		if key, ok := layout.Key(name); key != want || ok != (want != "") {
			t.Errorf("%q: %q, %v, want %q", name, key, ok, want)
		}
	}
}

// TestNames: all processes get the same number for a name, and readers find the names of the
// numbers.
func TestNames(t *testing.T) {
	dir := t.TempDir()
	w, other := attachTo(t, dir), attachTo(t, dir)
	for i, key := range []string{"a", "b", "c"} {
		for _, w := range []*Writer{w, other} {
			if id, err := w.OpenApp(key, "the "+key, "*"); id != uint32(i+1) || err != nil {
				t.Errorf("%s: %d, %v", key, id, err)
			}
		}
	}
	want := uint32(0)
	for app := range uint32(3) {
		for i := range 300 {
			key := fmt.Sprint("t", i)
			want++
			for _, w := range []*Writer{other, w} {
				tran, err := w.Tran(app+1, key, "the "+key, "more", Declared{})
				if err != nil || tran.ID != want || tran.App != app+1 {
					t.Fatalf("%s of %d: %+v, %v", key, app, tran, err)
				}
			}
		}
	}
	apps, trans := map[uint32]reader.App{}, map[uint32]reader.Tran{}
	n := namesReader(t, dir)
	if err := n.Update(func(id uint32, a *reader.App) { apps[id] = *a }, func(id uint32, i *reader.Tran) { trans[id] = *i }); err != nil {
		t.Fatal(err)
	}
	me, err := user.Current()
	if err != nil {
		t.Fatal(err)
	}
	if len(apps) != 3 || apps[2] != (reader.App{Key: "b", Descr: "the b", User: me.Username}) {
		t.Errorf("applications: %v", apps)
	}
	if len(trans) != 900 || trans[301] != (reader.Tran{App: 2, Key: "t0", Descr: "the t0", Detail: "more"}) {
		t.Errorf("%d transactions, number 301: %v", len(trans), trans[301])
	}
	if len(n.Address) != 6 && len(n.Address) != 18 {
		t.Errorf("address %x", n.Address)
	}
}

// TestNamesAtOnce: processes that add the same names at the same time agree.
func TestNamesAtOnce(t *testing.T) {
	dir := t.TempDir()
	const writers, names = 4, 300
	var ids [writers][names]uint32
	var wg sync.WaitGroup
	for i := range ids {
		w := attachTo(t, dir)
		wg.Go(func() {
			for j := range names {
				tran, err := w.Tran(1, fmt.Sprint(j), "", "", Declared{})
				if err != nil {
					t.Error(err)
					return
				}
				ids[i][j] = tran.ID
			}
		})
	}
	wg.Wait()
	seen := map[uint32]bool{}
	for j, id := range ids[0] {
		if id == 0 || seen[id] {
			t.Fatalf("name %d has number %d", j, id)
		}
		seen[id] = true
		for i := range ids {
			if ids[i][j] != id {
				t.Errorf("name %d: %d and %d", j, id, ids[i][j])
			}
		}
	}
}

// TestUse: an application is in use until all who opened it have closed it. When it is opened
// again, its transactions become active again one by one.
func TestUse(t *testing.T) {
	dir := t.TempDir()
	w, other := attachTo(t, dir), attachTo(t, dir)
	tran, second := active(t, w, "a", "t"), active(t, w, "a", "u") // two uses
	step := func(what string, got, want bool) {
		t.Helper()
		if got != want {
			t.Errorf("%s: %v", what, got)
		}
	}
	step("active", tran.Active() && second.Active(), true)
	step("first end", w.CloseApp(tran.App), true)
	step("active with one use", tran.Active(), true)
	step("the other process's end", other.CloseApp(tran.App), true)
	step("active without a use", tran.Active() || second.Active(), false)
	if r := tran.Start(); r.c != nil {
		t.Error("started what is not active")
	}
	step("activate without a use", tran.Activate(), false)
	step("end below zero", w.CloseApp(tran.App), false)
	if _, err := other.OpenApp("a", "", ""); err != nil {
		t.Fatal(err)
	}
	step("active in a new epoch", tran.Active(), false)
	step("activate", tran.Activate(), true)
	step("active", tran.Active() && !second.Active(), true)
	var ahead []int32
	for _, w := range []*Writer{w, other} {
		procReader(t, w).Uses(layout.AppMax, func(app uint32, n int32) { ahead = append(ahead, n) })
	}
	if fmt.Sprint(ahead) != "[1]" { // w is at 2 less 1; the other opened and closed once each, and is left out
		t.Errorf("ahead: %v", ahead)
	}
}

// TestFullOfNames: the 1,025th application gets no number. The others keep theirs.
func TestFullOfNames(t *testing.T) {
	w := attachTo(t, t.TempDir())
	for i := range layout.AppMax {
		if id, err := w.OpenApp(fmt.Sprint("a", i), "", ""); err != nil || id != uint32(i+1) {
			t.Fatal(id, err)
		}
	}
	if _, err := w.OpenApp("one more", "", ""); !errors.Is(err, ErrFull) {
		t.Error(err)
	}
	if id, err := w.OpenApp("a77", "", ""); id != 78 || err != nil {
		t.Error(id, err)
	}
}

// TestRemovedMeanwhile: a file of names that has lost its name is not used, whether or not
// another is in its place. The attempt leaves nothing behind.
func TestRemovedMeanwhile(t *testing.T) {
	for _, another := range []bool{false, true} {
		dir := t.TempDir()
		n, err := openNames(dir)
		if err != nil {
			t.Fatal(err)
		}
		nonce := n.nonce
		if !n.f.named() {
			t.Error("it has its name")
		}
		if err := os.Rename(n.f.path, filepath.Join(dir, layout.AsidePath(uint32(os.Geteuid()), nonce))); err != nil {
			t.Fatal(err)
		}
		if another {
			if err := makeNames(dir, filepath.Base(n.f.path)); err != nil {
				t.Fatal(err)
			}
		}
		if n.f.named() {
			t.Error("it has its name no longer")
		}
		if _, err := publishWith(dir, n); !errors.Is(err, errRemoved) {
			t.Errorf("%v", err)
		}
		if names := left(t, dir); len(names) != map[bool]int{false: 1, true: 2}[another] {
			t.Errorf("left: %v", names)
		}
		w := attachTo(t, dir)
		if now := procReader(t, w).Nonce; now == nonce || now != w.names.nonce {
			t.Error("the old file of names is used")
		}
	}
}

// TestStrangeNames: if something else stands in the place of the file of names, the process is
// measured with a file of names of its own.
func TestStrangeNames(t *testing.T) {
	must := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	good := func(path string) { must(makeNames(filepath.Dir(path), filepath.Base(path))) }
	patch := func(path string, off int64, b ...byte) {
		good(path)
		f, err := os.OpenFile(path, os.O_RDWR, 0)
		must(err)
		defer f.Close()
		_, err = f.WriteAt(b, off)
		must(err)
	}
	for what, put := range map[string]func(path string){
		"a link":      func(path string) { good(path + "x"); must(os.Symlink(path+"x", path)) },
		"a hard link": func(path string) { good(path); must(os.Link(path, path+"x")) },
		"a fifo":      func(path string) { must(unix.Mkfifo(path, 0o660)) },
		"a directory": func(path string) { must(os.Mkdir(path, 0o700)) },
		"nothing":     func(path string) { must(os.WriteFile(path, nil, 0o660)) },
		"zeros":       func(path string) { must(os.WriteFile(path, nil, 0o660)); must(os.Truncate(path, namesSize)) },
		"short":       func(path string) { good(path); must(os.Truncate(path, namesSize-1)) },
		"magic":       func(path string) { patch(path, 0, 'X') },
		"order":       func(path string) { patch(path, layout.NamesOrder, 4, 4) },
		"major":       func(path string) { patch(path, layout.NamesMajor, 9, 9) },
		"offset":      func(path string) { patch(path, layout.NamesAppsOff, 9, 9) },
		"user":        func(path string) { patch(path, layout.NamesUID, 9, 9) },
		"another's":   func(path string) { good(path); must(os.Chown(path, 65534, 65534)) },
	} {
		dir := t.TempDir()
		put(filepath.Join(dir, strconv.Itoa(os.Geteuid())+layout.NamesSuffix))
		before := len(left(t, dir))
		w, err := Attach(dir)
		if err != nil {
			t.Errorf("%s: %v", what, err)
			continue
		}
		id, err := w.OpenApp("a", "", "")
		if err != nil || id != 1 {
			t.Errorf("%s: application %d, %v", what, id, err)
		}
		path := filepath.Join(dir, layout.AsidePath(uint32(os.Geteuid()), w.names.nonce))
		n, err := reader.OpenNames(path, uint32(os.Geteuid()))
		if err != nil {
			t.Errorf("%s: %v", what, err)
			continue
		}
		if n.Nonce != procReader(t, w).Nonce {
			t.Errorf("%s: the process's file is about other names", what)
		}
		n.Close()
		if after := left(t, dir); len(after) != before+2 { // the file of names and the process's file
			t.Errorf("%s: left %v", what, after)
		}
	}
	if _, err := Attach(filepath.Join(t.TempDir(), "not there")); !errors.Is(err, fs.ErrNotExist) {
		t.Error(err)
	}
}
