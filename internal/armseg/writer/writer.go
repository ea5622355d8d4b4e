// Package writer counts what a process measures, in the files that package layout describes.
// Instrumented programs link it.
package writer

import (
	"errors"
	"os"
	"path/filepath"
	"runtime"
	"sync"
	"sync/atomic"
	"time"
	"unsafe"

	"github.com/pcp-rtime/rtime/internal/armseg/layout"
)

// ErrNoRoom says that the process's file cannot grow, because the file system, the address
// space or a limit of the process is used up. It wraps the cause.
var ErrNoRoom = errors.New("no room for what is measured")

// errRemoved says that the agent removed a file of names while the process was joining it.
var errRemoved = errors.New("the file of names was removed meanwhile")

const (
	attachTries = 5
	maxBlocks   = 64
)

// Writer counts for a process in one directory. It stays until the process ends, because what
// it gives out points into its files. Its methods may be called by several goroutines.
//
// Nothing that stands in a file is used as an offset, a size or an index. All of these are in
// the memory of the process alone, and the file only shows them to the agent. A damaged file
// thus spoils what is measured, and never the program.
type Writer struct {
	base   unsafe.Pointer // of the process's file
	began  time.Time      // when the writer's clock began, on the runtime's clock
	offset int64          // CLOCK_MONOTONIC at began, in nanoseconds

	memory    bool   // it has no files
	slotFlags uint64 // the words pair and flags of a slot at a start

	blocks   []*block    // one for each P; its records are made when it is first used
	full     atomic.Bool // no slot was free, and none has been freed since
	switches switches

	dir   string
	names *names
	file  *segFile

	pairs atomic.Uint64 // offset of the table of pairs, 0 while there is none
	ring  atomic.Uint64 // offset of the events, 0 while there are none
	// chunks holds all chunks in the order of their numbers, which is also that of their
	// offsets.
	chunks atomic.Pointer[[]chunk]

	mu        sync.Mutex // guards the growth of the file, and what follows
	bump      uint64     // what is handed out ends here
	backed    uint64     // what is allocated ends here
	nextBlock uint32
	trans     map[uint32]*Tran
	noRoom    error // why the file did not grow
	lastTry   time.Time
}

// Attach joins the file of names of this user in dir, or makes one, and publishes a file of
// this process. If it fails, it leaves no file behind.
func Attach(dir string) (*Writer, error) {
	var err error
	for try := range attachTries {
		// These sum up to less than 20 ms. The agent decides about a file of names faster than that.
		time.Sleep(time.Duration(try) * time.Millisecond)
		var w *Writer
		if w, err = attach(dir); err == nil {
			return w, nil
		}
		if !errors.Is(err, errRemoved) && !errors.Is(err, os.ErrNotExist) {
			return nil, err
		}
		if _, statErr := os.Stat(dir); statErr != nil {
			return nil, err
		}
	}
	return nil, err
}

func attach(dir string) (*Writer, error) {
	n, err := openNames(dir)
	if err != nil {
		return nil, err
	}
	return publishWith(dir, n)
}

// publishWith publishes a file of this process, which counts with the names in n.
func publishWith(dir string, n *names) (*Writer, error) {
	w := &Writer{dir: dir, names: n, trans: map[uint32]*Tran{}}
	w.clock()
	if err := w.create(dir); err != nil {
		n.f.close()
		return nil, err
	}
	// The agent first takes the name from a file of names and then looks for processes that
	// use it. This process first publishes its file and then looks at the name. So one of
	// the two sees the other.
	if !n.f.named() {
		w.file.remove()
		n.f.close()
		return nil, errRemoved
	}
	w.makeBlocks()
	w.switches.path = layout.SwitchesPath(n.uid, n.nonce)
	w.readSwitches(w.now())
	return w, nil
}

// clock relates the runtime's clock to CLOCK_MONOTONIC. It takes a few readings and uses the
// quickest.
func (w *Writer) clock() {
	w.began = time.Now()
	best := time.Duration(1 << 62)
	for range 8 {
		before := time.Since(w.began)
		mono := monotonic()
		after := time.Since(w.began)
		if after-before < best {
			best = after - before
			w.offset = mono - int64(before+best/2)
		}
	}
}

