package spmi

import (
	"math"
	"runtime"
	"sync/atomic"
	"time"
	"unsafe"
)

// Integer are the integer types that a statistic may have. The SPMI's types for them
// are: SiLong int64, SiULong uint64, SiInt int32, SiUInt uint32, SiShort int16,
// SiUShort uint16, SiChar uint8, SiPtr uintptr. All widths are fixed: int64 has eight
// bytes on every machine.
type Integer interface {
	int64 | uint64 | int32 | uint32 | int16 | uint16 | uint8 | uintptr
}

// Floating are the floating types: SiDouble float64 and SiFloat float32.
type Floating interface {
	float64 | float32
}

// cell is one value in a word of 64 bits. A narrower value has a whole word, too, so
// that every operation is one atomic operation of the machine. A cell that was not
// opened does nothing. area keeps the memory from being used for another context while
// a handle refers to it.
type cell struct {
	word *uint64
	area *area
}

func (c *cell) bind(word *uint64, a *area) { *c = cell{word, a} }

func (c cell) load() uint64 {
	if c.word == nil {
		return 0
	}
	v := atomic.LoadUint64(c.word)
	runtime.KeepAlive(c.area)
	return v
}

func (c cell) store(v uint64) {
	if c.word != nil {
		atomic.StoreUint64(c.word, v)
		runtime.KeepAlive(c.area)
	}
}

func (c cell) add(v uint64) {
	if c.word != nil {
		atomic.AddUint64(c.word, v)
		runtime.KeepAlive(c.area)
	}
}

// CounterOf is an integer that is only incremented; consumers show its rate. Any
// number of goroutines may call its methods at once, and no call is lost. No method
// waits, allocates or enters the kernel. The zero value does nothing, and neither does
// a counter whose context was removed. Copies are the same counter.
type CounterOf[T Integer] struct{ cell }

// Inc adds one.
func (c CounterOf[T]) Inc() { c.add(1) }

// Add adds n. n must not be negative.
func (c CounterOf[T]) Add(n T) { c.add(uint64(n)) }

// Set sets the counter to a value that is counted elsewhere.
func (c CounterOf[T]) Set(n T) { c.store(uint64(n)) }

// Value returns the current value.
func (c CounterOf[T]) Value() T { return T(c.load()) }

// QuantityOf is an integer that is a level; consumers show it as it is. Otherwise it
// is like CounterOf.
type QuantityOf[T Integer] struct{ cell }

// Add adds n. n may be negative.
func (q QuantityOf[T]) Add(n T) { q.add(uint64(n)) }

// Set sets the level.
func (q QuantityOf[T]) Set(n T) { q.store(uint64(n)) }

// Value returns the current level.
func (q QuantityOf[T]) Value() T { return T(q.load()) }

// FloatCounterOf is a sum of floating numbers; consumers show its rate. Its Add tries
// again if another goroutine has changed the value in between. Otherwise it is like
// CounterOf.
type FloatCounterOf[T Floating] struct{ cell }

// Add adds x. x must not be negative.
func (c FloatCounterOf[T]) Add(x T) { addFloat(c.cell, x) }

// Set sets the counter to a sum that is kept elsewhere.
func (c FloatCounterOf[T]) Set(x T) { c.store(floatBits(x)) }

// Value returns the current value.
func (c FloatCounterOf[T]) Value() T { return bitsFloat[T](c.load()) }

// FloatOf is a floating number that is a level. Otherwise it is like FloatCounterOf.
type FloatOf[T Floating] struct{ cell }

// Add adds x. x may be negative.
func (f FloatOf[T]) Add(x T) { addFloat(f.cell, x) }

// Set sets the level.
func (f FloatOf[T]) Set(x T) { f.store(floatBits(x)) }

// Value returns the current level.
func (f FloatOf[T]) Value() T { return bitsFloat[T](f.load()) }

// Types in common use.
type (
	Counter      = CounterOf[uint64]       // SiULong
	Quantity     = QuantityOf[int64]       // SiLong
	Gauge        = Quantity                // the same type under another common name
	Float        = FloatOf[float64]        // SiDouble
	FloatCounter = FloatCounterOf[float64] // SiDouble
)

// Timer is a sum of times in microseconds, in the SPMI's SiTimeval: seconds and
// microseconds of 32 bits each, which are read together. It is a counter. It wraps
// around after 2^31 seconds.
type Timer struct{ cell }

// Add adds d, truncated to microseconds. d must not be negative.
func (t Timer) Add(d time.Duration) {
	for t.word != nil {
		old := atomic.LoadUint64(t.word)
		if atomic.CompareAndSwapUint64(t.word, old, timeval(timevalDuration(old)+d)) {
			break
		}
	}
	runtime.KeepAlive(t.area)
}

// Set sets the timer to a sum that is kept elsewhere.
func (t Timer) Set(d time.Duration) { t.store(timeval(d)) }

// Value returns the current sum.
func (t Timer) Value() time.Duration { return timevalDuration(t.load()) }

// timeval packs a duration as two words of 32 bits in memory order.
func timeval(d time.Duration) uint64 {
	var v [2]uint32
	v[0] = uint32(d / time.Second)
	v[1] = uint32(d % time.Second / time.Microsecond)
	return pair(v)
}

func timevalDuration(w uint64) time.Duration {
	v := unpair(w)
	return time.Duration(v[0])*time.Second + time.Duration(v[1])*time.Microsecond
}

// pair and unpair treat a word as the two words in its bytes, lower address first.
func pair(v [2]uint32) uint64 {
	if littleEndian {
		return uint64(v[1])<<32 | uint64(v[0])
	}
	return uint64(v[0])<<32 | uint64(v[1])
}

func unpair(w uint64) [2]uint32 {
	if littleEndian {
		return [2]uint32{uint32(w), uint32(w >> 32)}
	}
	return [2]uint32{uint32(w >> 32), uint32(w)}
}

var littleEndian = *(*byte)(unsafe.Pointer(&[]uint16{1}[0])) == 1

func addFloat[T Floating](c cell, x T) {
	for c.word != nil {
		old := atomic.LoadUint64(c.word)
		if atomic.CompareAndSwapUint64(c.word, old, floatBits(bitsFloat[T](old)+x)) {
			break
		}
	}
	runtime.KeepAlive(c.area)
}

func floatBits[T Floating](x T) uint64 {
	if unsafe.Sizeof(x) == 4 {
		return uint64(math.Float32bits(float32(x)))
	}
	return math.Float64bits(float64(x))
}

func bitsFloat[T Floating](b uint64) T {
	if unsafe.Sizeof(T(0)) == 4 {
		return T(math.Float32frombits(uint32(b)))
	}
	return T(math.Float64frombits(b))
}
