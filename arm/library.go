package arm

import (
	"os"
	"sync"
	"time"

	"github.com/pcp-rtime/rtime/internal/armseg/layout"
	"github.com/pcp-rtime/rtime/internal/armseg/writer"
)

// The first and the longest wait before a directory that could not be written is tried again.
// Each wait is twice as long as the one before.
const (
	firstRetry = time.Second
	lastRetry  = time.Minute
)

// library is what the applications of this process in one directory share.
type library struct {
	dir string

	mu     sync.Mutex     // guards what follows; never taken in Start or Stop
	writer *writer.Writer // counts in memory until files can be made; nil if there is no memory
	err    error          // why there are no files
	early  *writer.Writer // the writer that counted in memory before; nil once its counts have moved
	open   map[*Application]struct{}
	wait   time.Duration
	timer  *time.Timer // runs while applications wait for a writer
}

var (
	librariesMu sync.Mutex
	libraries   = map[string]*library{}
)

// libraryOf returns the library of a directory, and makes it if it is not there.
func libraryOf(dir string) *library {
	librariesMu.Lock()
	defer librariesMu.Unlock()
	l := libraries[dir]
	if l == nil {
		l = &library{dir: dir, open: map[*Application]struct{}{}}
		libraries[dir] = l
	}
	return l
}

// defaultDir returns the directory of the segments. A program with more rights than its caller
// ignores the caller's environment.
func defaultDir() string {
	if dir := os.Getenv(layout.DirEnv); dir != "" && !writer.Privileged() {
		return dir
	}
	return layout.DefaultDir
}

// disabled reports whether the environment asks for no measurement.
func disabled() bool { return os.Getenv("INVOKE_ARM") == "false" }

// add adds an application. It attaches if that has not been done.
func (l *library) add(a *Application) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.open[a] = struct{}{}
	if l.attach() {
		l.bind()
	} else if l.writer != nil && !a.attached(l.writer) {
		l.schedule()
	}
}

// bind gives all applications the writer.
func (l *library) bind() {
	if l.writer == nil {
		return
	}
	for a := range l.open {
		if !a.attached(l.writer) {
			l.schedule()
		}
	}
	l.move()
}

// remove forgets an application.
func (l *library) remove(a *Application) {
	l.mu.Lock()
	defer l.mu.Unlock()
	delete(l.open, a)
	if len(l.open) == 0 && l.timer != nil && l.writer != nil && !l.writer.IsMemory() && l.early == nil {
		l.timer.Stop()
		l.timer, l.wait = nil, 0
	}
}

// attach makes sure that there is a writer. Without files the writer counts in memory, and
// attach is called again later. files is true if there were none before. The caller holds
// l.mu.
func (l *library) attach() (files bool) {
	if l.writer != nil && !l.writer.IsMemory() {
		return false
	}
	var w *writer.Writer
	if w, l.err = writer.Attach(l.dir); l.err == nil {
		l.early, l.writer = l.writer, w
		return true
	}
	if l.writer == nil {
		l.writer, _ = writer.InMemory() // l.err says more than its error
	}
	l.schedule()
	return false
}

// move adds to the files what was counted in memory before, once all starts go to the files.
func (l *library) move() {
	if l.early != nil && l.early.MoveTo(l.writer) != nil {
		l.schedule()
		return
	}
	l.early = nil
}

// schedule makes retry run later, because files or the room for a name are missing. The caller
// holds l.mu.
func (l *library) schedule() {
	if l.timer == nil {
		l.wait = min(max(2*l.wait, firstRetry), lastRetry)
		l.timer = time.AfterFunc(l.wait, l.retry)
	}
}

func (l *library) later() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.schedule()
}

func (l *library) retry() {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.timer == nil {
		return
	}
	l.timer = nil
	l.attach()
	l.bind()
	if l.timer == nil {
		l.wait = 0
	}
}

// error returns nil once there are files.
func (l *library) error() error {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.err
}
