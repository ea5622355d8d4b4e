package spmi

import (
	"fmt"
	"os"
	"path/filepath"
	"reflect"
	"runtime"
	"sync"
	"sync/atomic"
	"time"

	"github.com/pcp-rtime/rtime/internal/ddsseg/layout"
	"github.com/pcp-rtime/rtime/internal/ddsseg/writer"
)

// Options say how a supplier is opened. The zero value is valid.
type Options struct {
	Dir      string     // directory of segments; default $RTIME_DDS_DIR, else /run/rtime/dds
	Name     string     // of the program, up to 63 bytes; default the name of its file
	Vendor   string     // such as "DDS/IBM": stands before paths that do not begin with DDS/
	Volatile []*Context // a declaration for each kind that Supplier.Add may add

	// Manual means that the program itself says that it is active, with Update or Touch, at
	// least every 15 seconds. Otherwise a goroutine does so each second. That shows only
	// that the process runs, not that it does its work.
	Manual bool

	// TimeOut is how long consumers wait for a supplier that does not say that it is active.
	// As for SpmiInit, it is 15 seconds to 10 minutes, or NoTimeOut to wait for ever. The
	// largest of these holds: that of the agent's configuration, those of the programs of
	// the same user, and those of root's programs. 0 gives none.
	TimeOut time.Duration
}

// NoTimeOut as Options.TimeOut means that no supplier counts as dead while its process
// lives.
const NoTimeOut time.Duration = -1

// Supplier is a running supplier. Several goroutines may call its methods at once.
type Supplier struct {
	vendor, dir, name string
	manual            bool
	timeOut           uint32
	now               atomic.Pointer[segment]

	mu     sync.Mutex // guards the fields below; locked before that of an area
	tree   *tree
	kinds  map[string]*kind       // of volatile contexts, by signature
	types  map[reflect.Type]*kind // kinds that are declared by Values alone
	plan   *plan
	late   []*area // areas whose values are copied
	retry  backoff
	closed bool

	stop, stopped chan struct{}
}

// segment is what the supplier publishes, or the reason why it does not. Its address space
// is given back when neither the supplier nor a handle refers to it.
type segment struct {
	w    *writer.Writer // nil if there is none
	line writer.Line
	told *writer.Notice
	err  error
}

// Open publishes the contexts and their statistics. They stay until Close.
//
// An error says that a declaration is wrong, or, with ErrDuplicate, that another supplier
// has one of the paths. Then no handle was changed. If there is no directory to publish in,
// or it cannot be written to, or the system has no segments, the supplier works on private
// memory, which nobody else sees; Err says so. It is published as soon as that is possible;
// see Retry.
func Open(opts Options, contexts ...*Context) (*Supplier, error) {
	dir := opts.Dir
	if dir == "" {
		dir = os.Getenv(layout.DirEnv)
	}
	if dir == "" {
		dir = layout.DefaultDir
	}
	name := opts.Name
	if name == "" && len(os.Args) > 0 {
		name = filepath.Base(os.Args[0])
		name = name[:min(len(name), layout.PathLen-1)]
	}
	if len(name) >= layout.PathLen {
		return nil, fail(CodeBadArgument, "", "name longer than 63 bytes")
	}
	timeOut, err := timeOutWord(opts.TimeOut)
	if err != nil {
		return nil, err
	}
	s := &Supplier{
		vendor: opts.Vendor, dir: dir, name: name, manual: opts.Manual, timeOut: timeOut, tree: newTree(dir),
		kinds: map[string]*kind{}, types: map[reflect.Type]*kind{},
		stop: make(chan struct{}), stopped: make(chan struct{}),
	}
	s.plan = &plan{s: s}
	if err := s.plan.declare(contexts, opts.Volatile); err != nil {
		return nil, err
	}
	if err := s.plan.publish(); err != nil {
		return nil, err
	}
	if opts.Manual {
		close(s.stopped)
	} else {
		go s.tick()
	}
	return s, nil
}

