package pmda_test

import (
	"testing"

	"github.com/pcp-rtime/rtime/internal/throttle"
	"github.com/pcp-rtime/rtime/pcp"
)

// TestComplaints: a client whose requests are refused does not fill the log, and leaves
// other users' clients their lines.
func TestComplaints(t *testing.T) {
	c, j := visit(t, newZoo())
	refused := func(slot, uid int32, times int) int {
		c.Client(slot, int(uid), int(uid), 1)
		c.Slot = slot
		before := j.count(" may not store ")
		for range times {
			if err := c.Store("zoo.mood", "", pcp.Num(float32(1))); err == nil {
				t.Fatal("a store that fails is no error")
			}
		}
		return j.count(" may not store ") - before
	}
	// One more comes with each second that the test takes.
	if n := refused(1, 1001, 500); n < throttle.Burst || n > 250 {
		t.Errorf("%d lines of a client that is refused 500 times, want %d", n, throttle.Burst)
	}
	if n := refused(2, 1002, 3); n != 3 {
		t.Errorf("%d lines of another user's client, want 3", n)
	}
}
