package probe

import (
	"math"
	"slices"
	"time"
)

// MaxSamples is the most completed probes that the sliding window of one host
// holds. If more complete in a window's time, the oldest go first.
const MaxSamples = 4096

const (
	minRing  = 8
	rttBits  = 40
	rttMask  = 1<<rttBits - 1
	lostMark = rttMask // in place of a round-trip time
	maxRTT   = rttMask - 1
)

// sample is a completed probe in eight bytes: the upper 24 bits are the time of
// completion in milliseconds since the Prober's start, modulo 2^24 (4.6 hours); the
// lower 40 bits the round-trip time in nanoseconds, or lostMark.
type sample uint64

func makeSample(now, rtt time.Duration) sample {
	rtt = min(max(rtt, 0), maxRTT)
	return sample(uint64(now.Milliseconds())<<rttBits | uint64(rtt))
}

func makeLost(now time.Duration) sample {
	return sample(uint64(now.Milliseconds())<<rttBits | lostMark)
}

func (s sample) lost() bool         { return s&rttMask == lostMark }
func (s sample) rtt() time.Duration { return time.Duration(s & rttMask) }

// age is right for samples younger than 4.6 hours; window.fresh keeps it so.
func (s sample) age(now time.Duration) time.Duration {
	const clockMask = 1<<(64-rttBits) - 1
	ms := (uint64(now.Milliseconds()) - uint64(s>>rttBits)) & clockMask
	return time.Duration(ms) * time.Millisecond
}

// window is a ring of the completed probes of one host, oldest first. Its length is
// a power of two that grows with what one window's time really holds.
type window struct {
	ring  []sample
	head  int // index of the oldest
	count int
	last  time.Duration // time of the newest
}

// push adds s, completed at now, and forgets what is older than span.
func (w *window) push(s sample, now, span time.Duration) {
	w.prune(now, span)
	if w.count == len(w.ring) {
		if w.count < MaxSamples {
			w.grow()
		} else {
			w.drop()
		}
	}
	w.ring[(w.head+w.count)&(len(w.ring)-1)] = s
	w.count++
	w.last = now
}

// prune forgets the samples completed span or longer before now.
func (w *window) prune(now, span time.Duration) {
	if w.count > 0 && now-w.last >= span {
		// Samples may be so old that their clock has wrapped: ask none of them.
		w.head, w.count = 0, 0
		return
	}
	for w.count > 0 && w.ring[w.head].age(now) >= span {
		w.drop()
	}
}

func (w *window) drop() {
	w.head = (w.head + 1) & (len(w.ring) - 1)
	w.count--
}

func (w *window) grow() {
	ring := make([]sample, max(minRing, 2*len(w.ring)))
	n := copy(ring, w.ring[w.head:])
	copy(ring[n:], w.ring[:w.head])
	w.ring, w.head = ring, 0
}

// appendTo appends the samples, oldest first.
func (w *window) appendTo(s []sample) []sample {
	for i := range w.count {
		s = append(s, w.ring[(w.head+i)&(len(w.ring)-1)])
	}
	return s
}

// WindowStats describes the probes that were completed during the sliding window.
// Probes in flight are not in it.
type WindowStats struct {
	Completed int     // probes answered in time, timed out or ended by an ICMP error
	Answered  int     // those answered in time
	Loss      float64 // percent of Completed not answered; valid if Completed > 0

	// Of the round-trip times; valid if Answered > 0. Median and percentiles are
	// nearest-rank: the smallest observed value that at least that share of the
	// observations does not exceed. So the median of an even number of values is
	// the lower of the two in the middle, and each figure has really been observed.
	Min, Mean, Max, Median, P95, P99 time.Duration

	// Jitter is the mean absolute difference of consecutive round-trip times, in the
	// order of completion; probes without answer between them are passed over. It is
	// RFC 3550's |D| (6.4.1) with a plain mean over the window in place of its
	// running one. Valid if Answered > 1.
	Jitter time.Duration
}

// windowStats computes the statistics of s. It leaves s in another state: sorted
// round-trip times at its beginning.
func windowStats(s []sample) WindowStats {
	st := WindowStats{Completed: len(s)}
	rtts := s[:0]
	var sum, diffs, prev time.Duration
	for _, x := range s {
		if x.lost() {
			continue
		}
		rtt := x.rtt()
		if len(rtts) > 0 {
			diffs += (rtt - prev).Abs()
		}
		prev = rtt
		sum += rtt
		rtts = append(rtts, sample(rtt))
	}
	n := len(rtts)
	st.Answered = n
	if st.Completed > 0 {
		st.Loss = 100 * float64(st.Completed-n) / float64(st.Completed)
	}
	if n == 0 {
		return st
	}
	slices.Sort(rtts)
	st.Min, st.Max = rtts[0].rtt(), rtts[n-1].rtt()
	st.Mean = sum / time.Duration(n)
	st.Median, st.P95, st.P99 = rank(rtts, 50), rank(rtts, 95), rank(rtts, 99)
	if n > 1 {
		st.Jitter = diffs / time.Duration(n-1)
	}
	return st
}

// rank returns the nearest-rank percentile of sorted, which is not empty.
func rank(sorted []sample, percent int) time.Duration {
	i := int(math.Ceil(float64(percent*len(sorted))/100)) - 1
	return sorted[max(i, 0)].rtt()
}
