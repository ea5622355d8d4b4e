package collect

import (
	"time"

	"github.com/pcp-rtime/rtime/internal/armseg/layout"
	"github.com/pcp-rtime/rtime/internal/armseg/reader"
)

// Snapshot is what one look found. It never changes, and any number of goroutines may read
// it for as long as they like. The lists only grow from one snapshot to the next, and a row
// keeps its place. What did not change is the same pointer as before.
//
// The numbers of transactions, of which there may be very many, stand in columns; those of
// everything else stand in the rows.
type Snapshot struct {
	Seq  uint64    // counts snapshots in which a row changed; 1 is the first
	Rows uint64    // counts snapshots in which a list grew
	Time time.Time // of the look
	Mono int64     // the same as nanoseconds of CLOCK_MONOTONIC

	Trans   []*Tran
	Blocks  []*Block // the numbers of Trans, BlockLen rows in each
	Apps    []*App
	Metrics []*Metric
	Pairs   []*Pair
	Health  Health
}

// Row returns all that there is to know of the transaction at a place of Trans.
func (s *Snapshot) Row(place int) Row {
	return Row{Tran: *s.Trans[place], Numbers: s.Blocks[place/BlockLen].At(place % BlockLen)}
}

// Age returns how long the oldest running one of a transaction has been running, in
// nanoseconds at the time of the look. ok is false if none is running.
func (s *Snapshot) Age(place int) (ns int64, ok bool) {
	b, i := s.Blocks[place/BlockLen], place%BlockLen
	if b.Active[i] == 0 {
		return 0, false
	}
	return max(s.Mono-b.Oldest[i], 0), true
}

// Row is a transaction with its numbers.
type Row struct {
	Tran
	Numbers
}

// Tran is a transaction.
type Tran struct {
	Name  string // instance: [USER:]APPLICATION/TRANSACTION, or one with "other" in it
	App   int    // place of its application in Apps
	Key   string // the transaction's name alone, without blanks
	Descr string // the first 63 bytes of the name that the program gave; "" if not known
	User  string // the user, with UsersApart only

	Traced bool // all instances are traced
}

// Numbers are what all processes on this host counted of a transaction, including those that
// have ended. Times are nanoseconds. Counters never go back.
type Numbers struct {
	Count     uint64 // good ones
	Aborted   uint64
	Failed    uint64
	Abandoned uint64 // running when their process died
	Updates   uint64
	BadData   uint64 // data buffers that were not used
	GoodNS    uint64 // time that the good ones took; sums wrap at 2^64
	AbortedNS uint64
	FailedNS  uint64

	// These are of good ones. They mean nothing while Seen is false.
	Seen  bool
	Last  uint64
	Min   uint64
	Max   uint64
	AvgNS float64 // weighted average

	Active int   // running now
	Oldest int64 // start of the oldest of them, CLOCK_MONOTONIC

	Window Window
}

// Window has figures of a transaction's good ones in the rolling window. If Count is 0 the
// window is empty, Rate is 0 and the others mean nothing. Percentiles come from a histogram:
// they are within 1/16 of the true value from 512 ns to 18 minutes, and within 32 ns below.
type Window struct {
	Count         uint64
	Rate          float64 // per second
	Mean          float64 // nanoseconds, as all below
	Min, Max      uint64
	Median        uint64
	P80, P95, P99 uint64
}

// App is an application.
type App struct {
	Name      string // instance: [USER:]APPLICATION, or "other"
	Descr     string
	User      string // the user, with UsersApart only
	Active    bool   // in use by any user
	Users     int    // users with a process that uses the application
	Processes int    // processes that use the application
	Trans     int    // its rows in Trans
}

// Metric is an application-defined metric of a transaction. Metrics of the same name and
// kind of one transaction are one row, whichever programs gave them.
type Metric struct {
	Name  string // instance: APPLICATION/TRANSACTION/METRIC
	Tran  int    // place of its transaction in Trans
	Label string // the metric's name as the program gave it
	Type  uint32 // as in the data buffer: 1 to 10
	Kind  reader.Kind

	Count          uint64  // values given
	Sum            float64 // of a counter; never goes back
	Last           float64
	Mean, Min, Max float64
	LastID         uint64
	Text           string
}

// Pair is a transaction and its parent, which its correlator names.
type Pair struct {
	// Name is the instance: PARENTAPP/PARENTTRAN>APP/TRAN. A parent that is not of this
	// host is VENDOR:ADDRESS:CLASS.
	Name   string
	Child  int // place in Trans
	Parent int // place in Trans, or -1 if the parent is elsewhere

	Count   uint64 // good ones
	Aborted uint64
	Failed  uint64
	GoodNS  uint64
}

// Health is about the collector itself.
type Health struct {
	Processes   int           // live ones whose files are read
	Files       int           // processes' files that are mapped
	NameFiles   int           // users' files of names
	NamesFull   int           // of which have no room for another name
	Bytes       uint64        // mapped
	Partial     int           // processes of whose files a part is over a limit and not read
	Refused     int           // files in the directory that are not read
	RefusedEver uint64        // times that a file was refused
	LastRefused string        // which and why; "" for none
	Cycles      uint64        // looks
	CycleTime   time.Duration // of the last look
	CycleTotal  time.Duration // of all looks
	Events      uint64        // of traced transactions
	EventsLost  uint64        // overwritten before they were read
	Folds       uint64        // ended processes taken over
	Retired     uint64        // files of names removed
	Swept       uint64        // left-over files removed
	Errors      uint64        // of the directory and the record of the past
	LastError   string
	Damaged     uint64 // records of the past set aside as damaged
	OverCap     uint64 // names that count in a row named other
	NoRoom      uint64 // starts that found no room in their segment
	BadHandles  uint64 // stops and updates with unknown handles
	BadData     uint64 // data buffers that were ignored and belong to no transaction
	PairsLost   uint64 // parents that found no room
}

// Event is a start, an update or a stop of a traced transaction. Its slices belong to the
// receiver.
type Event struct {
	Name     string // the transaction's row
	Tran     int    // its place in Trans
	Kind     int    // layout.EventKindStart, EventKindUpdate, EventKindStop
	Time     time.Time
	UID      uint32
	PID      uint32
	Program  string
	Handle   uint32 // of arm_start
	Class    uint32 // tran_id
	Status   int32  // of a stop: 0 good, 1 aborted, 2 failed
	Flags    uint32
	Duration time.Duration // of a stop
	Metrics  []EventMetric
	String   string // the seventh metric
	Text     string // of an update
	Parent   []byte // correlators; nil if there is none
	Own      []byte
}

// EventMetric is an application's metric in an event.
type EventMetric struct {
	Label string
	Type  uint32
	Raw   uint64 // the eight bytes, the first four in the lower half
}

// MaxMetrics is how many application-defined metrics a transaction has at most, including the
// string.
const MaxMetrics = layout.Metrics + 1
