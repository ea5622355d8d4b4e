package probe

import (
	"testing"
	"time"
)

func newTestAlarm(t *testing.T) Alarm {
	t.Helper()
	a, err := NewAlarm()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { a.Close() })
	return a
}

func TestAlarmSleeps(t *testing.T) {
	a := newTestAlarm(t)
	for _, d := range []time.Duration{0, -time.Second, time.Nanosecond, 20 * time.Millisecond} {
		began := time.Now()
		if !a.Sleep(d) || time.Since(began) < d {
			t.Errorf("Sleep(%v) returned after %v", d, time.Since(began))
		}
	}
}

func TestAlarmWake(t *testing.T) {
	a := newTestAlarm(t)
	a.Wake()
	a.Wake()
	if !a.Sleep(time.Hour) { // returns, or the test does not end
		t.Error("Sleep after Wake says closed")
	}
	began := time.Now()
	if !a.Sleep(10*time.Millisecond) || time.Since(began) < 10*time.Millisecond {
		t.Error("one Wake ends two sleeps")
	}
	// Wakes that meet the beginning of a Sleep are not lost.
	const rounds = 20000
	back := make(chan struct{})
	go func() {
		for range rounds {
			a.Wake()
			<-back
		}
	}()
	for range rounds {
		a.Sleep(time.Hour)
		back <- struct{}{}
	}
}

func TestAlarmClose(t *testing.T) {
	a := newTestAlarm(t)
	ended := make(chan bool)
	go func() {
		for a.Sleep(time.Hour) {
		}
		close(ended)
	}()
	a.Close()
	<-ended
	a.Wake()
	if a.Sleep(time.Hour) {
		t.Error("Sleep after Close does not say so")
	}
}

// allocations returns how many allocations f makes each time. Those of all goroutines are
// counted, so the round with the fewest counts: other goroutines, such as those that clean
// up after earlier tests, do not allocate in every round.
func allocations(runs int, f func()) float64 {
	least := testing.AllocsPerRun(runs, f)
	for i := 0; i < 9 && least > 0; i++ {
		least = min(least, testing.AllocsPerRun(runs, f))
	}
	return least
}

func TestAlarmAllocatesNothing(t *testing.T) {
	a := newTestAlarm(t)
	if n := allocations(100, func() { a.Sleep(time.Microsecond) }); n != 0 {
		t.Errorf("%v allocations per Sleep, want 0", n)
	}
}
