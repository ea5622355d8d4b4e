//go:build amd64 && !race

package writer

// The processor makes stores visible in the order of the program, and the compiler keeps
// that order. So a plain store publishes what was stored before it. An atomic store of
// package sync/atomic also waits until it is visible, which costs as much as an atomic
// addition.

func release32(p *uint32, v uint32) { *p = v }
func release64(p *uint64, v uint64) { *p = v }
