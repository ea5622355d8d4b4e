package collect

import (
	"cmp"
	"errors"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"time"

	"github.com/pcp-rtime/rtime/internal/armseg/layout"
	"github.com/pcp-rtime/rtime/pmdas/internal/kit/segdir"
)

const (
	minList   = int64(200 * time.Millisecond) // least time between two listings of the directory
	maxListed = int64(10 * time.Second)       // it is listed after this time in any case
	maxList   = 1 << 20                       // entries that are looked at
)

// directory is where programs put their files. It says which files there are, and when to
// look again. It opens none of them.
type directory struct {
	dir     string
	reports *reports
	watch   *segdir.Watch
	listed  int64 // when the directory was listed, 0 for never
	changed bool  // something has happened in it since
}

// entry is a file of the directory.
type entry struct {
	name  string
	kind  fileKind
	uid   uint32 // in its name
	owner uint32
	inode uint64
	size  int64
	made  time.Time // when anybody changed it last
}

type fileKind int

const (
	foreign   fileKind = iota // not a library's
	fileNew                   // not yet published
	fileNames                 // a user's file of names
	fileAside                 // a file of names that is being removed
	fileProc                  // a process's file
)

func (d *directory) path(name string) string { return filepath.Join(d.dir, name) }

// parseName tells what a file is by its name.
func parseName(name string) (fileKind, uint32) {
	kind, rest := fileNew, ""
	var ok bool
	if rest, ok = strings.CutPrefix(name, layout.NewPrefix); ok {
		rest, _, _ = strings.Cut(rest, "-")
	} else if rest, ok = strings.CutPrefix(name, layout.AsidePrefix); ok {
		kind = fileAside
		rest, _, _ = strings.Cut(rest, "-")
	} else if rest, ok = strings.CutSuffix(name, layout.NamesSuffix); ok {
		kind = fileNames
	} else if rest, ok = strings.CutSuffix(name, layout.ProcSuffix); ok {
		kind = fileProc
		parts := strings.Split(rest, "-")
		if len(parts) != 3 {
			return foreign, 0
		}
		rest = parts[0]
	}
	uid, err := strconv.ParseUint(rest, 10, 32)
	if !ok || err != nil || strconv.FormatUint(uid, 10) != rest {
		return foreign, 0
	}
	return kind, uint32(uid)
}

// due reports whether the next look should list the directory.
func (d *directory) due(mono int64) bool {
	return d.changed || d.watch == nil || d.listed == 0 || mono-d.listed >= maxListed
}

// happened takes in what inotify tells. It returns true if the directory should be listed now,
// before the next look.
func (d *directory) happened(mono int64) bool {
	names, err := d.watch.Names()
	switch {
	case errors.Is(err, segdir.ErrGone):
		d.close()
	case err == nil && len(names) == 0:
		return false
	}
	d.changed = true
	return mono-d.listed >= minList
}

// published is ready when something has happened.
func (d *directory) published() <-chan struct{} {
	if d.watch == nil {
		return nil
	}
	return d.watch.C()
}

func (d *directory) close() {
	if d.watch != nil {
		_ = d.watch.Close() // nothing can be done about it
		d.watch = nil
	}
}

// scan lists the directory, and watches it from now on. each is how many files of one user the
// list has at most.
func (d *directory) scan(mono int64, each int) ([]entry, error) {
	if d.watch == nil {
		var err error
		if d.watch, err = segdir.NewWatch(d.dir, segdir.Published); err != nil {
			d.reports.fail(err)
		}
	}
	d.changed, d.listed = false, mono
	return d.list(each)
}

// list returns the files that may be a library's, sorted by inode. As inodes mostly grow, limits
// then hit the same files each time that an agent starts.
func (d *directory) list(each int) ([]entry, error) {
	f, err := os.Open(d.dir)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	var list []entry
	owned := make(map[uint32]int)
	for seen := 0; seen < maxList; {
		names, err := f.Readdirnames(4096)
		for _, name := range names {
			f, ok := d.stat(name)
			if !ok || owned[f.owner] >= each {
				continue
			}
			owned[f.owner]++
			list = append(list, f)
		}
		seen += len(names)
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			return nil, err
		}
	}
	slices.SortFunc(list, func(a, b entry) int { return cmp.Compare(a.inode, b.inode) })
	return list, nil
}

// isCut reports whether a list may lack files of a user.
func isCut(list []entry, uid uint32, each int) bool {
	n := 0
	for i := range list {
		if list[i].owner == uid {
			n++
		}
	}
	return n >= each
}

// stat says what a file is. ok is false if the file is not a library's, or is gone.
func (d *directory) stat(name string) (f entry, ok bool) {
	f.name = name
	if f.kind, f.uid = parseName(name); f.kind == foreign {
		return f, false
	}
	info, err := os.Lstat(d.path(name))
	if err != nil {
		return f, false
	}
	st, ok := info.Sys().(*syscall.Stat_t)
	if ok {
		f.owner, f.inode, f.size = st.Uid, st.Ino, st.Size
		f.made = time.Unix(st.Ctim.Unix())
	}
	return f, ok
}
