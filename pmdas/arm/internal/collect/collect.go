// Package collect adds up what the ARM libraries of all processes on this host measure:
// it finds their segments, reads them, tells which processes live, takes over what dead
// ones had counted, and leaves a Snapshot. It knows no PCP numbers.
//
// Only the goroutine of Run touches the segments. It copies and checks everything that it
// reads from them. If a segment is wrong, only its owner's values suffer.
//
// Counters never go back, even if the collector is started anew. Rows are the sum of the
// files of live processes and of the record of the past. When a process ends, its counts
// move from the first to the second in a single write. Which row they belong to is recorded
// before the row is shown.
package collect

import (
	"context"
	"errors"
	"io"
	"log"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/pcp-rtime/rtime/internal/armseg/layout"
	"github.com/pcp-rtime/rtime/internal/armseg/reader"
	"github.com/pcp-rtime/rtime/internal/throttle"
	"github.com/pcp-rtime/rtime/pmdas/arm/internal/past"
	"github.com/pcp-rtime/rtime/pmdas/internal/kit/segdir"
)

// Options are what a Collector is made with.
type Options struct {
	Dir     string // of the segments; "" for what the libraries use. Must be there.
	Log     *log.Logger
	OnEvent func(*Event) // called by Run's goroutine; must not wait
	// OnMissed is told, by Run's goroutine, how many events were overwritten unread.
	OnMissed func(n uint64)
	// OnSnapshot is called by Run's goroutine after each new snapshot. It must not wait.
	OnSnapshot func(*Snapshot)
}

// Collector reads a directory of segments. Run's goroutine does; all other methods may
// be called by any goroutine.
type Collector struct {
	opts Options
	dir  string
	host host
	snap atomic.Pointer[Snapshot]

	// mu guards what other goroutines ask for.
	mu     sync.Mutex
	asked  Config
	wishes map[string]bool // rows to be traced
	wished uint64          // counts changes of wishes

	// The rest is Run's goroutine's alone.
	conf     Config
	held     *os.File // while this collector keeps the record of the past
	opened   bool     // and has read it
	begun    bool     // the first look is over
	traced   uint64   // the wishes that were followed
	mono     int64    // of this look
	wall     time.Time
	watch    *segdir.Watch
	listed   int64 // when the directory was listed, 0 for never
	changed  bool  // it has changed since
	looks    uint64
	users    map[uint32]*account
	order    []*account
	procs    int
	most     int // of files that may be open
	refused  map[string]refusal
	folded   map[string]uint64 // files that are in the record of the past, but could not be removed
	rows     rows
	past     *past.Record // nil until it is read
	windows  windows
	health   Health
	refusals throttle.Log[uint32] // by the user whose file it is
	failures throttle.Log[string] // by what they say
	seq      uint64
	grown    uint64
}

// host is what a test replaces: the clocks, and the point of each step at which the
// process might be killed.
type host struct {
	now   func() (mono int64, wall time.Time)
	alive func(*reader.ProcInfo) bool
	step  func(name string)
}

// New makes a Collector. It reads the record of the past, and waits for the disk. A damaged
// record is not an error. While another Collector, in this or another process, keeps the
// record, this one has no rows. It begins when the other has ended.
func New(c Config, o Options) (*Collector, error) {
	col := prepare(c, o, host{now: clocks, alive: processes().alive, step: func(string) {}})
	ok, err := col.hold()
	switch {
	case err != nil:
		return nil, err
	case !ok:
		col.publish()
		return col, nil
	}
	if err := col.open(); err != nil {
		col.letGo()
		return nil, err
	}
	return col, nil
}

// newCollector makes one that has the directory for itself.
func newCollector(c Config, o Options, h host) (*Collector, error) {
	col := prepare(c, o, h)
	return col, col.open()
}

