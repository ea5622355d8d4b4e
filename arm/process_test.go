//go:build linux

package arm_test

import (
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/pcp-rtime/rtime/arm"
	"github.com/pcp-rtime/rtime/internal/armseg/layout"
	"github.com/pcp-rtime/rtime/internal/armseg/reader"
)

// TestKilled: a process that is killed at any point has counted all that it had completed,
// and at most one more for each of its goroutines.
func TestKilled(t *testing.T) {
	kills := 40
	for range kills {
		dir := segments(t)
		p := start(t, nil, "count", dir)
		if line := p.said(t); !strings.Contains(line, " ") {
			t.Fatal(line)
		}
		want := 1
		for range rand.IntN(200) {
			p.said(t)
			want++
		}
		p.cmd.Process.Kill()
		rest, err := io.ReadAll(p.out)
		if err != nil {
			t.Fatal(err)
		}
		want += strings.Count(string(rest), "\n")
		p.cmd.Wait()
		got := read(t, dir, 1)
		if got.good < uint64(want) || got.good > uint64(want)+2 || got.running > 2 {
			t.Errorf("%d were said to be done, %d are counted, %d run", want, got.good, got.running)
		}
	}
}

// TestAlive: as long as a process lives it holds the lock that says so. Its file is the
// user's, and the file's mode lets the agent in, whatever the umask.
func TestAlive(t *testing.T) {
	dir := segments(t)
	old := syscall.Umask(0o077)
	defer syscall.Umask(old)
	p := start(t, nil, "count", dir)
	p.said(t)
	paths := procFiles(t, dir)
	if len(paths) != 1 {
		t.Fatal(paths)
	}
	r, err := reader.OpenProc(paths[0], uint32(os.Geteuid()), reader.Limits{Bytes: 1 << 30, Cells: 100})
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	if int(r.PID) != p.cmd.Process.Pid || r.Start == 0 || r.PIDNS == 0 || r.Language != layout.LanguageGo || r.Name != "arm.test" {
		t.Errorf("%+v", r.ProcInfo)
	}
	for _, path := range append(paths, filepath.Join(dir, "0"+layout.NamesSuffix)) {
		if info, err := os.Stat(path); err != nil || info.Mode() != 0o640 {
			t.Errorf("%s: %v, %v", path, info, err)
		}
	}
	if locked, err := r.Alive(); !locked || err != nil {
		t.Error(locked, err)
	}
	p.cmd.Process.Kill()
	p.cmd.Wait()
	if locked, err := r.Alive(); locked || err != nil {
		t.Error(locked, err)
	}
}

// TestUsers: each user has names of its own.
func TestUsers(t *testing.T) {
	dir := segments(t)
	open(t, dir, "a")
	if said := start(t, nil, "user", dir).said(t); said != "<nil>" {
		t.Fatal(said)
	}
	names, err := filepath.Glob(filepath.Join(dir, "*"+layout.NamesSuffix))
	if err != nil || len(names) != 2 || len(procFiles(t, dir)) != 2 {
		t.Error(names, procFiles(t, dir), err)
	}
}

// TestFileSizeLimit: if a limit on the size of files is too low, the process is not
// measured in files. The kernel's signal for that does not end it.
func TestFileSizeLimit(t *testing.T) {
	dir := segments(t)
	if said := start(t, nil, "limited", dir).said(t); !strings.Contains(said, syscall.EFBIG.Error()) {
		t.Error(said)
	}
	if left, err := os.ReadDir(dir); err != nil || len(left) > 0 {
		t.Error("left behind: ", left, err)
	}
}

// TestEnvironment: the directory comes from the environment, and INVOKE_ARM=false, spelled
// exactly so, turns measurement off.
func TestEnvironment(t *testing.T) {
	dir := segments(t)
	env := func(more ...string) []string { return append(more, layout.DirEnv+"="+dir) }
	for value, want := range map[string]string{
		"INVOKE_ARM=false": arm.ErrDisabled.Error() + " false",
		"INVOKE_ARM=":      "<nil> true", "INVOKE_ARM=False": "<nil> true", "INVOKE_ARMPREV=false": "<nil> true",
	} {
		before := len(procFiles(t, dir))
		if said := start(t, env(value), "environment", "").said(t); said != want {
			t.Errorf("%s: %s, want %s", value, said, want)
		}
		if made := len(procFiles(t, dir)) > before; made != (want == "<nil> true") {
			t.Errorf("%s: file made: %v", value, made)
		}
	}
}

// TestNoRoomForNames: a transaction without room for its name gets its name when there is
// room.
func TestNoRoomForNames(t *testing.T) {
	dir := t.TempDir()
	if err := syscall.Mount("tmpfs", dir, "tmpfs", 0, "size=1m"); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { syscall.Unmount(dir, syscall.MNT_DETACH) })
	app := open(t, dir, "app")
	ballast := filepath.Join(dir, "ballast")
	if err := os.WriteFile(ballast, make([]byte, 1<<20), 0o600); !errors.Is(err, syscall.ENOSPC) {
		t.Fatal(err)
	}
	tr := app.Transaction("t")
	other := arm.NewApplication("other", arm.Dir(dir))
	t.Cleanup(func() { other.Close() })
	for i := 0; other.Err() == nil && i < 1000; i++ { // one step of allocation is enough for several names
		other.Close()
		other = arm.NewApplication(fmt.Sprint("other", i), arm.Dir(dir))
		t.Cleanup(func() { other.Close() })
	}
	if !errors.Is(tr.Err(), syscall.ENOSPC) || !errors.Is(other.Err(), syscall.ENOSPC) || tr.Start(ctx).Stop(arm.Good) {
		t.Errorf("there is room: %v, %v", tr.Err(), other.Err())
	}
	if err := os.Remove(ballast); err != nil {
		t.Fatal(err)
	}
	for deadline := time.Now().Add(30 * time.Second); tr.Err() != nil || other.Err() != nil; time.Sleep(10 * time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatal(tr.Err(), other.Err())
		}
	}
	if !tr.Start(ctx).Stop(arm.Good) || !other.Transaction("x").Start(ctx).Stop(arm.Good) {
		t.Error("not measured")
	}
}
