package armsql

import (
	"context"
	"errors"
	"sync"

	"github.com/pcp-rtime/rtime/arm"
	"github.com/pcp-rtime/rtime/arm/internal/protocol"
)

// Operation is what a driver is asked to do, and the name of its transactions without Naming.
type Operation string

// The operations that are measured.
const (
	Connect  Operation = "connect"
	Ping     Operation = "ping"
	Prepare  Operation = "prepare"
	Query    Operation = "query"
	Exec     Operation = "exec"
	Begin    Operation = "begin"
	Commit   Operation = "commit"
	Rollback Operation = "rollback"
)

// Option is an option of Connector and Driver.
type Option func(*names)

// Naming has a function name the transactions: by what is done, by the statement, which is
// empty where there is none, or by what the program has put into the context. Several
// goroutines may call it at once. There should be few names: a user has room for 65,536,
// and what has no room is not measured. "" measures nothing.
func Naming(f func(ctx context.Context, op Operation, statement string) string) Option {
	return func(n *names) { n.name = f }
}

// Judging has a function say how operations ended, by the driver's error, which is nil
// where there is none. Several goroutines may call it at once.
func Judging(f func(error) arm.Status) Option { return func(n *names) { n.judge = f } }

// Statements makes the first 127 bytes of a statement the detail of its transaction, of
// the first statement where several have one name. They are shown to all who can read the
// transactions, with all data that they hold.
func Statements() Option { return func(n *names) { n.statements = true } }

// names gives operations their transactions.
type names struct {
	app        *arm.Application
	name       func(ctx context.Context, op Operation, statement string) string
	judge      func(error) arm.Status
	statements bool
	known      sync.Map // name to *arm.Transaction
}

func newNames(app *arm.Application, opts []Option) *names {
	n := &names{
		app:   app,
		name:  func(_ context.Context, op Operation, _ string) string { return string(op) },
		judge: judge,
	}
	for _, opt := range opts {
		opt(n)
	}
	return n
}

func judge(err error) arm.Status {
	if err != nil {
		return arm.Aborted
	}
	return arm.Good
}

// of returns the transaction of an operation; nil measures nothing. A name is looked up in
// the application once.
func (n *names) of(ctx context.Context, op Operation, statement string) *arm.Transaction {
	name := n.name(ctx, op, statement)
	if name == "" {
		return nil
	}
	if t, ok := n.known.Load(name); ok {
		return t.(*arm.Transaction)
	}
	var opts []arm.TransactionOption
	if n.statements && statement != "" {
		opts = append(opts, arm.Detail(protocol.Detail(statement)))
	}
	t := n.app.Transaction(protocol.Name(name), opts...)
	if !errors.Is(t.Err(), arm.ErrFull) {
		n.known.Store(name, t)
	}
	return t
}

// call is an operation on its way.
type call struct {
	names   *names
	ctx     context.Context // for the driver
	running arm.Running
}

func (n *names) start(ctx context.Context, op Operation, statement string) call {
	inner, running := n.of(ctx, op, statement).StartContext(ctx)
	return call{n, inner, running}
}

// stop ends a call with the driver's error.
func (c call) stop(err error) { c.running.Stop(c.names.judge(err)) }
