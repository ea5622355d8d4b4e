package throttle

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"
)

// rig is a Log whose clock stands still unless the test moves it.
type rig struct {
	Log[int]
	now   time.Time
	lines []string
}

func newRig() *rig {
	r := &rig{now: time.Unix(1e9, 0)}
	r.Print = func(line string) { r.lines = append(r.lines, line) }
	r.Now = func() time.Time { return r.now }
	return r
}

// write writes n lines of a cause, and returns what was written.
func (r *rig) write(cause, n int) []string {
	r.lines = nil
	for i := range n {
		r.Printf(cause, "%d: line %d", cause, i)
	}
	return r.lines
}

func TestOneCause(t *testing.T) {
	r := newRig()
	if got := r.write(1, 100); len(got) != Burst || got[0] != "1: line 0" || got[Burst-1] != "1: line 19" {
		t.Errorf("%d lines at once: %q", len(got), got)
	}
	r.now = r.now.Add(Every)
	want := []string{"80 lines of this kind were left out", "1: line 0"}
	if got := r.write(1, 10); !slices.Equal(got, want) {
		t.Errorf("%q, want %q", got, want)
	}
	r.now = r.now.Add(time.Hour)
	if got := r.write(1, 100); len(got) != Burst+1 || got[0] != "9 lines of this kind were left out" {
		t.Errorf("after an hour: %q", got)
	}
}

// TestCauses: what one causes leaves the others their lines, and all together are bounded.
func TestCauses(t *testing.T) {
	r := newRig()
	r.write(1, 1000)
	if got := r.write(2, 3); len(got) != 3 {
		t.Errorf("of another cause: %q", got)
	}
	lines := 0
	for cause := range 10 * maxCauses {
		lines += len(r.write(cause, 2))
	}
	if lines != together*Burst-Burst-3 {
		t.Errorf("%d lines of many causes", lines)
	}
	if len(r.causes) > maxCauses {
		t.Errorf("%d causes are remembered", len(r.causes))
	}
	r.now = r.now.Add(time.Minute)
	if got := r.write(1e6, 1); len(got) == 0 {
		t.Error("a new cause has no line")
	}
}

// TestForget: a cause that is quiet makes room for another.
func TestForget(t *testing.T) {
	r := newRig()
	for cause := range maxCauses {
		r.now = r.now.Add(Every)
		r.write(cause, 1)
	}
	r.now = r.now.Add(Every)
	r.write(-1, 1)
	if len(r.causes) != 1 || r.causes[-1] == nil {
		t.Errorf("%d causes are remembered", len(r.causes))
	}
}

// TestClockSetBack: neither a flood nor silence.
func TestClockSetBack(t *testing.T) {
	r := newRig()
	r.write(1, 10)
	r.now = r.now.Add(-time.Hour)
	if got := r.write(1, 100); len(got) != Burst-10 {
		t.Errorf("%d lines after the clock was set back", len(got))
	}
	r.now = r.now.Add(3 * Every)
	if got := r.write(1, 100); len(got) != 1+3 {
		t.Errorf("three lines later: %q", got)
	}
}

func TestLongLine(t *testing.T) {
	r := newRig()
	r.Printf(1, "%s", strings.Repeat("x", 10000))
	if len(r.lines[0]) != maxLine+len("...") {
		t.Errorf("%d bytes", len(r.lines[0]))
	}
}

// TestOwnLimits: once a minute, for errors that come with each round.
func TestOwnLimits(t *testing.T) {
	var lines []string
	now := time.Unix(1e9, 0)
	l := Log[string]{Burst: 1, Every: time.Minute, Now: func() time.Time { return now },
		Print: func(line string) { lines = append(lines, line) }}
	for range 121 {
		l.Printf("disk full", "disk full")
		now = now.Add(time.Second)
	}
	if want := 5; len(lines) != want { // three, and two of what was left out
		t.Errorf("%d lines, want %d: %q", len(lines), want, lines)
	}
}

func ExampleLog() {
	refusals := Log[uint32]{Print: func(line string) { fmt.Println(line) }}
	refusals.Printf(65534, "refused: %s", "the file is too large")
	// Output: refused: the file is too large
}
