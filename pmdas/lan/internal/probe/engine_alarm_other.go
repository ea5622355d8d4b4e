//go:build !linux

package probe

import (
	"sync"
	"time"
)

// Alarm is a sleep that can be cut short. One goroutine sleeps; any may Wake and
// Close.
type Alarm struct {
	timer *time.Timer
	wake  chan struct{}
	done  chan struct{}
	once  sync.Once
}

// NewAlarm returns an Alarm. The caller closes it.
func NewAlarm() (*Alarm, error) {
	return &Alarm{
		timer: time.NewTimer(time.Hour),
		wake:  make(chan struct{}, 1),
		done:  make(chan struct{}),
	}, nil
}

// Sleep returns after d, or when Wake is called or was called since the last Sleep.
// It returns false after Close.
func (a *Alarm) Sleep(d time.Duration) bool {
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

// Wake ends the Sleep under way, or else the next one.
func (a *Alarm) Wake() {
	select {
	case a.wake <- struct{}{}:
	default:
	}
}

// Close ends a Sleep under way.
func (a *Alarm) Close() error {
	a.once.Do(func() { close(a.done) })
	return nil
}
