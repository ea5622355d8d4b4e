package arm

import (
	"github.com/pcp-rtime/rtime/internal/armseg/writer"
)

// Running is an execution of a transaction, from Start to Stop. Copies are the same
// execution. Any goroutine may update and stop it; the zero value stands for none, and does
// nothing.
type Running struct{ r writer.Running }

// Stop ends the execution and counts it (arm_stop), with values of the transaction's
// metrics. It returns false if the execution had ended before or was never measured, or if
// there is no such status. It allocates nothing.
func (r Running) Stop(s Status, values ...Value) bool {
	return s <= Failed && r.r.Stop(writer.Status(s), inner(values))
}

// Update says that the execution goes on (arm_update), with values of the transaction's
// metrics. It reports whether the execution is measured and running.
func (r Running) Update(values ...Value) bool { return r.r.Update(inner(values), "") }

// UpdateText is Update with a text for people, up to 1,020 bytes, that is kept if the
// execution is traced.
func (r Running) UpdateText(text string, values ...Value) bool {
	return r.r.Update(inner(values), text)
}
