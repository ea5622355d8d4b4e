// Package collect adds up what the ARM libraries of all processes on this host measure, and
// leaves Snapshots. It knows no PCP numbers.
//
// A look goes through four stages, each of which knows only those before it:
//
//   - look: directory says which files there are; programs opens them and knows which
//     processes are alive;
//   - count: counts reads what came since the last look, and adds it to rows;
//   - retire: retirer records what ended processes had counted, and removes files that nobody
//     needs;
//   - publish: publisher makes a Snapshot of the rows.
//
// Beside them, tracer tells programs what to trace, and reports take what goes wrong.
//
// Only the goroutine of Run touches the files. It copies and checks everything that it reads
// from them. If a file is wrong, only its owner's values suffer.
//
// Counters never go back, even if the collector is started again. Rows are the sum of the
// files of live processes and of the record of the past. When a process ends, its counts
// move from the first to the second in a single write. Which row they belong to is recorded
// before the row is shown.
package collect

import (
	"context"
	"io"
	"log"
	"os"
	"path/filepath"
	"sync"
	"time"

	"github.com/pcp-rtime/rtime/internal/armseg/layout"
	"github.com/pcp-rtime/rtime/internal/armseg/reader"
	"github.com/pcp-rtime/rtime/pmdas/arm/internal/past"
)

// Options are what a Collector is made with.
type Options struct {
	Dir     string // of the segments; "" stands for the one that the libraries use. It must be there.
	Log     *log.Logger
	OnEvent func(*Event) // called by Run's goroutine; must not wait
	// OnMissed is told, by Run's goroutine, how many events were overwritten unread.
	OnMissed func(n uint64)
	// OnSnapshot is called by Run's goroutine after each new snapshot. It must not wait.
	OnSnapshot func(*Snapshot)
}

// Collector reads a directory of segments, in the goroutine of Run. All other methods may be
// called by any goroutine.
type Collector struct {
	opts Options
	host host

	mu    sync.Mutex // guards asked
	asked Config     // for the next look

	// All that follows belongs to Run's goroutine.
	held     *os.File // the lock of the record of the past, while this collector has it
	opened   bool     // it has read the record
	reports  *reports
	dir      directory
	programs programs
	counts   counts
	retirer  retirer
	tracer   tracer
	pub      publisher

	cycles           uint64
	cycle, allCycles time.Duration // what the last look took, and all looks
}

// moment is the time of a look.
type moment struct {
	mono int64 // nanoseconds of CLOCK_MONOTONIC
	wall time.Time
}

// host is what tests replace: the clocks, the question whether a process is there, and what is
// called at each step at which the collector might be killed.
type host struct {
	now   func() (mono int64, wall time.Time)
	alive func(*reader.ProcInfo) bool
	step  func(name string)
}

func (h host) moment() moment {
	mono, wall := h.now()
	return moment{mono, wall}
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
		col.publish(col.host.moment())
		return col, nil
	}
	if err := col.open(); err != nil {
		col.letGo()
		return nil, err
	}
	return col, nil
}

// newCollector makes one that needs no lock, because it has the directory for itself.
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
	r := newReports(o.Log, func() time.Time { return time.Unix(0, h.moment().mono) })
	col := &Collector{opts: o, host: h, asked: c, reports: r, dir: directory{dir: o.Dir, reports: r}}
	col.programs = programs{dir: &col.dir, reports: r, alive: h.alive, conf: c, most: descriptors(),
		users: make(map[uint32]*account), refused: make(map[string]refusal)}
	col.counts = counts{reports: r, onEvent: o.OnEvent, onMissed: o.OnMissed, conf: c}
	col.counts.rows.init(c.UsersApart)
	col.retirer = retirer{dir: &col.dir, reports: r, step: h.step, conf: c, recorded: make(map[string]uint64)}
	col.tracer = tracer{dir: o.Dir, reports: r, wishes: make(map[string]bool)}
	return col
}

func (c *Collector) pastDir() string { return filepath.Join(c.opts.Dir, layout.PastDir) }

// open reads the record of the past.
func (c *Collector) open() (err error) {
	c.retirer.record, err = past.Open(
		past.Options{Dir: c.pastDir(), Apart: c.counts.rows.apart, There: c.retirer.isThere, Fail: c.reports.fail, Step: c.host.step},
		c.counts.rows.restore,
		func(uid uint32, e *past.Entry) {
			c.counts.recall(uid, e)
			c.retirer.recall(e)
		})
	if err != nil {
		return err
	}
	if err := c.tracer.open(); err != nil {
		return err
	}
	c.opened = true
	now := c.host.moment()
	c.counts.windows.set(c.counts.conf, now.mono)
	c.publish(now)
	return nil
}

