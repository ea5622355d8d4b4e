package collect

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"golang.org/x/sys/unix"

	"github.com/pcp-rtime/rtime/internal/armseg/layout"
)

// lockFile is locked by the one collector that keeps the record of the past. There are two
// agents for a while if pmcd has given up one that has not ended yet. The second would lose
// what the first takes over after the second has read the record.
const lockFile = "lock"

// holdEvery is how often a collector that waits looks whether the other has ended.
const holdEvery = 100 * time.Millisecond

// hold takes the lock. It returns false if another collector has it.
func (c *Collector) hold() (bool, error) {
	dir := c.pastDir()
	if err := makeOwn(dir, layout.PastMode); err != nil {
		return false, err
	}
	fd, err := unix.Open(filepath.Join(dir, lockFile), unix.O_RDWR|unix.O_CREAT|unix.O_NOFOLLOW|unix.O_CLOEXEC, 0o600)
	if err != nil {
		return false, fmt.Errorf("%s: %w", filepath.Join(dir, lockFile), err)
	}
	l := unix.Flock_t{Type: unix.F_WRLCK, Len: 1}
	switch err := unix.FcntlFlock(uintptr(fd), unix.F_OFD_SETLK, &l); err {
	case nil:
		c.held = os.NewFile(uintptr(fd), lockFile)
		return true, nil
	case unix.EAGAIN, unix.EACCES:
		return false, unix.Close(fd)
	default:
		_ = unix.Close(fd)
		return false, fmt.Errorf("%s: %w", filepath.Join(dir, lockFile), err)
	}
}

// await waits until no other collector keeps the record, and then reads it. It returns nil if
// the context ends before.
func (c *Collector) await(ctx context.Context) error {
	c.opts.Log.Printf("%s: another agent has it: waiting until it has ended", c.pastDir())
	tick := time.NewTicker(holdEvery)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return nil
		case <-tick.C:
		}
		if ok, err := c.hold(); err != nil {
			return err
		} else if ok {
			return c.open()
		}
	}
}

// letGo gives the lock back.
func (c *Collector) letGo() {
	if c.held != nil {
		_ = c.held.Close() // nothing was written to it
		c.held = nil
	}
}
