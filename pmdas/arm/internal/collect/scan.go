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
	"github.com/pcp-rtime/rtime/internal/armseg/reader"
	"github.com/pcp-rtime/rtime/pmdas/internal/kit/segdir"
)

const (
	minList   = int64(200 * time.Millisecond) // between two listings of the directory
	maxListed = int64(10 * time.Second)       // it is listed after this long in any case
	maxList   = 1 << 20                       // entries
	retry     = int64(10 * time.Second)       // when a file that was refused is tried again
)

// entry is a file of the directory.
type entry struct {
	name  string
	kind  fileKind
	uid   uint32 // in its name
	owner uint32
	inode uint64
	size  int64
	made  time.Time // when it was changed last, by anybody
}

type fileKind int

const (
	foreign fileKind = iota
	fileNew
	fileNames
	fileAside // a file of names that is being removed
	fileProc
)

// refusal is a file that is not read.
type refusal struct {
	inode uint64
	at    int64
}

func (c *Collector) path(name string) string { return filepath.Join(c.dir, name) }

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

// list returns what is in the directory and may be a library's, oldest first as far as
// inodes tell: so that limits hit the same files at each start.
func (c *Collector) list() ([]entry, error) {
	d, err := os.Open(c.dir)
	if err != nil {
		return nil, err
	}
	defer d.Close()
	var list []entry
	owned := make(map[uint32]int)
	for seen := 0; seen < maxList; {
		names, err := d.Readdirnames(4096)
		for _, name := range names {
			f, ok := c.stat(name)
			if !ok || owned[f.owner] >= c.maxOwned() {
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

// maxOwned is how many files of one user list returns at most.
func (c *Collector) maxOwned() int { return c.conf.MaxUserFiles + maxRemoved }

// cut reports whether a list may lack files of a user.
func (c *Collector) cut(list []entry, uid uint32) bool {
	n := 0
	for i := range list {
		if list[i].owner == uid {
			n++
		}
	}
	return n >= c.maxOwned()
}

// stat says what a file is; ok is false for one that is no library's, or gone.
func (c *Collector) stat(name string) (f entry, ok bool) {
	f.name = name
	if f.kind, f.uid = parseName(name); f.kind == foreign {
		return f, false
	}
	info, err := os.Lstat(c.path(name))
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

// scan looks for files that came and went.
func (c *Collector) scan() {
	if c.watch == nil {
		var err error
		if c.watch, err = segdir.NewWatch(c.dir, segdir.Published); err != nil {
			c.fail(err)
		}
	}
	c.changed = false
	c.listed = c.mono
	list, err := c.list()
	if err != nil {
		c.fail(err)
		return
	}
	there := make(map[string]uint64, len(list))
	for i := range list {
		there[list[i].name] = list[i].inode
	}
	c.vanished(there)
	for _, kind := range []fileKind{fileNames, fileAside, fileProc} {
		for i := range list {
			if f := &list[i]; f.kind == kind {
				c.take(f)
			}
		}
	}
	c.sweep(list)
}

// take opens a file, or says why not.
func (c *Collector) take(f *entry) {
	was, known := c.refused[f.name]
	if known && was.inode == f.inode && c.mono-was.at < retry {
		return
	}
	var err error
	switch {
	case f.owner != f.uid:
		err = reader.ErrOwner
	case f.kind != fileProc:
		err = c.openNames(f)
	case c.folded[f.name] == f.inode:
		c.removeFolded(f)
	default:
		err = c.openProc(f)
	}
	if err == nil {
		delete(c.refused, f.name)
		return
	}
	if !known || was.inode != f.inode {
		c.refuse(f.name, f.owner, err)
	}
	c.refused[f.name] = refusal{f.inode, c.mono}
}

// vanished finds out which files their owners have removed.
func (c *Collector) vanished(there map[string]uint64) {
	for name, r := range c.refused {
		if there[name] != r.inode {
			delete(c.refused, name)
		}
	}
	for name, inode := range c.folded {
		if there[name] != inode {
			delete(c.folded, name)
		}
	}
	for _, u := range c.order {
		for _, p := range u.procs {
			if there[p.file] != p.inode && !p.r.Is(c.path(p.file)) { // the list may be cut short
				p.vanished = true
			}
		}
		for _, n := range u.names {
			if there[n.file] != n.inode && !n.r.Is(c.path(n.file)) {
				n.gone = true
			}
		}
	}
}
