package pmda

import (
	"fmt"
	"time"
)

// A client can cause a line in the log with every request that is refused. So there
// are at most complainBurst of them at once and one a second in the long run; what is
// left out is counted.
const (
	complainBurst = 20
	complainEvery = time.Second
	complainLen   = 500 // bytes, of each
)

// complaints is a bucket of lines that may still be written.
type complaints struct {
	left    int
	filled  time.Time
	leftOut int
}

// take reports whether a line may be written at now, and how many were left out
// before it.
func (c *complaints) take(now time.Time) (ok bool, leftOut int) {
	if c.filled.IsZero() {
		c.left, c.filled = complainBurst, now
	}
	if n := int(now.Sub(c.filled) / complainEvery); n > 0 {
		c.left = min(c.left+n, complainBurst)
		c.filled = c.filled.Add(time.Duration(n) * complainEvery)
	}
	if c.left == 0 {
		c.leftOut++
		return false, 0
	}
	c.left--
	leftOut, c.leftOut = c.leftOut, 0
	return true, leftOut
}

// complain writes a line that a client has caused.
func (s *Server) complain(format string, args ...any) {
	ok, leftOut := s.complaints.take(time.Now())
	if !ok {
		return
	}
	if leftOut > 0 {
		s.log.Printf("%d lines of this kind were left out", leftOut)
	}
	s.log.Print(clip(fmt.Sprintf(format, args...)))
}

// clip cuts what has become long because a client has sent something long.
func clip(s string) string {
	if len(s) <= complainLen {
		return s
	}
	return s[:complainLen] + "..."
}