// now returns the time since the writer was made, in nanoseconds.
func (w *Writer) now() int64 { return int64(time.Since(w.began)) }

// makeBlocks makes as many blocks as goroutines can run at once, up to maxBlocks.
func (w *Writer) makeBlocks() {
	n := min(max(runtime.GOMAXPROCS(0), runtime.NumCPU()), maxBlocks)
	w.blocks = make([]*block, n)
	for i := range w.blocks {
		w.blocks[i] = &block{w: w, n: i}
	}
}

// create makes and publishes the process's file.
func (w *Writer) create(dir string) error {
	f, err := makeFile(dir)
	if err != nil {
		return err
	}
	w.file = f
	length, least := uint64(mapSize64), uint64(1<<20)
	if unsafe.Sizeof(uintptr(0)) == 4 {
		length = mapSize32
	}
	err = f.lock()
	if err == nil {
		err = f.mapAll(length, least)
	}
	if err == nil {
		w.base, w.bump = f.base, procTables
		err = w.grow(procTables)
	}
	if err == nil {
		w.header()
		name := filepath.Base(f.path)[len(layout.NewPrefix):] + layout.ProcSuffix
		err = f.publish(name)
	}
	if err != nil {
		f.remove()
	}
	return err
}

// header writes the fields that are set when the file is published.
func (w *Writer) header() {
	copy(bytesAt(w.base, layout.ProcMagic, 8), layout.MagicProc)
	put16(w.base, layout.ProcMajor, layout.Major)
	put16(w.base, layout.ProcMinor, layout.Minor)
	for off, v := range map[uint64]uint32{
		layout.ProcOrder: layout.ByteOrder, layout.ProcHeaderLen: layout.ProcLen, layout.ProcBlockLen: layout.BlockLen, layout.ProcChunkLen: layout.ChunkLen,
		layout.ProcCellLen: layout.CellLen, layout.ProcPID: uint32(os.Getpid()), layout.ProcUID: uint32(os.Geteuid()), layout.ProcLanguage: layout.LanguageGo,
		layout.ProcAppMax: layout.AppMax, layout.ProcChunkMax: layout.ChunkMax, layout.ProcBlockMax: layout.BlockMax, layout.ProcEventLen: layout.EventLen, layout.ProcPairLen: layout.PairLen,
		layout.ProcTraceLen: layout.TraceLen, layout.ProcPairsLen: layout.PairsLen,
	} {
		put32(w.base, off, v)
	}
	pidns, start := identity()
	for off, v := range map[uint64]uint64{
		layout.ProcPIDNS: pidns, layout.ProcStart: start, layout.ProcNonce: w.names.nonce,
		layout.ProcInitsOff: procInits, layout.ProcChunksOff: procChunks, layout.ProcBlocksOff: procBlocks, layout.ProcBump: procTables,
	} {
		put64(w.base, off, v)
	}
	name, _ := os.Executable()
	putText(w.base, layout.ProcName, 64, filepath.Base(name))
	put32(w.base, layout.ProcState, layout.StateReady)
}

// OpenApp counts an application's arm_init and returns its number. who names the application's
// user: "*" stands for the login name, "" for none.
func (w *Writer) OpenApp(key, descr, who string) (uint32, error) {
	id, err := w.names.app(key, descr, who)
	if err != nil {
		return 0, err
	}
	// If the process is killed between the two, the application stays active for too long.
	// The other order could make it inactive while others use it.
	w.names.opened(id)
	w.inits(id, 1)
	return id, nil
}

// CloseApp counts an arm_end. ok is false if the application had no user left.
func (w *Writer) CloseApp(id uint32) (ok bool) {
	if uint32(w.names.use(id)) == 0 {
		return false
	}
	w.inits(id, -1)
	return w.names.closed(id)
}

func (w *Writer) inits(app uint32, by int32) {
	atomic.AddInt32((*int32)(unsafe.Add(w.base, procInits+4*uintptr(app-1))), by)
}
