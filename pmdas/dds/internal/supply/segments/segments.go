// Package segments is the agent's view of the directory of segments: it watches the
// directory, lists it, and removes files that no process holds.
package segments

import (
	"path/filepath"
	"strings"

	"golang.org/x/sys/unix"

	"github.com/pcp-rtime/rtime/internal/ddsseg/layout"
	"github.com/pcp-rtime/rtime/pmdas/internal/kit/segdir"
)

// Dir is the watched directory. Its methods must be called from one goroutine.
type Dir struct {
	path  string
	watch *segdir.Watch
	names map[string]bool

	files, claims cursor
}

// Open begins to watch.
func Open(path string) (*Dir, error) {
	w, err := segdir.NewWatch(path, segdir.Published|segdir.Changed)
	if err != nil {
		return nil, err
	}
	return &Dir{path: path, watch: w, names: make(map[string]bool)}, nil
}

// Path returns the path of a file.
func (d *Dir) Path(name string) string { return filepath.Join(d.path, name) }

// Remove removes a file.
func (d *Dir) Remove(name string) error { return unix.Unlink(d.Path(name)) }

// Close ends the watch.
func (d *Dir) Close() error {
	d.files.end()
	d.claims.end()
	return d.watch.Close()
}

// IsSegment reports whether a file's name is that of a published segment.
func IsSegment(name string) bool {
	return strings.HasSuffix(name, layout.Suffix) && !strings.HasPrefix(name, ".")
}

// Events returns the names of segments to which something has happened since the last
// call: they were published, removed, renamed, lengthened, cut off, or closed by a
// process. Stores into mapped memory are no events. Events does not wait. If much
// happens at once, several calls return it. The names are good until the next call. The
// errors are those of segdir.Watch.Names; after an error List finds what was lost.
func (d *Dir) Events() (map[string]bool, error) {
	clear(d.names)
	all, err := d.watch.Names()
	for name := range all {
		if IsSegment(name) {
			d.names[name] = true
		}
	}
	return d.names, err
}
