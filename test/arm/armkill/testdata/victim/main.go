// Program victim starts, updates and stops transactions in Go until it is killed. Its
// argument is its number. It takes notes as kill.h describes them.
package main

import (
	"context"
	"fmt"
	"math/rand/v2"
	"os"
	"strconv"
	"sync/atomic"
	"unsafe"

	"golang.org/x/sys/unix"

	"github.com/pcp-rtime/rtime/arm"
)

const (
	victims = 64
	threads = 3
	words   = 16 // of a note, and of what stands before them
	size    = (1 + threads) * words
)

// The words.
const (
	bad         = 2
	begun       = 0
	started     = 1
	stopBegun   = 2
	stopped     = 5
	updateBegun = 8
	updated     = 9
)

func main() {
	if err := work(); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func work() error {
	number, err := strconv.Atoi(os.Args[1])
	if err != nil {
		return err
	}
	f, err := os.OpenFile(os.Getenv("KILL_NOTES"), os.O_RDWR, 0)
	if err != nil {
		return err
	}
	mem, err := unix.Mmap(int(f.Fd()), 0, victims*size*8, unix.PROT_READ|unix.PROT_WRITE, unix.MAP_SHARED)
	if err != nil {
		return err
	}
	notes := unsafe.Slice((*uint64)(unsafe.Pointer(&mem[0])), len(mem)/8)[number*size:][:size]
	sevens := arm.NewCounter("sevens")
	t := arm.NewApplication("Kill", arm.User("*")).Transaction(fmt.Sprintf("t%d", number), arm.Metrics(sevens))
	if err := t.Err(); err != nil {
		return err
	}
	over := make(chan error)
	handed := make(chan arm.Running, 4)
	for k := range threads {
		w := &worker{t: t, value: sevens.Value(7), head: notes, note: notes[(1+k)*words:], handed: handed}
		go func() { over <- w.toil() }()
	}
	return <-over
}

// worker is a goroutine that works.
type worker struct {
	t          *arm.Transaction
	value      arm.Value
	head, note []uint64
	held       [8]*arm.Running
	handed     chan arm.Running
}

func (w *worker) mark(word int) { atomic.AddUint64(&w.note[word], 1) }

// right notes what went wrong.
func (w *worker) right(ok bool, line uint64) {
	if !ok {
		atomic.StoreUint64(&w.head[bad], line)
	}
}

func (w *worker) toil() error {
	for {
		var values []arm.Value
		if rand.IntN(8) == 0 {
			values = []arm.Value{w.value}
		}
		h := &w.held[rand.IntN(len(w.held))]
		switch {
		case *h == nil:
			*h = w.start(values)
		case rand.IntN(16) == 0:
			w.exchange(h)
		case rand.IntN(8) == 0:
			w.mark(updateBegun)
			w.right((*h).Update(values...), 1)
			w.mark(updated)
		default:
			w.stop(*h, values)
			*h = nil
		}
	}
}

func (w *worker) start(values []arm.Value) *arm.Running {
	ctx := context.Background()
	if values != nil {
		ctx = arm.ContextWithTrace(ctx)
	}
	w.mark(begun)
	_, r := w.t.StartContext(ctx, values...)
	w.mark(started)
	return &r
}

func (w *worker) stop(r *arm.Running, values []arm.Value) {
	status := []arm.Status{arm.Good, arm.Good, arm.Good, arm.Good, arm.Aborted, arm.Failed}[rand.IntN(6)]
	w.mark(stopBegun + int(status))
	w.right(r.Stop(status, values...), 2)
	w.mark(stopped + int(status))
}

// exchange hands one to another goroutine, and takes another's if there is one.
func (w *worker) exchange(h **arm.Running) {
	select {
	case w.handed <- **h:
		*h = nil
	default:
		r := <-w.handed
		w.handed <- **h
		*h = &r
	}
}
