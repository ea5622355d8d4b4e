package arm

import (
	"context"
	"errors"
	"sync/atomic"

	"github.com/pcp-rtime/rtime/internal/armseg/layout"
	"github.com/pcp-rtime/rtime/internal/armseg/writer"
)

// Transaction is a kind of work whose executions are measured. Its methods may be called
// by several goroutines at once; those of a nil Transaction do nothing.
type Transaction struct {
	tran atomic.Pointer[writer.Tran] // nil while nothing is measured
	full atomic.Pointer[error]

	app               *Application
	name, key, detail string
	metrics           []*writer.Metric
	noMetrics         bool  // the declared metrics do not fit together
	err               error // never to be measured
}

// TransactionOption is an option of Application.Transaction.
type TransactionOption func(*Transaction)

// Detail says more about a transaction, in up to 127 bytes.
func Detail(text string) TransactionOption { return func(t *Transaction) { t.detail = text } }

func newTransaction(a *Application, name string, opts []TransactionOption) *Transaction {
	t := &Transaction{app: a, name: name}
	for _, opt := range opts {
		opt(t)
	}
	key, ok := layout.Key(name)
	if !ok || !text(t.detail) {
		t.err = ErrName
	}
	if checkMetrics(t.metrics) != nil {
		t.metrics, t.noMetrics = nil, true
	}
	t.key = key
	return t
}

func (t *Transaction) declared() writer.Declared { return writer.Declare(t.metrics) }

// again makes a transaction active again.
func (t *Transaction) again() *Transaction {
	if tran := t.tran.Load(); tran != nil {
		tran.Activate()
	}
	return t
}

// bind lets the transaction be measured, once there is a writer and the application has its
// number. ok is false if it must be called again.
func (t *Transaction) bind(w *writer.Writer, app uint32) (ok bool) {
	if old := t.tran.Load(); t.err != nil || old != nil && old.Of(w) {
		return true
	}
	tran, err := w.Tran(app, t.key, t.name, t.detail, t.declared())
	if err != nil {
		t.full.Store(&err)
		return errors.Is(err, ErrFull)
	}
	tran.Activate()
	t.full.Store(nil)
	t.tran.Store(tran)
	return true
}

// Err returns nil if the agent can see what the transaction measures. Otherwise it says why
// not, or why not yet. ErrMetric says that the transaction is measured without its metrics.
func (t *Transaction) Err() error {
	if t == nil {
		return ErrClosed
	}
	if t.err != nil {
		return t.err
	}
	if err := t.full.Load(); err != nil {
		return *err
	}
	if err := t.app.Err(); err != nil || !t.noMetrics {
		return err
	}
	return ErrMetric
}

// Start begins an execution (arm_start), with values of the transaction's metrics. It is a
// child of the execution whose correlator the context carries. Start allocates nothing once it
// has room on the processor it runs on. The Running that it returns measures nothing if the
// transaction does not, or if 131,072 executions are running in this process.
func (t *Transaction) Start(ctx context.Context, values ...Value) Running {
	if t == nil {
		return Running{}
	}
	tran := t.tran.Load()
	if tran == nil {
		return Running{}
	}
	p := passedBy(ctx)
	if p == nil && len(values) == 0 && !tran.Traced() {
		return Running{tran.Start()}
	}
	var space [layout.CorrelatorMax]byte
	r, _ := tran.StartWith(begin(p, values), space[:0])
	return Running{r}
}

func begin(p *passed, values []Value) writer.Begin {
	b := writer.Begin{Values: inner(values)}
	if p != nil {
		b.Parent, b.Trace = p.parent.s, p.trace
	}
	return b
}

// StartContext does what Start does, and also returns a context with the execution's own
// correlator. Executions that start with that context are its children. It allocates the
// context and the correlator.
func (t *Transaction) StartContext(ctx context.Context, values ...Value) (context.Context, Running) {
	if t == nil {
		return ctx, Running{}
	}
	tran := t.tran.Load()
	if tran == nil {
		return ctx, Running{}
	}
	var space [layout.CorrelatorMax]byte
	r, own := tran.StartWith(begin(passedBy(ctx), values), space[:0])
	if len(own) == 0 {
		return ctx, Running{}
	}
	return ContextWithCorrelator(ctx, Correlator{string(own)}), Running{r}
}
