package arm

import (
	"context"
	"time"

	"github.com/pcp-rtime/rtime/internal/armseg/layout"
	"github.com/pcp-rtime/rtime/internal/armseg/writer"
)

// Report counts an execution that was timed elsewhere and has just ended: it took d, which
// is not negative. It reports whether it was counted. It costs less than Start and Stop,
// but the execution is not seen while it runs, nor traced.
func (t *Transaction) Report(d time.Duration, s Status) bool {
	if t == nil || s > Failed {
		return false
	}
	tran := t.tran.Load()
	return tran != nil && tran.Report(uint64(max(d, 0)), writer.Status(s))
}

// ReportContext is Report for a child of what the context's correlator names, if the
// context carries one.
func (t *Transaction) ReportContext(ctx context.Context, d time.Duration, s Status) bool {
	p := passedBy(ctx)
	if p == nil {
		return t.Report(d, s)
	}
	if t == nil || s > Failed {
		return false
	}
	tran := t.tran.Load()
	return tran != nil && tran.ReportWith(uint64(max(d, 0)), writer.Status(s), p.parent.s)
}

// Correlator returns a correlator that names the transaction, but no execution of it. With
// it, executions that are timed elsewhere can be parents. It is zero while nothing is
// measured.
func (t *Transaction) Correlator() Correlator {
	if t == nil {
		return Correlator{}
	}
	tran := t.tran.Load()
	if tran == nil {
		return Correlator{}
	}
	var space [layout.CorrelatorMax]byte
	return Correlator{string(tran.Correlator(space[:0]))}
}
