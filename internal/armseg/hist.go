package armseg

import "math/bits"

// BucketBounds returns the shortest and the longest time in a bucket. The last bucket
// has all that is longer; it is given as one of the usual width.
func BucketBounds(b uint8) (lo, hi uint64) {
	if b < 8 {
		return uint64(b) << 6, uint64(b)<<6 + 63
	}
	shift := uint(b)/8 + 5 // e - 3 + 6
	lo = uint64(8+b%8) << shift
	return lo, lo + 1<<shift - 1
}

// BucketMiddle returns a time that is within 1/16 of all in the bucket from 512 ns to
// 2^40 ns, and within 32 ns below.
func BucketMiddle(b uint8) uint64 {
	lo, hi := BucketBounds(b)
	return lo + (hi-lo)/2
}

// Hist is a histogram of which only the buckets with something in them take room. The
// zero value is empty.
type Hist struct {
	set [HistLen / 64]uint64
	n   []uint64 // of the buckets in set, in order
}

// find returns where a bucket's count is or would be in n.
func (h *Hist) find(b uint8) (i int, there bool) {
	w, bit := b/64, uint64(1)<<(b%64)
	for _, s := range h.set[:w] {
		i += bits.OnesCount64(s)
	}
	return i + bits.OnesCount64(h.set[w]&(bit-1)), h.set[w]&bit != 0
}

// Get returns a bucket's count.
func (h *Hist) Get(b uint8) uint64 {
	if i, ok := h.find(b); ok {
		return h.n[i]
	}
	return 0
}

// Add adds to a bucket's count.
func (h *Hist) Add(b uint8, n uint64) {
	i, ok := h.find(b)
	if !ok {
		h.set[b/64] |= 1 << (b % 64)
		h.n = append(h.n, 0)
		copy(h.n[i+1:], h.n[i:])
		h.n[i] = 0
	}
	h.n[i] += n
}

// Sub takes from a bucket's count, which has at least as much. A count of 0 stays in its
// place.
func (h *Hist) Sub(b uint8, n uint64) {
	if i, ok := h.find(b); ok {
		h.n[i] -= n
	}
}

// Each calls f for all buckets that were added to, in ascending order, until it returns
// false.
func (h *Hist) Each(f func(b uint8, n uint64) bool) {
	i := 0
	for w, s := range h.set {
		for ; s != 0; s &= s - 1 {
			if !f(uint8(w*64+bits.TrailingZeros64(s)), h.n[i]) {
				return
			}
			i++
		}
	}
}

// Reset empties h and keeps its room.
func (h *Hist) Reset() { *h = Hist{n: h.n[:0]} }

// ring words: see docs/arm-segment.md.
const (
	ringMantissa = 34
	ringTime     = 40 // bits of the time
	ringClock    = 44 // where the clock begins
	clockShift   = 20 // of the clock in a ring word
)

// Ended is a good transaction as the ring of its cell has it.
type Ended struct {
	NS uint64 // how long it took: exact up to 17 s, within 2^-33 of it above
	At int64  // when it stopped, CLOCK_MONOTONIC: to about a millisecond
}

// RingWord returns what a cell's ring says of its n-th good transaction, which took ns
// nanoseconds and ended at a time of CLOCK_MONOTONIC.
func RingWord(n, ns uint64, at int64) uint64 {
	e := max(bits.Len64(ns)-ringMantissa, 0)
	return ns>>e | uint64(e)<<ringMantissa | n>>4&15<<ringTime | uint64(at)>>clockShift<<ringClock
}

// ringEnded reads a ring word at a time of CLOCK_MONOTONIC; ok is false for a word that
// is not that of the n-th one. What ended more than 18 minutes ago seems later.
func ringEnded(w, n uint64, now int64) (e Ended, ok bool) {
	if w == 0 || w>>ringTime&15 != n>>4&15 {
		return e, false
	}
	ago := (uint64(now)>>clockShift - w>>ringClock) & (1<<(64-ringClock) - 1)
	at := (int64(uint64(now)>>clockShift) - int64(ago)) << clockShift
	return Ended{NS: w & (1<<ringMantissa - 1) << (w >> ringMantissa & 63), At: at}, true
}
