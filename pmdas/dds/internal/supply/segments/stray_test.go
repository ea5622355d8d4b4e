package segments

import (
	"os"
	"path/filepath"
	"runtime"
	"syscall"
	"testing"
	"time"

	"github.com/pcp-rtime/rtime/internal/ddsseg/layout"
	"github.com/pcp-rtime/rtime/pmdas/internal/kit/segdir"
)

// TestUnreadable: of the files that the agent may not open, it removes only those that
// no supplier can hold yet.
func TestUnreadable(t *testing.T) {
	if os.Getuid() != 0 {
		t.Fatal("run by root: it becomes another user")
	}
	path := filepath.Join(t.TempDir(), "dds")
	const agent = 65534
	if err := (segdir.Dir{Path: path, Mode: layout.DirMode}).Make(agent, agent); err != nil {
		t.Fatal(err)
	}
	for dir := filepath.Dir(path); dir != filepath.Clean(os.TempDir()); dir = filepath.Dir(dir) {
		if err := os.Chmod(dir, 0o711); err != nil {
			t.Fatal(err)
		}
	}
	for _, name := range []string{".new-1-1-a", "1-1-a.dds"} {
		if err := os.WriteFile(filepath.Join(path, name), nil, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	d, err := Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer d.Close()
	done := make(chan struct{})
	go func() {
		defer close(done)
		runtime.LockOSThread() // never unlocked: the thread ends with the goroutine
		if err := syscall.Setfsuid(agent); err != nil {
			t.Error(err)
		}
		for name, want := range map[string]bool{".new-1-1-a": true, "1-1-a.dds": false, "none": false} {
			if gone, err := d.RemoveStray(name, time.Now().Add(time.Hour)); gone != want || err != nil {
				t.Errorf("%s: %v %v, want %v", name, gone, err, want)
			}
		}
	}()
	<-done
}
