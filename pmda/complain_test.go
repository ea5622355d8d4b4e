package pmda

import (
	"strings"
	"testing"
	"time"
)

func TestComplaints(t *testing.T) {
	var c complaints
	now := time.Unix(1000, 0)
	written := 0
	for range 100 {
		if ok, _ := c.take(now); ok {
			written++
		}
	}
	if written != complainBurst {
		t.Errorf("%d lines at once, want %d", written, complainBurst)
	}
	if ok, leftOut := c.take(now.Add(3 * time.Second)); !ok || leftOut != 100-complainBurst {
		t.Errorf("after a pause: %v, %d left out, want %d", ok, leftOut, 100-complainBurst)
	}
	written = 0
	for range 100 {
		if ok, leftOut := c.take(now.Add(3 * time.Second)); ok {
			written++
			if leftOut != 0 {
				t.Errorf("%d left out are told twice", leftOut)
			}
		}
	}
	if written != 2 {
		t.Errorf("%d lines after three seconds and one line, want 2", written)
	}
}

func TestComplaintsAreShort(t *testing.T) {
	for n, want := range map[int]int{complainLen: complainLen, 60000: complainLen + len("...")} {
		if got := len(clip(strings.Repeat("x", n))); got != want {
			t.Errorf("%d bytes become %d, want %d", n, got, want)
		}
	}
}
