package collect

import (
	"context"
	"time"

	"github.com/pcp-rtime/rtime/pmdas/arm/internal/past"
)

// holdEvery is how often a collector that waits looks whether the other has ended.
const holdEvery = 100 * time.Millisecond

// hold takes the lock of the record of the past. It returns false if another collector has it.
func (c *Collector) hold() (ok bool, err error) {
	c.held, err = past.Lock(c.pastDir())
	return c.held != nil, err
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
