package probe

import (
	"sync"
	"time"
)

// Alarm is a sleep that can be cut short, for a goroutine that wakes up often and
// does little. One goroutine sleeps; any may Wake and Close.
type Alarm interface {
	// Sleep returns after d, or when Wake is called or was called since the last
	// Sleep. It may return early for no reason. It returns false after Close.
	Sleep(d time.Duration) bool
	// Wake ends the Sleep under way, or else the next one.
	Wake()
	// Close ends a Sleep under way, and all later ones at once.
	Close() error
}

// timerAlarm is an Alarm on Go's own timers: for systems without timerfd, and for
// tests on a fake clock.
type timerAlarm struct {
	timer *time.Timer
	wake  chan struct{}
	done  chan struct{}
	once  sync.Once
}

func newTimerAlarm() Alarm {
	return &timerAlarm{
		timer: time.NewTimer(time.Hour),
		wake:  make(chan struct{}, 1),
		done:  make(chan struct{}),
	}
}

func (a *timerAlarm) Sleep(d time.Duration) bool {
	a.timer.Reset(d)
	select {
	case <-a.timer.C:
	case <-a.wake:
	case <-a.done:
	}
	select {
	case <-a.done:
		return false
	default:
		return true
	}
}

func (a *timerAlarm) Wake() {
	select {
	case a.wake <- struct{}{}:
	default:
	}
}

func (a *timerAlarm) Close() error {
	a.once.Do(func() {
		a.timer.Stop()
		close(a.done)
	})
	return nil
}
