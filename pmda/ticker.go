package pmda

import "time"

// Every has f called by the serving goroutine each time that d has passed, for as long as
// the server serves: for what an agent does apart from requests, such as looking for new
// instances. A call that takes longer than d, or waits for a request, is followed by the
// next at its own time; those between are left out. stop ends it, and may be called more
// than once. Every and stop may be called by any goroutine; f is not called any more once
// stop has been called by the serving goroutine. d must be above 0.
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
