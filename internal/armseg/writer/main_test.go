//go:build linux

package writer

import (
	"os"
	"path/filepath"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/pcp-rtime/rtime/internal/armseg/layout"
	"github.com/pcp-rtime/rtime/internal/armseg/reader"
)

// attachTo returns a writer that counts in dir until the test ends.
func attachTo(t testing.TB, dir string) *Writer {
	t.Helper()
	w, err := Attach(dir)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		w.file.close()
		w.names.f.close()
	})
	return w
}

// active returns a transaction that counts.
func active(t testing.TB, w *Writer, app, name string, metrics ...*Metric) *Tran {
	t.Helper()
	id, err := w.OpenApp(app, app, "")
	if err != nil {
		t.Fatal(err)
	}
	tran, err := w.Tran(id, name, name, "", Declare(metrics))
	if err != nil || !tran.Activate() {
		t.Fatal(err)
	}
	return tran
}

// procReader returns a reader of what a writer of this process has written. It stays open
// until the test ends, because closing it drops the writer's lock.
func procReader(t testing.TB, w *Writer) *reader.Proc {
	t.Helper()
	r, err := reader.OpenProc(w.file.path, uint32(os.Geteuid()), reader.Limits{Bytes: 1 << 30, Cells: 1 << 20})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { r.Close() })
	return r
}

func namesReader(t testing.TB, dir string) *reader.Names {
	t.Helper()
	paths, err := filepath.Glob(filepath.Join(dir, "*"+layout.NamesSuffix))
	if err != nil || len(paths) != 1 {
		t.Fatal(paths, err)
	}
	r, err := reader.OpenNames(paths[0], uint32(os.Geteuid()))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { r.Close() })
	return r
}

// tmpfs mounts a file system of a size in a new directory.
func tmpfs(t testing.TB, size string) string {
	t.Helper()
	dir := t.TempDir()
	if err := unix.Mount("tmpfs", dir, "tmpfs", 0, "size="+size); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { unix.Unmount(dir, unix.MNT_DETACH) })
	return dir
}

// left returns the names of the files in a directory.
func left(t testing.TB, dir string) (names []string) {
	t.Helper()
	entries, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range entries {
		names = append(names, e.Name())
	}
	return names
}