func prepare(c Config, o Options, h host) *Collector {
	if o.Dir == "" {
		o.Dir = os.Getenv(layout.DirEnv)
	}
	if o.Dir == "" {
		o.Dir = layout.DefaultDir
	}
	if o.Log == nil {
		o.Log = log.New(io.Discard, "", 0)
	}
	c = c.filled()
	col := &Collector{
		opts: o, dir: o.Dir, host: h, asked: c, conf: c,
		wishes: make(map[string]bool), users: make(map[uint32]*account),
		refused: make(map[string]refusal), folded: make(map[string]uint64),
	}
	now := func() time.Time { return time.Unix(0, col.mono) }
	say := func(line string) { col.opts.Log.Print(line) }
	col.refusals = throttle.Log[uint32]{Print: say, Now: now, Burst: 10, Every: 6 * time.Second}
	col.failures = throttle.Log[string]{Print: say, Now: now, Burst: 1, Every: time.Minute}
	col.most = descriptors()
	col.rows.init(c.UsersApart)
	col.mono, col.wall = h.now()
	return col
}

func (c *Collector) pastDir() string { return filepath.Join(c.dir, layout.PastDir) }

// open reads the record of the past.
func (c *Collector) open() error {
	var err error
	c.past, err = past.Open(past.Options{Dir: c.pastDir(), Apart: c.rows.apart, There: c.isThere, Fail: c.fail, Step: c.host.step},
		c.rows.restore, c.recall)
	if err != nil {
		return err
	}
	c.health.Damaged = c.past.Damaged()
	if err := c.openSwitches(); err != nil {
		return err
	}
	c.opened = true
	c.mono, c.wall = c.host.now()
	c.windows.set(c.conf, c.mono)
	c.publish()
	return nil
}

// Run looks once per interval, and at the directory when a file is published, until the
// context ends. It then releases everything and returns nil. It returns an error if the
// record of the past cannot be read.
func (c *Collector) Run(ctx context.Context) error {
	defer c.close()
	if !c.opened {
		if err := c.await(ctx); err != nil || !c.opened {
			return err
		}
	}
	tick := time.NewTimer(0)
	defer tick.Stop()
	for {
		var published <-chan struct{}
		if c.watch != nil {
			published = c.watch.C()
		}
		select {
		case <-ctx.Done():
			return nil
		case <-tick.C:
			c.look()
			tick.Reset(c.conf.Interval)
		case <-published:
			c.wake()
		}
	}
}

// wake opens what is new in the directory, without reading it all.
func (c *Collector) wake() {
	names, err := c.watch.Names()
	switch {
	case errors.Is(err, segdir.ErrGone):
		_ = c.watch.Close() // nothing can be done about it
		c.watch = nil
	case err == nil && len(names) == 0:
		return
	}
	c.changed = true
	if now, _ := c.host.now(); now-c.listed >= minList {
		c.mono, c.wall = c.host.now()
		c.scan()
	}
}

func (c *Collector) close() {
	if c.watch != nil {
		_ = c.watch.Close() // nothing can be done about it
		c.watch = nil
	}
	for _, u := range c.users {
		for _, p := range u.procs {
			p.r.Close()
		}
		for _, n := range u.names {
			c.dropSwitches(n)
			n.r.Close()
		}
	}
	clear(c.users)
	if c.past != nil {
		_ = c.past.Close() // all of it is in the files
	}
	c.letGo()
}

// Snapshot returns the latest. It never waits, and is never nil.
func (c *Collector) Snapshot() *Snapshot { return c.snap.Load() }

// Configure changes the configuration from the next look on.
func (c *Collector) Configure(conf Config) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.asked = conf.filled()
}

// Trace asks programs to trace all instances of a transaction, or to stop that. name is the
// name of its row, which need not exist yet. The request lasts as long as the Collector.
func (c *Collector) Trace(name string, on bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.wishes[name] == on {
		return
	}
	c.wished++
	if on {
		c.wishes[name] = true
	} else {
		delete(c.wishes, name)
	}
}

// Traced returns the names of what is asked to be traced, sorted.
func (c *Collector) Traced() []string {
	c.mu.Lock()
	defer c.mu.Unlock()
	return slices.Sorted(maps.Keys(c.wishes))
}

// fail notes an error of the directory or of the record of the past. It logs the same error
// only once a minute, because there may be one with each look.
func (c *Collector) fail(err error) {
	if err == nil {
		return
	}
	c.health.Errors++
	c.health.LastError = err.Error()
	c.failures.Printf(c.health.LastError, "%s", c.health.LastError)
}
