package arm

import "github.com/pcp-rtime/rtime/internal/armseg"

// Running is an execution of a transaction, from Start to Stop. Copies are the same
// execution. Any goroutine may stop it, and the zero value is none.
type Running struct{ r armseg.Running }

// Stop ends the execution and counts it (arm_stop). It reports whether it did: not if it
// had ended before, or was never measured, or there is no such status. It allocates
// nothing.
func (r Running) Stop(s Status) bool {
	return s <= Failed && r.r.Stop(armseg.Status(s))
}
