//go:build linux

package armseg

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

// TestNoRoomToAttach: in a file system that is full nothing is made, and nothing left.
func TestNoRoomToAttach(t *testing.T) {
	for _, size := range []string{"16k", "48k"} {
		dir := tmpfs(t, size)
		if _, err := Attach(dir); !errors.Is(err, unix.ENOSPC) {
			t.Errorf("%s: %v", size, err)
		}
		for _, name := range left(t, dir) {
			if filepath.Ext(name) != NamesSuffix {
				t.Errorf("%s: left %s", size, name)
			}
		}
	}
}

// TestNoRoomToGrow: when the file system is full what has its cell goes on, what has none
// does not start; with room, it does.
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
	// What is backed already serves some more.
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
	if err := procReader(t, w).Changed(true, 0, func(d *CellDelta) { count += d.Count }); err != nil || count != started+3 {
		t.Error(count, err)
	}
}
