package arm

import (
	"context"
	"sync/atomic"

	"github.com/pcp-rtime/rtime/internal/armseg"
)

// Transaction is a kind of work whose executions are measured. Its methods may be called
// by several goroutines at once; those of a nil Transaction do nothing.
type Transaction struct {
	tran atomic.Pointer[armseg.Tran] // nil while nothing is measured
	full atomic.Pointer[error]

	app               *Application
	name, key, detail string
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
	key, ok := armseg.Key(name)
	if !ok || !text(t.detail) {
		t.err = ErrName
	}
	t.key = key
	return t
}

// bind is called once there is a writer and the application has its number.
func (t *Transaction) bind(w *armseg.Writer, app uint32) {
	if t.err != nil {
		return
	}
	tran, err := w.Tran(app, t.key, t.name, t.detail)
	if err != nil {
		t.full.Store(&err)
		return
	}
	tran.Activate()
	t.tran.Store(tran)
}

// Err returns nil if the transaction is measured, and otherwise why it is not, or not
// yet.
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
	return t.app.Err()
}

// Start begins an execution (arm_start). It allocates nothing. What it returns measures
// nothing if the transaction does not, or if 131,072 are running in this process.
func (t *Transaction) Start(ctx context.Context) Running {
	if t == nil {
		return Running{}
	}
	tran := t.tran.Load()
	if tran == nil {
		return Running{}
	}
	return Running{tran.Start()}
}
