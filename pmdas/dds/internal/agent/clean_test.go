package agent

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/pcp-rtime/rtime/internal/ddsseg/layout"
	"github.com/pcp-rtime/rtime/internal/ddsseg/reader/readertest"
	"github.com/pcp-rtime/rtime/pcp"
	"github.com/pcp-rtime/rtime/pmdas/dds/internal/account"
	"github.com/pcp-rtime/rtime/pmdas/dds/internal/supply"
)

// TestCutOff: a file that its owner cuts off has no values, not even zeros, from the
// next request on, wherever it was cut.
func TestCutOff(t *testing.T) {
	for what, left := range map[string]func(*readertest.Segment) int64{
		"before a value": func(s *readertest.Segment) int64 { return int64(s.Data[1]) },
		"last byte":      func(*readertest.Segment) int64 { return readertest.DefaultSize - 1 },
		"all":            func(*readertest.Segment) int64 { return 0 },
	} {
		t.Run(what, func(t *testing.T) {
			l := newLab(t)
			s := supl(t)
			s.Put64(s.Data[1], 22)
			s.Publish(l.dir, -1)
			l.is("dds.IBM.Test.gadgets", "=22")
			s.Truncate(left(s))
			l.is("dds.IBM.Test.gadgets", pcp.ErrValue.Error())
			for range 2 {
				l.is("rtime.dds.supplier.state", title(t)+"=damaged")
				l.is("rtime.dds.supplier.errors", title(t)+"=1")
				l.is("rtime.dds.agent.damaged", "=1")
				l.is("rtime.dds.agent.refused", "=0")
				l.ahead += time.Minute
				l.second() // looks at all files again
			}
		})
	}
}

// TestShorterThanItSays: a short file is noticed within a second even without an event.
func TestShorterThanItSays(t *testing.T) {
	l := newLab(t)
	s := supl(t)
	s.Publish(l.dir, -1)
	l.is("dds.IBM.Test.gadgets", "=0")
	s.Put64(layout.HdrSize, readertest.DefaultSize+1)
	l.second()
	l.is("rtime.dds.supplier.state", title(t)+"=damaged")
	l.is("dds.IBM.Test.gadgets", pcp.ErrValue.Error())
}

// TestRefusedOnce: a file that was refused is not opened again with each request. It is
// opened again when it has changed.
func TestRefusedOnce(t *testing.T) {
	l := newLab(t)
	path := filepath.Join(l.dir, "0-1-x.dds")
	must(t, os.WriteFile(path, []byte("garbage"), 0o660))
	l.is("rtime.dds.agent.refused", "=1")
	l.is("rtime.dds.agent.refused", "=1")
	if n, _ := l.looked(); n != 0 {
		t.Errorf("%d files to be looked at, again and again", n)
	}
	must(t, os.WriteFile(path, make([]byte, 4096), 0o660))
	l.is("rtime.dds.agent.refused", "=2")
	l.is("rtime.dds.agent.damaged", "=1")
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// hold locks a file as a supplier does.
func hold(t *testing.T, path string) (release func()) {
	t.Helper()
	f, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE, 0o660)
	must(t, err)
	must(t, unix.FcntlFlock(f.Fd(), unix.F_OFD_SETLK, &unix.Flock_t{Type: unix.F_WRLCK, Start: layout.AliveOffset, Len: 1}))
	t.Cleanup(func() { f.Close() })
	return func() { f.Close() }
}

// files lists a folder and the folder of claims in it.
func files(t *testing.T, dir string) []string {
	t.Helper()
	list, err := filepath.Glob(filepath.Join(dir, "*"))
	must(t, err)
	more, err := filepath.Glob(filepath.Join(dir, layout.ClaimsDir, "*"))
	must(t, err)
	for i, path := range append(list, more...) {
		rel, err := filepath.Rel(dir, path)
		must(t, err)
		list = append(list[:i], rel)
	}
	slices.Sort(list)
	return list
}

// TestStrays: files that nobody holds are removed once they are old; entries that are in
// the way of a user's claims are removed at once. Files that somebody holds stay, and so
// do suppliers.
func TestStrays(t *testing.T) {
	l := newLab(t)
	s := supl(t)
	live := filepath.Base(s.Publish(l.dir, -1))
	in := func(name string) string { return filepath.Join(l.dir, name) }
	for _, name := range []string{".new-1-2-dead", "garbage.dds", "other", "claims/0", "claims/1", "claims/00", "claims/x"} {
		must(t, os.WriteFile(in(name), []byte("x"), 0o660))
	}
	must(t, os.Chown(in("claims/x"), 77, -1))
	must(t, unix.Mkfifo(in(".new-fifo"), 0o600))
	must(t, os.Symlink("/nowhere", in("link.dds")))
	must(t, os.MkdirAll(in("claims/2/full"), 0o700))
	must(t, os.Mkdir(in("claims/3"), 0o700))
	must(t, os.Mkdir(in("folder"), 0o700))
	free := hold(t, in(".new-1-2-slow"))
	hold(t, in("held.dds"))
	age := func(d time.Duration) {
		t.Helper()
		l.ahead += d
		s.Stamp(time.Now().Add(l.ahead))
		l.second()
	}
	age(time.Minute)
	stay := []string{live, "claims", "claims/0", "folder", "held.dds"}
	alikeSet(t, shown(files(t, l.dir)), append([]string{"garbage.dds", "link.dds", "other"}, stay...))
	l.is("rtime.dds.agent.removed", "=5")
	age(10 * time.Minute)
	alikeSet(t, shown(files(t, l.dir)), stay)
	alikeSet(t, hidden(t, l.dir), []string{".new-1-2-slow"})
	l.is("rtime.dds.agent.removed", "=10")
	l.is("rtime.dds.supplier.state", title(t)+"=ready")
	free()
	age(time.Minute)
	alikeSet(t, hidden(t, l.dir), nil)
}

