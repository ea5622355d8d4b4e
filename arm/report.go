package arm

import (
	"time"

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
