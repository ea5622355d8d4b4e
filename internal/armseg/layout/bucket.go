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
