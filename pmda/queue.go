package pmda

import (
	"fmt"
	"io"
	"sync"
	"time"

	"github.com/pcp-rtime/rtime/pdu"
)

// queue decides which goroutine serves. Serving is a role that one goroutine has at a time.
// The goroutine that reads from pmcd itself serves what it has read, which saves a copy and
// the two wake-ups of handing it over. If that takes long, another goroutine goes on
// reading. What it reads waits in the queue for the goroutine in Server.run, and so does
// what Server.Do hands over.
//
// If a reader waited for room, bytes would stay in the pipe, and a full pipe stops pmcd for
// everybody. So the queue takes what comes while a callback is slow: notices about clients,
// of 16 to 30 bytes. pmcd sends a second request only after it has read the answer to the
// first. If a far end goes on asking and reads nothing, the connection is closed when what
// waits reaches maxWaiting.
type queue struct {
	serve func(pdu []byte) // called in the role

	mu    sync.Mutex
	busy  bool   // somebody serves
	items []item // items[head:] wait
	head  int
	size  int      // of the PDUs among items, with what it costs to keep each
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

	// patience is how long a request may take before another goroutine reads on. That
	// happens within twice this time.
	patience = 100 * time.Millisecond

	maxWaiting = 16 << 20 // bytes of PDUs that wait, and itemSize for each
	itemSize   = 64
)

var errFlooded = fmt.Errorf("more than %d MiB wait to be dealt with, because the far end asks and does not read the answers", maxWaiting>>20)

func newQueue(serve func([]byte)) *queue {
	return &queue{serve: serve, wake: make(chan struct{}, 1)}
}

// reading is one connection's stream of PDUs and who reads it.
type reading struct {
	q    *queue
	conn io.ReadCloser
	in   *pdu.Reader
	done func(error)

	// Guarded by q.mu. A timer for each request would wake the runtime's other
	// threads each time, at several times the cost of a small answer; so one timer
	// looks in now and then, as long as there are requests.
	turn   int  // counts who reads
	serves int  // counts requests
	inside bool // the reader is serving
	seen   int  // of serves, when the timer last looked
	armed  bool
	timer  *time.Timer
}

// read serves the PDUs of conn, or puts them into the queue, until conn ends, and tells
// done how it ended. It closes conn if too much waits.
func (q *queue) read(conn io.ReadCloser, done func(error)) {
	s := &reading{q: q, conn: conn, in: pdu.NewReader(conn, 0), done: done}
	s.timer = time.AfterFunc(time.Hour, s.look)
	s.timer.Stop()
	s.run(0)
}

// run reads until the stream ends or it is another goroutine's turn.
func (r *reading) run(turn int) {
	var own []byte // of this goroutine: the next reader may use the buffer of in
	for {
		b, err := r.in.Next()
		if err != nil {
			r.done(err)
			return
		}
		mine, ok, err := r.claim(b, own)
		if err != nil {
			r.conn.Close() // the goroutine that serves may wait for the far end to read
			r.done(err)
			return
		}
		if !ok {
			continue
		}
		own = mine
		r.q.serve(own)
		if !r.yield(turn) {
			return
		}
		if cap(own) > maxKeep {
			own = nil
		}
	}
}

// claim takes the role if nobody has it and nothing waits, and copies the PDU into own
// before another goroutine may read on. Otherwise it puts a copy into the queue.
func (r *reading) claim(b, own []byte) (mine []byte, ok bool, err error) {
	q := r.q
	q.mu.Lock()
	defer q.mu.Unlock()
	if !q.busy && q.head == len(q.items) {
		q.busy, r.inside = true, true
		r.serves++
		if !r.armed {
			r.armed, r.seen = true, r.serves-1
			r.timer.Reset(patience)
		}
		return append(own[:0], b...), true, nil
	}
	if q.size+len(b)+itemSize > maxWaiting {
		return nil, false, errFlooded
	}
	q.size += len(b) + itemSize
	var room []byte
	if n := len(q.free); n > 0 {
		room, q.free = q.free[n-1], q.free[:n-1]
	}
	q.items = append(q.items, item{pdu: append(room[:0], b...)})
	q.signal()
	return nil, false, nil
}

// yield gives the role back and reports whether it is still this goroutine's turn to
// read.
func (r *reading) yield(turn int) bool {
	r.q.mu.Lock()
	mine := r.turn == turn
	if mine {
		r.inside = false
	}
	r.q.mu.Unlock()
	r.q.yield()
	return mine
}

// look takes over the reading if the reader has been serving the same request since
// the last look.
func (r *reading) look() {
	r.q.mu.Lock()
	stuck := r.inside && r.seen == r.serves
	r.armed = r.seen != r.serves
	r.seen = r.serves
	if stuck {
		r.turn++
		r.inside = false
	} else if r.armed {
		r.timer.Reset(patience)
	}
	turn := r.turn
	r.q.mu.Unlock()
	if stuck {
		r.run(turn)
	}
}

// yield gives the role back.
func (q *queue) yield() {
	q.mu.Lock()
	q.busy = false
	if q.head < len(q.items) {
		q.signal()
	}
	q.mu.Unlock()
}

// do puts a function into the queue.
func (q *queue) do(f func()) {
	q.mu.Lock()
	q.items = append(q.items, item{do: f})
	q.signal()
	q.mu.Unlock()
}

func (q *queue) signal() {
	select {
	case q.wake <- struct{}{}:
	default:
	}
}

// next waits for an item and takes the role, to be given back with yield. The PDU of
// an item goes back with release.
func (q *queue) next() item {
	for {
		q.mu.Lock()
		if q.head < len(q.items) && !q.busy {
			it := q.items[q.head]
			q.items[q.head] = item{}
			q.head++
			if it.do == nil {
				q.size -= len(it.pdu) + itemSize
			}
			if q.head == len(q.items) {
				q.items, q.head = q.items[:0], 0
				if cap(q.items) > maxItems {
					q.items = nil
				}
			}
			q.busy = true
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