// holdEvery is how often a collector that waits looks whether the other has ended.
const holdEvery = 100 * time.Millisecond

// hold takes the lock of the record of the past. It returns false if another collector has it.
func (c *Collector) hold() (ok bool, err error) {
	c.held, err = past.Lock(c.pastDir())
	return c.held != nil, err
}

// await waits until no other collector keeps the record, and then reads it. It returns nil if
// the context ends before.
func (c *Collector) await(ctx context.Context) error {
	c.opts.Log.Printf("%s: another agent keeps this record; waiting until it has ended", c.pastDir())
	tick := time.NewTicker(holdEvery)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return nil
		case <-tick.C:
		}
		if ok, err := c.hold(); err != nil {
			return err
		} else if ok {
			return c.open()
		}
	}
}

// letGo gives the lock back.
func (c *Collector) letGo() {
	if c.held != nil {
		_ = c.held.Close() // nothing was written to it
		c.held = nil
	}
}

// Run looks once per interval, and lists the directory when a file is published, until the
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
		select {
		case <-ctx.Done():
			return nil
		case <-tick.C:
			c.look()
			tick.Reset(c.counts.conf.Interval)
		case <-c.dir.published():
			if now := c.host.moment(); c.dir.happened(now.mono) {
				c.scan(now)
			}
		}
	}
}

// look goes through all stages.
func (c *Collector) look() {
	now := c.host.moment()
	c.configure(now)
	if c.dir.due(now.mono) {
		c.scan(now)
	}
	c.counts.count(c.programs.order, &c.programs, now)
	c.retirer.takeOver(&c.programs, &c.counts, &c.counts.rows.unsaved, now.mono)
	c.retirer.idle(c.programs.order, now.mono)
	c.programs.drop(c.tracer.drop)
	c.tracer.follow(&c.counts.rows, c.programs.order)
	c.retirer.save(&c.counts.rows.unsaved)
	c.programs.begun, c.counts.begun = true, true
	c.cycles++
	c.cycle = time.Duration(c.host.moment().mono - now.mono)
	c.allCycles += c.cycle
	c.publish(now)
}

// scan finds the files that came and went.
func (c *Collector) scan(now moment) {
	list, err := c.dir.scan(now.mono, c.counts.conf.eachUser())
	if err != nil {
		c.reports.fail(err)
		return
	}
	there := make(map[string]uint64, len(list))
	for i := range list {
		there[list[i].name] = list[i].inode
	}
	list = c.retirer.removeRecorded(list, there)
	c.programs.take(list, there, now.mono)
	c.retirer.sweep(list, c.programs.refused, now.wall)
}

// configure gives the stages the configuration that was asked for.
func (c *Collector) configure(now moment) {
	c.mu.Lock()
	conf := c.asked
	c.mu.Unlock()
	c.programs.conf, c.retirer.conf = conf, conf
	c.counts.configure(conf, now.mono)
}

func (c *Collector) publish(now moment) {
	s := c.pub.publish(&c.counts.rows, now, c.health())
	if c.opts.OnSnapshot != nil && c.cycles > 0 {
		c.opts.OnSnapshot(s)
	}
}

// health returns the figures about the collector itself.
func (c *Collector) health() Health {
	f := &c.counts.figures
	h := Health{
		Refused: len(c.programs.refused), RefusedEver: c.reports.refused, LastRefused: c.reports.lastRefused,
		Cycles: c.cycles, CycleTime: c.cycle, CycleTotal: c.allCycles,
		Events: f.events, EventsLost: f.eventsLost,
		Folds: c.retirer.folds, Retired: c.retirer.retired, Swept: c.retirer.swept,
		Errors: c.reports.errors, LastError: c.reports.lastError,
		NoRoom: f.noRoom, BadHandles: f.badHandles, BadData: f.badData, PairsLost: f.pairsLost,
		OverCap: c.counts.rows.overLimit(),
	}
	if c.retirer.record != nil {
		h.Damaged = c.retirer.record.Damaged()
	}
	c.programs.summary(&h)
	return h
}

func (c *Collector) close() {
	c.dir.close()
	c.programs.close(c.tracer.drop)
	if c.retirer.record != nil {
		_ = c.retirer.record.Close() // all of it is in the files
	}
	c.letGo()
}

// Snapshot returns the latest. It never waits, and is never nil.
func (c *Collector) Snapshot() *Snapshot { return c.pub.snap.Load() }

// Configure changes the configuration from the next look on.
func (c *Collector) Configure(conf Config) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.asked = conf.filled()
}

// Trace asks programs to trace all instances of a transaction, or to stop that. name is the
// name of its row, which need not exist yet. The request lasts as long as the Collector.
func (c *Collector) Trace(name string, on bool) { c.tracer.wish(name, on) }
