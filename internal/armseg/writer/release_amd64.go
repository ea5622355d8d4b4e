//go:build amd64 && !race

package writer

// The processor makes stores visible in the order in which the program does them, and
// the compiler keeps that order, so a plain store publishes what was stored before it.
// An atomic one of package sync/atomic also waits for it to be visible, which costs as
// much as an atomic addition.

func release32(p *uint32, v uint32) { *p = v }
func release64(p *uint64, v uint64) { *p = v }
