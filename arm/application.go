package arm

import (
	"errors"
	"sync"

	"github.com/pcp-rtime/rtime/internal/armseg/layout"
	"github.com/pcp-rtime/rtime/internal/armseg/writer"
)

// Application is a program, or a part of one, whose transactions are measured. All
// processes of a user that name an application share it. Its methods may be called by
// several goroutines at once; those of a nil Application do nothing.
type Application struct {
	name, key, user string
	lib             *library
	err             error // why it is never measured

	// trans maps each name to its first *Transaction, and variants to those that declare other
	// metrics than the first.
	trans sync.Map

	mu     sync.Mutex // guards what follows
	count  int        // of trans
	writer *writer.Writer
	id     uint32
	full   error // no room for the name
	closed bool
}

// Option is an option of NewApplication.
type Option func(*options)

type options struct{ user, dir string }

// User says who uses the application; "*" stands for the login name. It has up to 127 bytes. The
// same name with another user is another application. The agent adds up those of the same names.
func User(name string) Option { return func(o *options) { o.user = name } }

// Dir sets the directory of the segments. By default it is $RTIME_ARM_DIR, or else /run/rtime/arm.
func Dir(path string) Option { return func(o *options) { o.dir = path } }

// NewApplication names an application (arm_init). It never fails: Err tells whether the agent
// sees what is measured. The name has up to 127 bytes, of which the first 31 that are not
// blank count.
func NewApplication(name string, opts ...Option) *Application {
	var o options
	for _, opt := range opts {
		opt(&o)
	}
	a := &Application{name: name, user: o.user}
	key, ok := layout.Key(name)
	switch {
	case !ok || !text(o.user):
		a.err = ErrName
		return a
	case disabled():
		a.err = ErrDisabled
		return a
	}
	if o.dir == "" {
		o.dir = defaultDir()
	}
	a.key, a.lib = key, libraryOf(o.dir)
	a.lib.add(a)
	return a
}

// text reports whether a string can be kept beside a name.
func text(s string) bool {
	for i := range len(s) {
		if s[i] == 0 {
			return false
		}
	}
	return len(s) <= layout.NameMax
}

// attached gives the application its writer. The caller holds the library's lock. ok is false if
// there was no room for some name for now, so that it must be called again.
func (a *Application) attached(w *writer.Writer) (ok bool) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.closed {
		return true
	}
	if a.writer != w {
		id, err := w.OpenApp(a.key, a.name, a.user)
		if a.full = err; err != nil {
			return errors.Is(err, ErrFull)
		}
		a.writer, a.id = w, id
	}
	ok = true
	a.trans.Range(func(_, t any) bool {
		ok = t.(*Transaction).bind(w, a.id) && ok
		return true
	})
	return ok
}

// Transaction names a transaction of the application (arm_getid). It makes the transaction active
// again if the application was closed by all its users in between. For the same name it returns
// the same transaction, and another one if other metrics are declared. Without options it returns
// the first one of the name, and allocates nothing. It never fails; Err tells whether the
// transaction is measured.
func (a *Application) Transaction(name string, opts ...TransactionOption) *Transaction {
	if a == nil {
		return nil
	}
	if t, ok := a.trans.Load(name); ok && len(opts) == 0 {
		return t.(*Transaction).again()
	}
	t, ok := a.add(newTransaction(a, name, opts))
	if !ok {
		a.lib.later()
	}
	return t.again()
}

// variant is a transaction that declares other metrics than the first one of its name.
type variant struct {
	name    string
	metrics writer.Declared
}

// find returns the transaction of the name that declares the same metrics, or the first one if t
// declares none. If it is not there, key is where to store it.
func (a *Application) find(t *Transaction) (old *Transaction, key any) {
	first, ok := a.trans.Load(t.name)
	if !ok {
		return nil, t.name
	}
	if old = first.(*Transaction); len(t.metrics) == 0 || old.declared() == t.declared() {
		return old, nil
	}
	v := variant{t.name, t.declared()}
	if same, ok := a.trans.Load(v); ok {
		return same.(*Transaction), nil
	}
	return nil, v
}

// add stores a transaction, unless it is there already. ok is false if it could not be bound for
// now.
func (a *Application) add(t *Transaction) (_ *Transaction, ok bool) {
	a.mu.Lock()
	defer a.mu.Unlock()
	old, key := a.find(t)
	if old != nil {
		return old, true
	}
	if a.count == layout.TranMax {
		// A program that keeps making up names must not run out of memory.
		t.full.Store(&full)
		return t, true
	}
	a.count++
	// It is bound before it is stored: another goroutine may find it right after that.
	ok = a.writer == nil || a.closed || t.bind(a.writer, a.id)
	a.trans.Store(key, t)
	return t, ok
}

var full error = ErrFull

// Err returns nil if the agent can see what the application measures. Otherwise it says why not,
// or why not yet.
func (a *Application) Err() error {
	if a == nil || a.err != nil {
		return a.refused()
	}
	err := a.lib.error()
	a.mu.Lock()
	defer a.mu.Unlock()
	switch {
	case a.closed:
		return ErrClosed
	case err != nil:
		return err
	}
	return a.full
}

func (a *Application) refused() error {
	if a == nil {
		return ErrClosed
	}
	return a.err
}

// Close says that this program has finished with the application (arm_end). Its transactions can
// no longer start; those that run can still be stopped. What was counted stays. Close of a closed
// application does nothing.
func (a *Application) Close() error {
	if a == nil || a.lib == nil {
		return nil
	}
	a.lib.remove(a)
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.closed {
		return nil
	}
	a.closed = true
	a.trans.Range(func(_, t any) bool {
		t.(*Transaction).tran.Store(nil)
		return true
	})
	if a.writer != nil {
		a.writer.CloseApp(a.id)
	}
	return nil
}
