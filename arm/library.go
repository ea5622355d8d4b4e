package arm

import (
	"os"
	"sync"
	"time"

	"github.com/pcp-rtime/rtime/internal/armseg/layout"
	"github.com/pcp-rtime/rtime/internal/armseg/writer"
)

// How long to wait before a directory that could not be written is tried again. Each
// time takes twice as long as the one before.
const (
	firstRetry = time.Second
	lastRetry  = time.Minute
)

// library is what the applications of this process in one directory share.
type library struct {
	dir string

	mu     sync.Mutex // guards what follows; never taken in Start or Stop
	writer *writer.Writer
	err    error // why there is none
	open   map[*Application]struct{}
	wait   time.Duration
	timer  *time.Timer // runs while applications wait for a writer
}

var (
	librariesMu sync.Mutex
	libraries   = map[string]*library{}
)

// libraryOf returns what belongs to a directory.
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

// defaultDir is where segments lie. A program with more rights than its caller does not
// listen to the caller's environment.
func defaultDir() string {
	if dir := os.Getenv(layout.DirEnv); dir != "" && !writer.Privileged() {
		return dir
	}
	return layout.DefaultDir
}

// disabled reports whether the environment asks for no measurement.
func disabled() bool { return os.Getenv("INVOKE_ARM") == "false" }

// add takes an application in, attaching if that has not been done.
func (l *library) add(a *Application) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.open[a] = struct{}{}
	l.attach()
	if l.writer != nil && !a.attached(l.writer) {
		l.schedule()
	}
}

// remove lets an application go.
func (l *library) remove(a *Application) {
	l.mu.Lock()
	defer l.mu.Unlock()
	delete(l.open, a)
	if len(l.open) == 0 && l.timer != nil {
		l.timer.Stop()
		l.timer, l.wait = nil, 0
	}
}

// attach tries to get a writer, and to try again later if there is none. The caller
// holds l.mu.
func (l *library) attach() {
	if l.writer == nil {
		l.writer, l.err = writer.Attach(l.dir)
	}
	if l.writer == nil {
		l.schedule()
	}
}

// schedule has what lacks a writer, or room for a name, tried again. The caller holds l.mu.
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
	if l.timer == nil || len(l.open) == 0 {
		return
	}
	l.timer = nil
	l.attach()
	if l.writer == nil {
		return
	}
	ok := true
	for a := range l.open {
		ok = a.attached(l.writer) && ok
	}
	if ok {
		l.wait = 0
	} else {
		l.schedule()
	}
}

// error returns nil once there is a writer and all applications have it.
func (l *library) error() error {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.err
}
