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

// Options say how a supplier is opened. The zero value is good.
type Options struct {
	Dir      string     // of segments; default $RTIME_DDS_DIR, else /run/rtime/dds
	Name     string     // of the program, up to 63 bytes; default its file's
	Vendor   string     // such as "DDS/IBM": what paths that do not begin with DDS/ lie below
	Volatile []*Context // a declaration for each kind that Supplier.Add is to add

	// Manual leaves it to the program to say that it is active, with Update or Touch,
	// at least every 15 seconds. Otherwise a goroutine does so each second, which
	// says that the process runs, not that it does what it should.
	Manual bool

	// TimeOut is how long consumers are to wait for a supplier that does not say that it is
	// active, as SpmiInit takes it: 15 seconds to 10 minutes, or NoTimeOut to wait for ever.
	// The largest holds of what the agent's configuration and the programs of a user give,
	// and of root's for all users. 0 leaves it to the others.
	TimeOut time.Duration
}

// NoTimeOut as Options.TimeOut has no supplier count as dead while its process lives.
const NoTimeOut time.Duration = -1

// Supplier is a running supplier. Its methods may be called by several goroutines at
// once.
type Supplier struct {
	vendor, dir, name string
	manual            bool
	timeOut           uint32
	now               atomic.Pointer[segment]

	mu     sync.Mutex // guards what follows; comes before that of an area
	tree   *tree
	kinds  map[string]*kind       // of volatile contexts, by signature
	types  map[reflect.Type]*kind // those that Values alone declares
	plan   *plan
	late   []*area // whose values are copied
	retry  backoff
	closed bool

	stop, stopped chan struct{}
}

// segment is what the supplier publishes, or why it does not. Its address space is given
// back when neither the supplier nor a handle refers to it.
type segment struct {
	w    *writer.Writer // nil where there is none
	line writer.Line
	told *writer.Notice
	err  error
}

// Open publishes the contexts and their statistics. They stand until Close.
//
// An error says that the declarations are at fault, or with ErrDuplicate that another
// supplier has one of the paths; then no handle was touched. Where there is no
// directory to publish in, or it cannot be written, or the system has no segments, the
// supplier works on private memory instead, which nobody sees: Err says so. It is
// published as soon as that can be; see Retry.
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

// timeOutWord returns a time-out as a segment has it.
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

// use has the supplier publish with a writer.
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

// tick says once a second that the process lives.
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

// Err returns nil if the statistics are published, else why they are not yet.
func (s *Supplier) Err() error { return s.now.Load().err }

// GoAway reports whether the agent has told the supplier to go away, because it was not
// active for too long, or is unwanted. Its contexts are not exported then. It may be closed;
// if it goes on instead and is active again, with Touch, Update or Stay, its contexts are
// exported again and GoAway is false after a while.
func (s *Supplier) GoAway() bool { return s.now.Load().told.GoAway() }

// Stay says that the supplier does not go away, and that it is active. GoAway is false until
// it is told anew. The agent exports its contexts again, with what they have held all the
// while.
func (s *Supplier) Stay() {
	s.now.Load().told.Stay()
	s.stamp(time.Now())
}

// Subscribed returns how many values are being asked for. With none, values that cost
// something may be left to get old.
func (s *Supplier) Subscribed() int { return s.now.Load().told.Subscribed() }

// Interval returns the shortest interval at which somebody asks, 0 if it is not known.
func (s *Supplier) Interval() time.Duration { return s.now.Load().told.Interval() }

// Close withdraws everything. Handles may be used after it, to no effect that anybody
// sees; Close of a closed supplier does nothing.
func (s *Supplier) Close() error {
	s.mu.Lock()
	if s.closed {
		s.mu.Unlock()
		return nil
	}
	s.closed = true
	s.mu.Unlock()
	close(s.stop)
	<-s.stopped // which may be waiting for the lock
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
