//go:build linux

package spmi_test

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"

	"github.com/pcp-rtime/rtime/internal/ddsseg/layout"
	"github.com/pcp-rtime/rtime/spmi"
)

const taken = "another supplier has it"

// supply starts another process that supplies path. It returns what the process said.
func supply(t *testing.T, dir, path string, uid int) (*process, string) {
	t.Helper()
	return start(t, "supply", dir, path, fmt.Sprint(uid))
}

// try opens a supplier of path in this process, and says how it went as a child does.
func try(t *testing.T, dir, path string) string {
	t.Helper()
	s, err := spmi.Open(spmi.Options{Dir: dir}, context(path, stat("hits")))
	if err == nil {
		err = s.Err()
		defer s.Close()
	}
	return fmt.Sprint(err)
}

// TestClaims: of two suppliers of one path, the second is refused until the first closes or
// is killed. Only root precedes other users.
func TestClaims(t *testing.T) {
	for name, c := range map[string]struct{ first, second int }{
		"same user": {0, 0}, "root first": {0, nobody}, "root second": {nobody, 0}, "nobody": {nobody, nobody}, "others": {nobody, 1},
	} {
		t.Run(name, func(t *testing.T) {
			dir := segments(t)
			const path = "DDS/V/a"
			first, said := supply(t, dir, path, c.first)
			if said != "<nil>" {
				t.Fatalf("first: %s", said)
			}
			refused, said := supply(t, dir, path, c.second)
			if c.second == 0 && c.first != 0 {
				if said != "<nil>" {
					t.Errorf("root after another user: %s", said)
				}
				refused.stop()
			} else if !strings.Contains(said, taken) || !strings.HasSuffix(said, "(193)") {
				t.Errorf("second: %s", said)
			}
			if _, said = supply(t, dir, "DDS/V/b", c.second); said != "<nil>" {
				t.Errorf("another path: %s", said)
			}
			first.kill()
			second, said := supply(t, dir, path, c.second)
			if said != "<nil>" {
				t.Errorf("after the first was killed: %s", said)
			}
			second.stop()
			if _, said = supply(t, dir, path, c.first); said != "<nil>" {
				t.Errorf("after the second closed: %s", said)
			}
		})
	}
}

// TestOtherNameOfClaims: a process keeps its claims even if its own file of claims gets
// another name. Any user may be able to make one.
func TestOtherNameOfClaims(t *testing.T) {
	dir := segments(t)
	open(t, spmi.Options{Dir: dir}, context("DDS/V/a"))
	claims := filepath.Join(dir, layout.ClaimsDir)
	must(t, os.Link(filepath.Join(claims, fmt.Sprint(os.Geteuid())), filepath.Join(claims, fmt.Sprint(nobody))))
	open(t, spmi.Options{Dir: dir}, context("DDS/V/b")) // reads all files of claims
	if _, said := supply(t, dir, "DDS/V/a", 0); !strings.Contains(said, taken) {
		t.Errorf("another process gets the path: %s", said)
	}
}

// TestClaimsInProcess: the suppliers of one process compete like those of different
// processes, and closing one frees only its claims.
func TestClaimsInProcess(t *testing.T) {
	dir := segments(t)
	a := open(t, spmi.Options{Dir: dir}, context("DDS/V/a"))
	if got := try(t, dir, "DDS/V/a"); !strings.Contains(got, taken) {
		t.Error(got)
	}
	b := open(t, spmi.Options{Dir: dir}, context("DDS/V/b"))
	must(t, b.Close())
	if _, said := supply(t, dir, "DDS/V/a", 0); !strings.Contains(said, taken) {
		t.Errorf("closing one supplier freed another's claim: %s", said)
	}
	if _, said := supply(t, dir, "DDS/V/b", 0); said != "<nil>" {
		t.Error(said)
	}
	must(t, a.Close())
	must(t, a.Close())
	if got := try(t, dir, "DDS/V/a"); got != "<nil>" {
		t.Error(got)
	}
}

