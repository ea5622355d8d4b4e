package pmda

import "time"

// Every has the serving goroutine call f each time that d has passed, for as long as the
// server serves. It is for what an agent does apart from requests, such as looking for new
// instances. If a call takes longer than d, or has to wait for a request, the calls that
// were due meanwhile are left out. stop ends it, and may be called more than once. Any
// goroutine may call Every and stop. When the serving goroutine has called stop, f is not
// called any more. d must be above 0.
func (s *Server) Every(d time.Duration, f func()) (stop func()) {
	if d <= 0 {
		panic("pmda: Server.Every: the time between two calls is not above 0")
	}
	t := &ticker{server: s, every: d, next: time.Now().Add(d), call: f}
	s.Do(func() {
		if !t.stopped {
			s.tickers[t] = true
			t.timer = time.AfterFunc(time.Until(t.next), t.fire)
		}
	})
	return func() { s.Do(t.stop) }
}

// ticker calls a function again and again. It belongs to the serving goroutine.
type ticker struct {
	server  *Server
	every   time.Duration
	next    time.Time
	call    func()
	timer   *time.Timer
	stopped bool
}

// fire hands the call over to the serving goroutine.
func (t *ticker) fire() { t.server.Do(t.tick) }

// tick makes a call and then sets the timer, so that no two calls wait in the queue.
func (t *ticker) tick() {
	if t.stopped {
		return
	}
	defer func() { // after a panic too
		now := time.Now()
		for t.next = t.next.Add(t.every); !t.next.After(now); {
			t.next = t.next.Add(now.Sub(t.next).Truncate(t.every) + t.every)
		}
		if !t.stopped {
			t.timer.Reset(t.next.Sub(now))
		}
	}()
	t.call()
}

func (t *ticker) stop() {
	t.stopped = true
	if t.timer != nil {
		t.timer.Stop()
	}
	delete(t.server.tickers, t)
}
