package probe

import (
	"testing"
	"time"
)

func TestStampClockSteps(t *testing.T) {
	const (
		ms   = int64(time.Millisecond)
		hour = int64(time.Hour)
		off  = int64(1_700_000_000_000_000_000)
	)
	tests := []struct {
		name   string
		step   int64 // of the wall clock, between 1000 and 1010 ms
		taken  int64 // when the stamp was taken, engine's time
		before bool  // the stamp was taken before the step
		ok     bool
	}{
		{"no step", 0, 990 * ms, true, true},
		{"back an hour, before", -hour, 990 * ms, true, true},
		{"back an hour, after", -hour, 1020 * ms, false, true},
		{"back an hour, in between", -hour, 1005 * ms, false, true},
		{"ahead an hour, before", hour, 1005 * ms, true, true},
		{"ahead an hour, after", hour, 1015 * ms, false, true},
		{"ahead 20 ms, before", 20 * ms, 1005 * ms, true, true},
		{"ahead 20 ms, after", 20 * ms, 1035 * ms, false, true},
		{"back 3 ms, both possible", -3 * ms, 1004 * ms, true, false},
		{"ahead 3 ms, both possible", 3 * ms, 1006 * ms, true, false},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			c := stampClock{base: time.Now(), off: off}
			c.observe(1000*ms, 1000*ms+off)
			c.observe(1010*ms, 1010*ms+off+tt.step)
			stamp := tt.taken + off
			if !tt.before {
				stamp += tt.step
			}
			got, ok := c.mono(stamp, 900*ms, 1100*ms)
			if ok != tt.ok || ok && got != tt.taken {
				t.Errorf("mono = %d, %v, want %d, %v", got, ok, tt.taken, tt.ok)
			}
		})
	}
}

func TestStampClockBounds(t *testing.T) {
	c := stampClock{base: time.Now(), off: 5000}
	for _, tt := range []struct {
		stamp int64
		ok    bool
	}{{5099, false}, {5100, true}, {5200, true}, {5201, false}} {
		if _, ok := c.mono(tt.stamp, 100, 200); ok != tt.ok {
			t.Errorf("mono(%d) = %v, want %v", tt.stamp, ok, tt.ok)
		}
	}
}

func TestStampClockReadUpTo(t *testing.T) {
	c := stampClock{base: time.Now()}
	c.observe(1000, 1000)
	c.observe(2_000_000, 9_000_000)
	c.readUpTo(1_999_999)
	if !c.stepped {
		t.Error("a step is forgotten while stamps from before it may come")
	}
	c.readUpTo(2_000_000)
	if c.stepped {
		t.Error("a step is remembered for ever")
	}
}

func TestStampClockFollowsTheWallClock(t *testing.T) {
	c := newStampClock()
	before := c.now()
	m, ok := c.mono(time.Now().UnixNano(), before-stepThreshold, c.now()+stepThreshold)
	if !ok {
		t.Errorf("a stamp of the wall clock becomes %d, outside of when it was taken", m)
	}
	if c.stepped {
		t.Error("a step is seen where there was none")
	}
}
