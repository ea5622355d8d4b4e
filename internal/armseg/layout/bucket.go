package layout

import "math/bits"

// Bucket returns the bucket of the histogram that a time in nanoseconds is counted in.
func Bucket(d uint64) uint8 {
	u := d >> 6
	if u < 8 {
		return uint8(u)
	}
	e := bits.Len64(u) - 1
	return uint8(min(8*(e-2)+int(u>>(e-3)&7), HistLen-1))
}

// BucketBounds returns the shortest and the longest time in a bucket. The last bucket
// also counts all longer times, but its bounds are those of a bucket of the usual width.
func BucketBounds(b uint8) (lo, hi uint64) {
	if b < 8 {
		return uint64(b) << 6, uint64(b)<<6 + 63
	}
	shift := uint(b)/8 + 5 // e - 3 + 6
	lo = uint64(8+b%8) << shift
	return lo, lo + 1<<shift - 1
}

// BucketMiddle returns the middle of a bucket. From 512 ns to 2^40 ns it differs from
// every time in the bucket by at most 1/16, and below 512 ns by at most 32 ns.
func BucketMiddle(b uint8) uint64 {
	lo, hi := BucketBounds(b)
	return lo + (hi-lo)/2
}
