package collect

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/pcp-rtime/rtime/internal/armseg/layout"
	"github.com/pcp-rtime/rtime/pmdas/internal/kit/segdir"
)

// What the agent tells programs stands in files of its own, one for each file of names with
// a transaction that is to be traced. Programs read them about once a second.

func (c *Collector) switchesDir() string { return filepath.Join(c.dir, layout.SwitchesDir) }

// openSwitches removes what another collector asked for: its wishes ended with it.
func (c *Collector) openSwitches() error {
	dir := c.switchesDir()
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

// saveSwitches writes the files of which the contents have changed.
func (c *Collector) saveSwitches() {
	for _, u := range c.order {
		for _, n := range u.names {
			if n.switched {
				err := c.writeSwitches(n)
				n.switched = err != nil // and again at the next look
				c.fail(err)
			}
		}
	}
}

func (c *Collector) writeSwitches(n *names) error {
	path := c.path(layout.SwitchesPath(n.u.uid, n.r.Nonce))
	if n.switches == (layout.Switches{}) {
		return removeFile(path)
	}
	if err := segdir.MakeOwn(c.switchesDir(), layout.SwitchesDirMode); err != nil {
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

// dropSwitches removes the file of a file of names that is read no longer.
func (c *Collector) dropSwitches(n *names) {
	if n.switches != (layout.Switches{}) {
		c.fail(removeFile(c.path(layout.SwitchesPath(n.u.uid, n.r.Nonce))))
	}
}

func removeFile(path string) error {
	if err := os.Remove(path); !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	return nil
}
