//go:build !gc

package writer

import "sync/atomic"

var turn atomic.Uint32

// currentP takes turns where the P is not to be had.
func currentP() uint { return uint(turn.Add(1)) }