func shown(list []string) []string {
	return slices.DeleteFunc(list, func(s string) bool { return strings.HasPrefix(filepath.Base(s), ".") })
}

func hidden(t *testing.T, dir string) (list []string) {
	t.Helper()
	entries, err := os.ReadDir(dir)
	must(t, err)
	for _, e := range entries {
		if strings.HasPrefix(e.Name(), ".") && e.Name() != ".agent" {
			list = append(list, e.Name())
		}
	}
	return list
}

// TestManyStrays: many strays are removed little by little.
func TestManyStrays(t *testing.T) {
	l := newLab(t)
	for i := range supply.StraysAtOnce * 2 {
		must(t, os.WriteFile(filepath.Join(l.dir, "claims", fmt.Sprint("x", i)), nil, 0o600))
	}
	l.ahead = time.Minute
	for _, want := range []string{"=1000", "=2000", "=2000"} {
		l.second()
		l.is("rtime.dds.agent.removed", want)
	}
}

// TestDirectoryGone: without its directory the agent goes on and says so. It makes the
// directory again as soon as it can, and then takes suppliers there.
func TestDirectoryGone(t *testing.T) {
	l := newLab(t)
	s := supl(t)
	s.Publish(l.dir, -1)
	l.is("dds.IBM.Test.gadgets", "=0")
	l.is("rtime.dds.agent.watching", "=1")
	moved := l.dir + ".moved"
	must(t, os.Rename(l.dir, moved))
	must(t, os.WriteFile(l.dir, nil, 0o600)) // in the way
	must(t, os.RemoveAll(moved))
	for range 2 {
		l.second()
		l.is("rtime.dds.agent.watching", "=0")
	}
	must(t, os.Remove(l.dir))
	l.second()
	l.is("rtime.dds.agent.watching", "=1")
	s.Die()
	again := supl(t)
	again.Put64(again.Data[1], 5)
	again.Publish(l.dir, -1)
	l.is("dds.IBM.Test.gadgets", "=5")
	must(t, os.Remove(filepath.Join(l.dir, layout.ClaimsDir)))
	l.ahead = time.Minute
	l.second()
	if info, err := os.Stat(filepath.Join(l.dir, layout.ClaimsDir)); err != nil || info.Mode().Perm() != 0o777 || info.Mode()&os.ModeSticky == 0 {
		t.Errorf("the folder of claims: %v %v", info, err)
	}
}

// later waits until a new file would be younger than the file at path. The file system's
// clock goes in steps.
func later(t *testing.T, path string) {
	t.Helper()
	old, err := os.Stat(path)
	must(t, err)
	probe := filepath.Join(t.TempDir(), "probe")
	for end := time.Now().Add(30 * time.Second); time.Now().Before(end); time.Sleep(time.Millisecond) {
		must(t, os.WriteFile(probe, nil, 0o600))
		if now, err := os.Stat(probe); err == nil && now.ModTime().After(old.ModTime()) {
			return
		}
	}
	t.Fatal("the clock of the file system stands still")
}

// TestSameVolatile: a supplier does not claim contexts below its volatile ones, so two
// suppliers may have the same one. The first has it, and the other gets it when it is
// free. After a restart of the agent the supplier that was there first has it, whatever
// its user and the name of its file.
func TestSameVolatile(t *testing.T) {
	both := letIn("DDS/IBM/Moretest", 65534, 1)
	l := newLab(t, both)
	owner := supl(t)
	later(t, owner.Publish(l.dir, 65534))
	other := readertest.New(t, "other", 0, readertest.Context{Path: "DDS/IBM/Moretest/T", Template: true, Stats: []readertest.Stat{stat("problems", 0)}})
	other.Publish(l.dir, 1) // a name that sorts before the owner's
	other.Put64(other.Add(0, 0, "DDS/IBM/Moretest/Bingo", ""), 1)
	l.is("dds.IBM.Moretest.problems", "Bingo=1")
	owner.Put64(owner.Add(0, bingo, "DDS/IBM/Moretest/Bingo", ""), 2)
	l.is("dds.IBM.Moretest.problems", "Bingo=1")
	first, second := "SpmiSupl@"+account.NameOf(65534), "other@"+account.NameOf(1)
	l.is("rtime.dds.supplier.errors", first+"=1 "+second+"=0")
	l.is("rtime.dds.supplier.reason", first+"=DDS/IBM/Moretest/Bingo: "+errTaken.Error())
	l.is("rtime.dds.agent.waiting", "=1")
	l.end()
	l.start(both)
	l.is("dds.IBM.Moretest.problems", "Bingo=2")
	l.is("rtime.dds.supplier.errors", first+"=0 "+second+"=1")
	owner.Delete(0)
	l.Names("")
	l.second()
	l.is("dds.IBM.Moretest.problems", "Bingo=1")
	l.is("rtime.dds.agent.waiting", "=0")
}