// TestForeignParent: a context may lie below another supplier's. Then it is claimed.
func TestForeignParent(t *testing.T) {
	dir := segments(t)
	if got := try(t, dir, "DDS/V/a/b"); !strings.Contains(got, "no context DDS/V/a above") {
		t.Error(got)
	}
	_, said := supply(t, dir, "DDS/V/a", nobody)
	if said != "<nil>" {
		t.Fatal(said)
	}
	if got := try(t, dir, "DDS/V/a/b"); got != "<nil>" {
		t.Error(got)
	}
	v := &bingo{}
	kinds := []*spmi.Context{{Path: "DDS/V/a/INST", Values: v}}
	s := open(t, spmi.Options{Dir: dir, Volatile: kinds})
	s2 := open(t, spmi.Options{Dir: dir, Volatile: kinds})
	c := &spmi.Context{Path: "DDS/V/a/c", Values: v}
	must(t, s.Add(c))
	if err := s2.Add(&spmi.Context{Path: "DDS/V/a/c", Values: &bingo{}}); !errors.Is(err, spmi.ErrDuplicate) {
		t.Errorf("volatile context of two suppliers: %v", err)
	}
	if _, said := supply(t, dir, "DDS/V/a/c", nobody); !strings.Contains(said, taken) {
		t.Errorf("fixed context where there is a volatile one: %s", said)
	}
	must(t, s.Remove(c))
	must(t, s2.Add(&spmi.Context{Path: "DDS/V/a/c", Values: &bingo{}}))
	must(t, s2.Close())
	if got := try(t, dir, "DDS/V/a/c"); got != "<nil>" {
		t.Errorf("after Close: %s", got)
	}
}

// TestRace: of many suppliers that want one path at once, exactly one gets it.
func TestRace(t *testing.T) {
	dir := segments(t)
	var wg sync.WaitGroup
	var mu sync.Mutex
	won := 0
	for i := range 6 {
		wg.Go(func() {
			_, said := supply(t, dir, "DDS/V/a", nobody-i%2)
			mu.Lock()
			defer mu.Unlock()
			if said == "<nil>" {
				won++
			} else if !strings.Contains(said, taken) {
				t.Error(said)
			}
		})
	}
	wg.Wait()
	if won != 1 {
		t.Errorf("%d suppliers have the path", won)
	}
}

// TestInTheWay: whatever another user leaves or locks in the claims directory, only a claim
// takes a path.
func TestInTheWay(t *testing.T) {
	path := func(i int) string { return fmt.Sprintf("DDS/V/a%d", i) }
	for i, args := range [][]string{
		{fmt.Sprint(nobody), "write", "0"}, // all bytes of the user's own file
		{fmt.Sprint(nobody), "write", "2"},
		{"0", "read", "1"}, // a byte of the victim's file
		{"0", "read", "0"},
	} {
		dir := segments(t)
		must(t, os.WriteFile(filepath.Join(dir, layout.ClaimsDir, "0"), nil, 0o644))
		_, said := start(t, append([]string{"lock", dir, path(i), fmt.Sprint(nobody)}, args...)...)
		if said != "<nil>" {
			t.Fatalf("%v: %s", args, said)
		}
		if got := try(t, dir, path(i)); got != "<nil>" {
			t.Errorf("%v: %s", args, got)
		}
	}
	dir := segments(t)
	_, said := start(t, "lock", dir, path(9), fmt.Sprint(nobody), "1234", "write", "1")
	if said != "<nil>" {
		t.Fatal(said)
	}
	if got := try(t, dir, path(9)); got != "<nil>" {
		t.Errorf("a claim in a file of somebody else's name: %s", got)
	}
	claims := filepath.Join(dir, layout.ClaimsDir)
	must(t, syscall.Mkfifo(filepath.Join(claims, "55"), 0o666))
	must(t, os.Symlink("/dev/zero", filepath.Join(claims, "56")))
	must(t, os.Mkdir(filepath.Join(claims, "57"), 0o777))
	if got := try(t, dir, path(9)); got != "<nil>" {
		t.Error(got)
	}
}

// TestSquatter: a user can supply even if another user has put something where the file of
// claims should be.
func TestSquatter(t *testing.T) {
	for what, put := range map[string]func(path string) error{
		"a link":   func(path string) error { return os.Symlink(path+"elsewhere", path) },
		"a pipe":   func(path string) error { return syscall.Mkfifo(path, 0o666) },
		"a folder": func(path string) error { return os.Mkdir(path, 0o777) },
		"a file":   func(path string) error { return os.WriteFile(path, nil, 0o600) },
	} {
		dir := segments(t)
		own := filepath.Join(dir, layout.ClaimsDir, fmt.Sprint(nobody))
		must(t, put(own))
		_, said := start(t, "supply", dir, "DDS/V/a", fmt.Sprint(nobody))
		if said != "<nil>" {
			t.Errorf("%s: %s", what, said)
		}
		_, err := os.Lstat(own)
		must(t, err)
	}
}

