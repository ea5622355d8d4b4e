package probe

import "time"

// stepThreshold is the least step of the wall clock that is noticed. Steps below
// it would be errors of that size in the response times of the probes then in
// flight; clock daemons slew such differences away, which both clocks share.
const stepThreshold = int64(100 * time.Microsecond)

// stampClock turns the kernel's time stamps, which are readings of the wall clock,
// into the engine's own time: nanoseconds since it was opened, on the monotonic
// clock. It notices when somebody sets the wall clock and knows for how long a
// stamp might be from before or after that. See readUpTo.
type stampClock struct {
	base time.Time // zero of the engine's time
	off  int64     // wall clock minus engine's time
	last int64     // of the last observation, engine's time

	// The last step: it came between from and to; before it the offset was old.
	stepped  bool
	old      int64
	from, to int64
}

func newStampClock() stampClock {
	c := stampClock{base: time.Now()}
	for range 8 { // until no preemption comes between the readings
		if m, r, ok := c.readTight(); ok {
			c.last, c.off = m, r-m
			return c
		}
	}
	m, r := c.read()
	c.last, c.off = m, r-m
	return c
}

// now returns the engine's time and looks after the wall clock.
func (c *stampClock) now() int64 {
	m, r := c.read()
	if d := r - m - c.off; d > stepThreshold || d < -stepThreshold {
		c.check()
		return m
	}
	c.last = m
	return m
}

// check tells a step of the wall clock from a preemption between two readings.
func (c *stampClock) check() {
	for range 8 {
		if m, r, ok := c.readTight(); ok {
			c.observe(m, r)
			return
		}
	}
}

// observe learns that at m, engine's time, the wall clock showed r.
func (c *stampClock) observe(m, r int64) {
	if d := r - m - c.off; d > stepThreshold || d < -stepThreshold {
		c.stepped, c.old, c.from, c.to = true, c.off, c.last, m
		c.off = r - m
	}
	c.last = m
}

func (c *stampClock) read() (mono, real int64) {
	t := time.Now()
	return int64(t.Sub(c.base)), t.UnixNano()
}

// readTight reads both clocks; ok says that no more than a fraction of the
// threshold passed meanwhile.
func (c *stampClock) readTight() (mono, real int64, ok bool) {
	mono, real = c.read()
	return mono, real, int64(time.Since(c.base))-mono < stepThreshold/4
}

// mono turns a stamp into engine's time, knowing that it was taken between
// earliest and latest. It fails if that cannot be, or if the wall clock was set
// and both sides of the step are possible.
func (c *stampClock) mono(stamp, earliest, latest int64) (int64, bool) {
	m := stamp - c.off
	ok := m >= earliest && m <= latest
	if !c.stepped {
		return m, ok
	}
	ok = ok && m >= c.from
	before := stamp - c.old
	if before >= earliest && before <= latest && before <= c.to {
		return before, !ok
	}
	return m, ok
}

// readUpTo tells the clock that every stamp from before t has been read.
func (c *stampClock) readUpTo(t int64) {
	if c.stepped && c.to <= t {
		c.stepped = false
	}
}

// at is a time of the engine as a time.Time.
func (c *stampClock) at(mono int64) time.Time {
	return c.base.Add(time.Duration(mono))
}
