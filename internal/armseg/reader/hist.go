//go:build linux

package reader

import (
	"math/bits"

	"github.com/pcp-rtime/rtime/internal/armseg/layout"
)

// Hist is a histogram in which only the buckets that were added to take room. The zero
// value is empty.
type Hist struct {
	set [layout.HistLen / 64]uint64
	n   []uint64 // counts of the buckets in set, in order
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

// Sub takes n from a bucket's count, which must be at least n. A count of 0 stays in its
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
