package probe

import "time"

// cycle is the circle of hosts that have an address, and whose turn it is. Each
// cycle gives every host that is in it one turn; hosts that join get the next one.
type cycle struct {
	n       int   // hosts in the circle
	cursor  *host // whose turn is next
	joiners *host // hosts that join go before this one; nil: before cursor, which moves

	running bool // left, number and began are of a cycle under way
	left    int  // turns still to be taken in it
	number  uint64
	began   time.Duration
}

// link makes h's turn the next one, after those of others that joined just before.
// A host that has had its turn in this cycle goes to the cycle's end instead.
func (c *cycle) link(h *host) {
	c.n++
	if c.cursor == nil {
		h.prev, h.next = h, h
		c.cursor, c.joiners = h, h
		return
	}
	if c.had(h) {
		h.before(c.cursor)
		return
	}
	if c.joiners == nil {
		c.joiners = c.cursor
		c.cursor = h
	}
	h.before(c.joiners)
	if c.running {
		c.left++
	}
}

// had says whether h has had its turn in the cycle under way.
func (c *cycle) had(h *host) bool { return c.running && h.cycle == c.number }

func (h *host) before(x *host) {
	h.prev, h.next = x.prev, x
	x.prev.next = h
	x.prev = h
}

func (c *cycle) unlink(h *host) {
	c.n--
	if c.running && !c.had(h) {
		c.left--
	}
	if c.n == 0 {
		c.cursor, c.joiners = nil, nil
		c.stop()
	} else {
		if c.joiners == h {
			c.joiners = h.next
		}
		if c.cursor == h {
			c.cursor = h.next
		}
		if c.joiners == c.cursor {
			c.joiners = nil
		}
		h.prev.next, h.next.prev = h.next, h.prev
	}
	h.prev, h.next = nil, nil
}

// stop ends the cycle before its time; the next turn begins a new one.
func (c *cycle) stop() { c.running, c.left = false, 0 }

// turn gives the host whose turn it is, at now. If that begins a new cycle, length
// is that of the one completed, or 0.
func (c *cycle) turn(now time.Duration) (h *host, length time.Duration) {
	if c.left == 0 {
		if c.running {
			length = now - c.began
		}
		c.number++
		c.running, c.left, c.began = true, c.n, now
	}
	h = c.cursor
	if c.joiners == h {
		c.joiners = nil
	}
	c.cursor = h.next
	if c.joiners == c.cursor {
		c.joiners = nil
	}
	c.left--
	h.cycle = c.number
	return h, length
}
