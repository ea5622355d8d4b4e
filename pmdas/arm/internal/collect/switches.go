package collect

import (
	"errors"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"sync"

	"github.com/pcp-rtime/rtime/internal/armseg/layout"
	"github.com/pcp-rtime/rtime/pmdas/internal/kit/segdir"
)

// tracer tells programs which transactions to trace. What it tells stands in files of the
// agent's own, one for each file of names with a transaction that is to be traced. Programs
// read them about once a second.
type tracer struct {
	dir     string // of the segments
	reports *reports

	mu     sync.Mutex      // guards what other goroutines ask for
	wishes map[string]bool // names of rows
	wished uint64          // counts changes of wishes

	followed uint64 // the changes that the rows follow
}

// wish asks for traces of all instances of a transaction, or for none.
func (t *tracer) wish(name string, on bool) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.wishes[name] == on {
		return
	}
	t.wished++
	if on {
		t.wishes[name] = true
	} else {
		delete(t.wishes, name)
	}
}

// follow has rows and files of names say what was asked for, and then writes the files of
// which the contents have changed.
func (t *tracer) follow(r *rows, users []*account) {
	t.mu.Lock()
	same := t.followed == t.wished
	t.followed = t.wished
	wishes := maps.Clone(t.wishes)
	t.mu.Unlock()
	if !same || r.grown {
		for _, row := range r.trans {
			if row.Traced != wishes[row.Name] {
				row.Traced, row.renamed = !row.Traced, true
			}
		}
		for _, u := range users {
			for _, n := range u.names {
				for i := range n.named.trans {
					if row := n.named.trans[i].row; row != nil {
						n.trace(uint32(i+1), row.Traced)
					}
				}
			}
		}
	}
	for _, u := range users {
		for _, n := range u.names {
			if n.switched {
				err := t.write(n)
				n.switched = err != nil // then the next look tries again
				t.reports.fail(err)
			}
		}
	}
}

// trace notes whether a transaction is to be traced.
func (n *names) trace(id uint32, on bool) {
	if n.switches.Set(id, on) {
		n.switched = true
	}
}

func (t *tracer) own() string { return filepath.Join(t.dir, layout.SwitchesDir) }

func (t *tracer) path(n *names) string {
	return filepath.Join(t.dir, layout.SwitchesPath(n.u.uid, n.r.Nonce))
}

// open removes what another collector asked for: its wishes ended with it.
func (t *tracer) open() error {
	dir := t.own()
	if err := segdir.MakeOwn(dir, layout.SwitchesDirMode); err != nil {
		return err
	}
	list, err := os.ReadDir(dir)
	if err != nil {
		return err
	}
	for _, f := range list {
		if err := os.RemoveAll(filepath.Join(dir, f.Name())); err != nil {
			return err
		}
	}
	return nil
}

func (t *tracer) write(n *names) error {
	path := t.path(n)
	if n.switches == (layout.Switches{}) {
		return removeFile(path)
	}
	if err := segdir.MakeOwn(t.own(), layout.SwitchesDirMode); err != nil {
		return err
	}
	beside := path + layout.NewPrefix
	if err := os.WriteFile(beside, n.switches.Encode(n.r.Nonce), layout.SwitchesMode); err != nil {
		return err
	}
	if err := os.Chmod(beside, layout.SwitchesMode); err != nil { // whatever the umask
		return err
	}
	return os.Rename(beside, path)
}

// drop removes what stands for a file of names that is closed.
func (t *tracer) drop(n *names) {
	if n.switches != (layout.Switches{}) {
		t.reports.fail(removeFile(t.path(n)))
	}
}

func removeFile(path string) error {
	if err := os.Remove(path); !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	return nil
}