// timeOutWord returns a time-out as a segment holds it.
func timeOutWord(t time.Duration) (uint32, error) {
	seconds := t.Round(time.Second) / time.Second
	switch {
	case t == 0:
		return 0, nil
	case t == NoTimeOut:
		return layout.TimeOutNever, nil
	case seconds < layout.TimeOutLeast || seconds > layout.TimeOutMost:
		return 0, fail(CodeBadArgument, "", fmt.Sprintf("time-out %v: want 0, NoTimeOut, or %d to %d seconds", t, layout.TimeOutLeast, layout.TimeOutMost))
	}
	return uint32(seconds), nil
}

func (s *Supplier) program() writer.Program { return writer.Program{Name: s.name, TimeOut: s.timeOut} }

// use makes the supplier publish with a writer.
func (s *Supplier) use(w *writer.Writer) {
	seg := &segment{w: w, line: w.Line(), told: w.Notice()}
	runtime.AddCleanup(seg, (*writer.Writer).Unmap, w)
	seg.line.Stamp(time.Now())
	s.now.Store(seg)
}

// private returns an area in this process's own memory.
func (s *Supplier) private(n int) *area {
	return &area{s: s, words: make([]uint64, n), update: writer.NewUpdate()}
}

func (a *area) isGone() bool {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.gone
}

// tick says once a second that the supplier is active.
func (s *Supplier) tick() {
	defer close(s.stopped)
	t := time.NewTimer(time.Second)
	defer t.Stop()
	for {
		select {
		case now := <-t.C:
			t.Reset(s.turn(now))
		case <-s.stop:
			return
		}
	}
}

// stamp says that the supplier is active.
func (s *Supplier) stamp(now time.Time) {
	seg := s.now.Load()
	seg.line.Stamp(now)
	runtime.KeepAlive(seg)
}

// Touch says that the supplier is active.
func (s *Supplier) Touch() {
	s.stamp(time.Now())
	s.copyLate()
}

// Err returns nil if the statistics are published, and otherwise why they are not.
func (s *Supplier) Err() error { return s.now.Load().err }

// GoAway reports whether the agent has told the supplier to go away, because it was not
// active for too long or because it is not wanted. Its contexts are not exported then. The
// program may close it. If the supplier is active again instead, with Touch, Update or Stay,
// its contexts are exported again, and GoAway becomes false after a while.
func (s *Supplier) GoAway() bool { return s.now.Load().told.GoAway() }

// Stay says that the supplier does not go away, and that it is active. GoAway is false until
// the agent tells the supplier again. The agent exports its contexts again, with their
// present values.
func (s *Supplier) Stay() {
	s.now.Load().told.Stay()
	s.stamp(time.Now())
}

// Subscribed returns how many values clients ask for. If it is 0, a program need not update
// values that are expensive to get.
func (s *Supplier) Subscribed() int { return s.now.Load().told.Subscribed() }

// Interval returns the shortest interval at which a client asks, or 0 if it is not known.
func (s *Supplier) Interval() time.Duration { return s.now.Load().told.Interval() }

// Close withdraws everything. Handles may still be used after it, but nobody sees what they
// store. A second Close does nothing.
func (s *Supplier) Close() error {
	s.mu.Lock()
	if s.closed {
		s.mu.Unlock()
		return nil
	}
	s.closed = true
	s.mu.Unlock()
	close(s.stop)
	<-s.stopped // it may be waiting for the lock
	s.mu.Lock()
	defer s.mu.Unlock()
	s.stamp(time.Now())
	for _, n := range s.tree.nodes {
		if n.ctx != nil {
			if a := n.ctx.area.Load(); a != nil {
				a.mu.Lock()
				a.gone = true
				a.mu.Unlock()
			}
		}
	}
	if w := s.now.Load().w; w != nil {
		w.End()
	}
	s.tree, s.kinds, s.types, s.plan, s.late = nil, nil, nil, nil, nil
	return nil
}
