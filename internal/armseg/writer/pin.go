//go:build !gc

package writer

import "sync/atomic"

var turn atomic.Uint32

// currentP takes turns, because this compiler does not tell which P a goroutine runs on.
func currentP() uint { return uint(turn.Add(1)) }
