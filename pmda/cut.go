package pmda

import (
	"io"
	"sync"
	"sync/atomic"
	"time"
)

// cut ends a connection whose far end does not read, when the server is to stop: the
// serving goroutine waits in a write and cannot learn that it is to stop.
type cut struct {
	serving atomic.Bool
	writes  atomic.Uint64 // odd: within a write

	mu   sync.Mutex
	conn io.Closer // nil while pmcd is not connected
}

// cutAfter is how long a write may take while the server is to stop.
const cutAfter = 100 * time.Millisecond

// set notes the present connection.
func (c *cut) set(conn io.Closer) {
	c.mu.Lock()
	c.conn = conn
	c.mu.Unlock()
}

// short closes the connection if the same write is under way twice in a row, and looks
// again until nobody serves any more.
func (c *cut) short() {
	for last := uint64(0); c.serving.Load(); time.Sleep(cutAfter) {
		now := c.writes.Load()
		if now%2 == 1 && now == last {
			c.mu.Lock()
			if c.conn != nil {
				c.conn.Close()
			}
			c.mu.Unlock()
		}
		last = now
	}
}
