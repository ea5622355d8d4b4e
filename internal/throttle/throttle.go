// Package throttle keeps those from filling a log who can cause lines in it: clients that
// are refused, users whose files are not read, a disk that is full. It is used by package
// pmda and by the agents.
//
//	refusals := throttle.Log[uint32]{Print: func(line string) { logger.Print(line) }}
//	refusals.Printf(uid, "refused: %v", err)
package throttle

import (
	"fmt"
	"sync"
	"time"
)

// What holds where a Log does not say otherwise.
const (
	Burst = 20          // lines at once
	Every = time.Second // between two lines in the long run
)

const (
	maxLine   = 500  // bytes
	maxCauses = 1024 // that are told apart
	together  = 10   // as many lines as of one cause may be written of all causes together
)

// Log writes lines, each of which has a cause, such as the number of a user. Of one cause
// there are at most Burst lines at once and one per Every in the long run, and ten times
// as many of all causes together. What is left out is counted, and told before the next
// line of that cause. Lines are cut at 500 bytes. All methods may be called by any
// goroutine. Print must be set before the first line is written.
type Log[Cause comparable] struct {
	Print func(line string)
	Burst int              // 0: the constant Burst
	Every time.Duration    // 0: the constant Every
	Now   func() time.Time // nil: time.Now

	mu     sync.Mutex
	causes map[Cause]*bucket
	rest   bucket // of causes beyond maxCauses
	all    bucket
}

// bucket holds lines that may still be written. The zero bucket is full.
type bucket struct {
	used    int // lines that are missing from a full bucket
	filled  time.Time
	leftOut int // lines since the last one that was written
}

// fill puts lines back that the time since the last call brings.
func (b *bucket) fill(now time.Time, every time.Duration) {
	if now.Before(b.filled) { // the clock was set back
		b.filled = now
	}
	n := int(now.Sub(b.filled) / every)
	if b.used -= n; b.used <= 0 {
		b.used, b.filled = 0, now
		return
	}
	b.filled = b.filled.Add(time.Duration(n) * every)
}

// Printf writes a line, or counts it as left out.
func (l *Log[Cause]) Printf(cause Cause, format string, args ...any) {
	l.mu.Lock()
	defer l.mu.Unlock()
	burst, every, now := l.limits()
	b := l.bucket(cause, now, every)
	b.fill(now, every)
	l.all.fill(now, max(every/together, 1))
	if b.used >= burst || l.all.used >= together*burst {
		b.leftOut++
		return
	}
	b.used++
	l.all.used++
	if b.leftOut > 0 {
		l.Print(fmt.Sprintf("%d lines of this kind were left out", b.leftOut))
		b.leftOut = 0
	}
	line := fmt.Sprintf(format, args...)
	if len(line) > maxLine {
		line = line[:maxLine] + "..."
	}
	l.Print(line)
}

func (l *Log[Cause]) limits() (burst int, every time.Duration, now time.Time) {
	burst, every = l.Burst, l.Every
	if burst == 0 {
		burst = Burst
	}
	if every == 0 {
		every = Every
	}
	if l.Now == nil {
		return burst, every, time.Now()
	}
	return burst, every, l.Now()
}

// bucket returns the bucket of a cause. Where there are many, those are forgotten that are
// full again and have nothing to tell of.
func (l *Log[Cause]) bucket(cause Cause, now time.Time, every time.Duration) *bucket {
	if b := l.causes[cause]; b != nil {
		return b
	}
	if len(l.causes) >= maxCauses {
		for c, b := range l.causes {
			if b.fill(now, every); b.used == 0 && b.leftOut == 0 {
				delete(l.causes, c)
			}
		}
	}
	if len(l.causes) >= maxCauses {
		return &l.rest
	}
	if l.causes == nil {
		l.causes = make(map[Cause]*bucket)
	}
	b := new(bucket)
	l.causes[cause] = b
	return b
}
