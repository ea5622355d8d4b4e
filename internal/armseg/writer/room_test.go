//go:build linux

package writer

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/pcp-rtime/rtime/internal/armseg/layout"
	"github.com/pcp-rtime/rtime/internal/armseg/reader"
)

// TestNoRoomToAttach: in a full file system Attach makes nothing and leaves nothing
// behind.
func TestNoRoomToAttach(t *testing.T) {
	for _, size := range []string{"16k", "48k"} {
		dir := tmpfs(t, size)
		if _, err := Attach(dir); !errors.Is(err, unix.ENOSPC) {
			t.Errorf("%s: %v", size, err)
		}
		for _, name := range left(t, dir) {
			if filepath.Ext(name) != layout.NamesSuffix {
				t.Errorf("%s: left %s", size, name)
			}
		}
	}
}

// TestNoRoomToGrow: when the file system is full, transactions that have a cell go on,
// and others do not start. They start when there is room.
func TestNoRoomToGrow(t *testing.T) {
	dir := tmpfs(t, "2m")
	w := attachTo(t, dir)
	w.blocks = w.blocks[:1]
	tran := active(t, w, "a", "t")
	first := tran.Start()
	if first.c == nil {
		t.Fatal("does not start")
	}
	var others []*Tran
	for i := range 200 {
		others = append(others, active(t, w, "a", fmt.Sprint(i)))
	}
	ballast := filepath.Join(dir, "ballast")
	err := os.WriteFile(ballast, make([]byte, 2<<20), 0o600)
	if !errors.Is(err, unix.ENOSPC) {
		t.Fatal(err)
	}
	// What is allocated already is enough for some more.
	var none *Tran
	started := uint64(0)
	for _, other := range others {
		if r := other.Start(); r.c == nil {
			none = other
		} else {
			r.Stop(Good, nil)
			started++
		}
	}
	if none == nil {
		t.Fatal("there was room for everything")
	}
	if r := tran.Start(); r.c == nil || !r.Stop(Good, nil) || !first.Stop(Good, nil) {
		t.Error("what has its cell does not go on")
	}
	if err := os.Remove(ballast); err != nil {
		t.Fatal(err)
	}
	for deadline := time.Now().Add(30 * time.Second); ; time.Sleep(growRetry / 4) {
		if r := none.Start(); r.c != nil {
			r.Stop(Good, nil)
			break
		}
		if time.Now().After(deadline) {
			t.Fatal("does not start although there is room")
		}
	}
	count := uint64(0)
	if err := procReader(t, w).Changed(true, 0, func(d *reader.CellDelta) { count += d.Count }); err != nil || count != started+3 {
		t.Error(count, err)
	}
}

// TestDescriptorClosed: a program may close all descriptors and open others. The writer
// leaves those alone and goes on measuring.
func TestDescriptorClosed(t *testing.T) {
	w := attachTo(t, t.TempDir())
	tran := active(t, w, "a", "t")
	var others []*os.File
	for _, f := range []*segFile{w.file, w.names.f} {
		path := filepath.Join(t.TempDir(), "another")
		other, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE, 0o600)
		if err != nil {
			t.Fatal(err)
		}
		defer other.Close()
		others = append(others, other)
		if err := unix.Dup3(int(other.Fd()), f.fd, 0); err != nil { // closes f.fd first
			t.Fatal(err)
		}
		defer unix.Close(f.fd)
	}
	for i := range 200 {
		other := active(t, w, "a", fmt.Sprint(i))
		r := other.Start()
		if !r.Stop(Good, nil) {
			t.Fatal("not measured")
		}
	}
	if r := tran.Start(); !r.Stop(Good, nil) {
		t.Error("not measured")
	}
	for _, other := range others {
		if info, err := other.Stat(); err != nil || info.Size() != 0 {
			t.Errorf("%v, %v", info, err)
		}
	}
	if alive, err := procReader(t, w).Alive(); !alive || err != nil {
		t.Error("the lock is gone: ", err)
	}
}
