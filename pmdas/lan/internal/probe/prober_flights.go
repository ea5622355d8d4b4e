package probe

import "time"

// flight is a request that has been sent, or is about to be.
type flight struct {
	h    *host
	seq  uint32
	sent time.Duration
	err  error
}

// flights is the queue of requests in the order of their sending, which is the
// order of their expiry. Requests answered meanwhile leave when they come to its head.
type flights struct {
	q    []flight
	head int
}

func (f *flights) push(x flight) {
	if f.head > 64 && f.head > len(f.q)/2 {
		n := copy(f.q, f.q[f.head:])
		clear(f.q[n:])
		f.q, f.head = f.q[:n], 0
	}
	f.q = append(f.q, x)
}

// first returns the oldest request that is still in flight, nil if there is none.
func (f *flights) first() *flight {
	for f.head < len(f.q) {
		x := &f.q[f.head]
		if x.h.pending&x.h.bit(x.seq) != 0 {
			return x
		}
		f.pop()
	}
	f.q, f.head = f.q[:0], 0
	return nil
}

func (f *flights) pop() {
	f.q[f.head] = flight{}
	f.head++
}
