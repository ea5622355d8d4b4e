package pmda

import (
	"io"
	"sync"

	"github.com/pcp-rtime/rtime/pdu"
)

// queue takes PDUs as they arrive and functions handed over by Server.Do, and gives
// them to the serving goroutine in order. It has no bound: a reader that waited for
// room would leave bytes in the pipe, and a full pipe stops pmcd for everybody.
// What fills it are notices about clients, of 16 to 30 bytes, while a callback is
// slow.
type queue struct {
	mu    sync.Mutex
	items []item // items[head:] wait
	head  int
	free  [][]byte // room of PDUs that were dealt with
	wake  chan struct{}
}

// item is a PDU, or something to do.
type item struct {
	pdu []byte
	do  func()
}

const (
	maxFree  = 16       // buffers kept for reuse
	maxKeep  = 64 << 10 // bytes in each of them
	maxItems = 4096     // items that an empty queue keeps room for
)

func newQueue() *queue { return &queue{wake: make(chan struct{}, 1)} }

// read puts all PDUs of r into the queue until r ends, and says how it ended.
func (q *queue) read(r io.Reader) error {
	in := pdu.NewReader(r, 0)
	for {
		b, err := in.Next()
		if err != nil {
			return err
		}
		q.mu.Lock()
		var room []byte
		if n := len(q.free); n > 0 {
			room, q.free = q.free[n-1], q.free[:n-1]
		}
		q.items = append(q.items, item{pdu: append(room[:0], b...)})
		q.mu.Unlock()
		q.signal()
	}
}

// do puts a function into the queue.
func (q *queue) do(f func()) {
	q.mu.Lock()
	q.items = append(q.items, item{do: f})
	q.mu.Unlock()
	q.signal()
}

func (q *queue) signal() {
	select {
	case q.wake <- struct{}{}:
	default:
	}
}

// next waits for an item. The PDU of an item goes back with release.
func (q *queue) next() item {
	for {
		q.mu.Lock()
		if q.head < len(q.items) {
			it := q.items[q.head]
			q.items[q.head] = item{}
			q.head++
			if q.head == len(q.items) {
				q.items, q.head = q.items[:0], 0
				if cap(q.items) > maxItems {
					q.items = nil
				}
			}
			q.mu.Unlock()
			return it
		}
		q.mu.Unlock()
		<-q.wake
	}
}

// release takes back the room of a PDU that was dealt with.
func (q *queue) release(b []byte) {
	if cap(b) > maxKeep {
		return
	}
	q.mu.Lock()
	if len(q.free) < maxFree {
		q.free = append(q.free, b)
	}
	q.mu.Unlock()
}
