package layout

import "math/bits"

// Parts of a ring word (docs/arm-segment.md).
const (
	ringMantissa = 34
	ringTime     = 40 // bits of the time
	ringClock    = 44 // where the clock begins
	clockShift   = 20 // low bits of the clock that a ring word leaves out
)

// Ended is a good transaction, as its cell's ring records it.
type Ended struct {
	NS uint64 // how long it took: exact up to 17 s, within 2^-33 of it above
	At int64  // when it stopped, CLOCK_MONOTONIC: to about a millisecond
}

// RingWord returns the word for a cell's n-th good transaction, which took ns nanoseconds
// and ended at a time of CLOCK_MONOTONIC.
func RingWord(n, ns uint64, at int64) uint64 {
	e := max(bits.Len64(ns)-ringMantissa, 0)
	return ns>>e | uint64(e)<<ringMantissa | n>>4&15<<ringTime | uint64(at)>>clockShift<<ringClock
}

// RingEnded decodes a ring word; now is CLOCK_MONOTONIC. ok is false if the word is not
// that of the n-th transaction. If the transaction ended more than 18 minutes ago, At is
// too late.
func RingEnded(w, n uint64, now int64) (e Ended, ok bool) {
	if w == 0 || w>>ringTime&15 != n>>4&15 {
		return e, false
	}
	ago := (uint64(now)>>clockShift - w>>ringClock) & (1<<(64-ringClock) - 1)
	at := (int64(uint64(now)>>clockShift) - int64(ago)) << clockShift
	return Ended{NS: w & (1<<ringMantissa - 1) << (w >> ringMantissa & 63), At: at}, true
}