// TestNowhere: a program works without a place to publish in, and its declarations are
// still checked.
func TestNowhere(t *testing.T) {
	good := segments(t)
	file := filepath.Join(good, "file")
	must(t, os.WriteFile(file, nil, 0o600))
	bare := t.TempDir() // without a directory of claims
	for _, dir := range []string{"/nonexistent/of/course", file, bare, "/proc/self"} {
		n := spmi.Counter{}
		v := &bingo{}
		fixed := context("DDS/V/a", spmi.Stat{Name: "n", To: &n})
		s, err := spmi.Open(spmi.Options{Dir: dir, Volatile: []*spmi.Context{{Path: "DDS/V/a/INST", Values: v}}}, fixed)
		must(t, err)
		if !errors.Is(s.Err(), spmi.ErrNoShmPtr) {
			t.Errorf("%s: Err is %v", dir, s.Err())
		}
		c := &spmi.Context{Path: "DDS/V/a/b", Values: v}
		must(t, s.Add(c))
		n.Add(2)
		c.Update(func() { v.Problems.Add(3) })
		fixed.Update(func() { n.Inc() })
		if n.Value() != 3 || v.Problems.Value() != 3 || s.GoAway() || s.Subscribed() != 0 || s.Interval() != 0 {
			t.Errorf("%s: handles do not work", dir)
		}
		s.Touch()
		if err := s.Add(&spmi.Context{Path: "DDS/V/a/b", Values: &bingo{}}); !errors.Is(err, spmi.ErrDuplicate) {
			t.Errorf("%s: %v", dir, err)
		}
		must(t, s.Remove(c))
		must(t, s.Close())
	}
	if _, said := supply(t, t.TempDir(), "DDS/V/a", nobody); !strings.Contains(said, "permission denied") {
		t.Errorf("in a directory of another user: %s", said)
	}
	t.Setenv(layout.DirEnv, good)
	open(t, spmi.Options{}, context("DDS/V/a"))
	if len(files(t, good)) != 1 {
		t.Errorf("the environment's directory is not used")
	}
}

// TestFiles: the file's name, mode and group are what the agent needs, whatever the umask.
// A supplier that closes leaves nothing behind.
func TestFiles(t *testing.T) {
	dir := segments(t)
	must(t, os.Chown(dir, 0, nobody))
	chmod(t, dir, layout.DirMode)
	defer syscall.Umask(syscall.Umask(0o777))
	s := open(t, spmi.Options{Dir: dir}, context("DDS/V/a", stat("s")))
	names := files(t, dir)
	if len(names) != 1 || !strings.HasPrefix(filepath.Base(names[0]), fmt.Sprintf("0-%d-", os.Getpid())) {
		t.Fatalf("%v", names)
	}
	info, err := os.Stat(names[0])
	must(t, err)
	if st := info.Sys().(*syscall.Stat_t); info.Mode() != layout.FileMode || st.Gid != nobody || st.Nlink != 1 {
		t.Errorf("%v, %+v", info.Mode(), st)
	}
	info, err = os.Stat(filepath.Join(dir, layout.ClaimsDir, "0"))
	must(t, err)
	if info.Mode() != layout.ClaimMode {
		t.Errorf("claims: %v", info.Mode())
	}
	must(t, s.Close())
	n.Inc() // has no effect and does no harm
	left, err := os.ReadDir(dir)
	must(t, err)
	if len(left) != 1 || left[0].Name() != layout.ClaimsDir {
		t.Errorf("left behind: %v", left)
	}
}

// TestDescriptors: opening and closing keeps no file open. Neither does a failed Open.
func TestDescriptors(t *testing.T) {
	dir := segments(t)
	open(t, spmi.Options{Dir: dir}, context("DDS/V/a"))
	count := func() int {
		fds, err := os.ReadDir("/proc/self/fd")
		must(t, err)
		return len(fds)
	}
	before := count()
	for range 20 {
		try(t, dir, "DDS/V/a")
		try(t, dir, "DDS/V/b")
		try(t, dir, "DDS/V/a/below")
		try(t, "/proc/self", "DDS/V/b")
	}
	if after := count(); after > before {
		t.Errorf("%d descriptors, before %d", after, before)
	}
}
