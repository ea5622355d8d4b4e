package pdu

import (
	"encoding/binary"

	"github.com/pcp-rtime/rtime/pcp"
)

// ResultWriter writes the RESULT that answers a fetch, one value after the other,
// and allocates nothing once its buffers have grown. The zero value is ready.
//
// The layout wants all value sets before all value blocks, and each value in a set
// to hold the position of its block. So sets and blocks grow in two buffers, and
// the position where the blocks will begin is guessed: it is where they began the
// last time, which is right whenever the same fetch comes again. Bytes mends the
// positions if the guess was wrong.
type ResultWriter struct {
	sets   []byte
	blocks []byte
	start  int // where the set being written begins in sets
	num    int // its values so far, or its error
	base   int // guessed length of sets, in words
	format byte
	count  int // sets begun
	ptrs   []span
	err    bool // the set being written has failed
}

// span is a run of values in sets that hold positions of blocks.
type span struct{ off, n int }

const (
	setHeaderLen  = 12 // pmid, number of values, format
	instValueLen  = 8  // instance, value or position
	resultHeadLen = HeaderLen + 12
	maxBlockLen   = 1<<24 - 1
)

// Reset begins a new RESULT. from goes into the header; state is 0 or the bits
// pcp.StateLabels and pcp.StateNames.
func (w *ResultWriter) Reset(from int32, state uint32) {
	w.base = len(w.sets) / 4
	w.sets = w.sets[:0]
	w.blocks = w.blocks[:0]
	w.ptrs = w.ptrs[:0]
	w.count = 0
	w.sets = append(w.sets, make([]byte, resultHeadLen)...)
	binary.BigEndian.PutUint32(w.sets[4:], uint32(TypeResult))
	binary.BigEndian.PutUint32(w.sets[8:], uint32(from))
	binary.BigEndian.PutUint32(w.sets[12:], state)
}

// Begin begins the value set of a metric.
func (w *ResultWriter) Begin(pmid pcp.PMID) {
	w.start, w.num, w.format, w.err = len(w.sets), 0, 0, false
	w.count++
	w.sets = binary.BigEndian.AppendUint32(w.sets, uint32(pmid))
	w.sets = append(w.sets, 0, 0, 0, 0, 0, 0, 0, 0)
}

// End ends the value set. A set without values has no format word.
func (w *ResultWriter) End() {
	if w.err {
		return
	}
	binary.BigEndian.PutUint32(w.sets[w.start+4:], uint32(w.num))
	if w.num == 0 {
		w.sets = w.sets[:w.start+8]
		return
	}
	w.sets[w.start+11] = w.format
	if w.format != 0 {
		w.ptrs = append(w.ptrs, span{w.start + setHeaderLen, w.num})
	}
}

// Fail makes the set that was begun one with an error instead of values; what is
// added to it later is dropped. The code must be negative.
func (w *ResultWriter) Fail(code pcp.Error) {
	if code >= 0 {
		code = pcp.ErrGeneric
	}
	if !w.err && w.format != 0 && w.num > 0 {
		first := binary.BigEndian.Uint32(w.sets[w.start+setHeaderLen+4:])
		w.blocks = w.blocks[:(int(first)-w.base)*4]
	}
	w.err = true
	w.sets = w.sets[:w.start+8]
	binary.BigEndian.PutUint32(w.sets[w.start+4:], uint32(code))
}

// Word adds a value of type 32 or U32.
func (w *ResultWriter) Word(inst int32, v uint32) {
	if w.err || w.mixes(0) {
		return
	}
	w.sets = binary.BigEndian.AppendUint64(w.sets, uint64(uint32(inst))<<32|uint64(v))
	w.num++
}

// Number adds a value of any numeric type, from its bits as pcp.RawNumber takes them.
func (w *ResultWriter) Number(inst int32, t pcp.Type, bits uint64) {
	switch t {
	case pcp.Type32, pcp.TypeU32:
		w.Word(inst, uint32(bits))
	case pcp.TypeFloat:
		if w.point(inst) {
			w.blocks = binary.BigEndian.AppendUint32(w.blocks, uint32(t)<<24|8)
			w.blocks = binary.BigEndian.AppendUint32(w.blocks, uint32(bits))
		}
	default:
		if w.point(inst) {
			w.blocks = binary.BigEndian.AppendUint32(w.blocks, uint32(t)<<24|12)
			w.blocks = binary.BigEndian.AppendUint64(w.blocks, bits)
		}
	}
}

// String adds a value of type STRING; the final NUL is added here.
func (w *ResultWriter) String(inst int32, s string) {
	if !w.fits(len(s)+1) || !w.point(inst) {
		return
	}
	w.blocks = binary.BigEndian.AppendUint32(w.blocks, uint32(pcp.TypeString)<<24|uint32(len(s)+5))
	w.blocks = append(w.blocks, s...)
	w.blocks = append(w.blocks, 0)
	w.pad()
}

// Raw adds a value that is bytes: an aggregate, or event records as AppendEvents
// packs them.
func (w *ResultWriter) Raw(inst int32, t pcp.Type, b []byte) {
	if !w.fits(len(b)) || !w.point(inst) {
		return
	}
	w.blocks = binary.BigEndian.AppendUint32(w.blocks, uint32(t)<<24|uint32(len(b)+4))
	w.blocks = append(w.blocks, b...)
	w.pad()
}

// fits fails the set if a block of n bytes is too long for its 24-bit length.
func (w *ResultWriter) fits(n int) bool {
	if n+4 < maxBlockLen {
		return true
	}
	w.Fail(pcp.ErrTooBig)
	return false
}

// mixes fails the set if its values so far are of the other format.
func (w *ResultWriter) mixes(format byte) bool {
	if w.num == 0 || w.format == format {
		return false
	}
	w.Fail(pcp.ErrType)
	return true
}

// point adds the position of the block that comes next.
func (w *ResultWriter) point(inst int32) bool {
	if w.err || w.mixes(1) {
		return false
	}
	w.format = 1
	w.sets = binary.BigEndian.AppendUint64(w.sets, uint64(uint32(inst))<<32|uint64(w.base+len(w.blocks)/4))
	w.num++
	return true
}

func (w *ResultWriter) pad() {
	for len(w.blocks)%4 != 0 {
		w.blocks = append(w.blocks, '~')
	}
}

// Words lends room for up to n values of type 32 or U32 in the set that was begun:
// eight bytes each, instance and value. AddWords says how many were written.
func (w *ResultWriter) Words(n int) []byte {
	w.sets = grow(w.sets, n*instValueLen)
	return w.sets[len(w.sets) : len(w.sets)+n*instValueLen]
}

// AddWords takes over the first n values that were written into the room.
func (w *ResultWriter) AddWords(n int) {
	if n == 0 || w.err || w.mixes(0) {
		return
	}
	w.sets = w.sets[:len(w.sets)+n*instValueLen]
	w.num += n
}

// Doubles lends room for up to n values of a 64-bit type in the set that was begun.
// For each value, eight bytes of sets hold instance and position, the first of
// which is pos and which go up by BlockWords; twelve bytes of blocks hold the header
// and the value. AddDoubles says how many were written.
func (w *ResultWriter) Doubles(n int) (sets, blocks []byte, pos int) {
	w.sets = grow(w.sets, n*instValueLen)
	w.blocks = grow(w.blocks, n*4*BlockWords)
	return w.sets[len(w.sets) : len(w.sets)+n*instValueLen],
		w.blocks[len(w.blocks) : len(w.blocks)+n*4*BlockWords],
		w.base + len(w.blocks)/4
}

// BlockWords is the length in words of a block that holds a 64-bit value.
const BlockWords = 3

// AddDoubles takes over the first n values that were written into the room.
func (w *ResultWriter) AddDoubles(n int) {
	if n == 0 || w.err || w.mixes(1) {
		return
	}
	w.sets = w.sets[:len(w.sets)+n*instValueLen]
	w.blocks = w.blocks[:len(w.blocks)+n*4*BlockWords]
	w.num += n
	w.format = 1
}

// grow makes sure that n more bytes fit behind b.
func grow(b []byte, n int) []byte {
	if cap(b)-len(b) >= n {
		return b
	}
	need := len(b) + n
	c := make([]byte, len(b), need+max(need/8, 1<<10))
	copy(c, b)
	return c
}

// Len returns how long the RESULT is so far, in bytes.
func (w *ResultWriter) Len() int { return len(w.sets) + len(w.blocks) }

// Cap returns how much room the writer keeps, in bytes.
func (w *ResultWriter) Cap() int { return cap(w.sets) + cap(w.blocks) }

// Bytes ends the RESULT and returns it in two parts, to be sent one after the other;
// the second may be empty. Both are good until the next Reset.
func (w *ResultWriter) Bytes() (head, tail []byte) {
	if delta := len(w.sets)/4 - w.base; delta != 0 {
		for _, s := range w.ptrs {
			for b := w.sets[s.off : s.off+s.n*instValueLen]; len(b) > 0; b = b[instValueLen:] {
				binary.BigEndian.PutUint32(b[4:], uint32(int(binary.BigEndian.Uint32(b[4:]))+delta))
			}
		}
		w.base += delta
	}
	binary.BigEndian.PutUint32(w.sets, uint32(len(w.sets)+len(w.blocks)))
	binary.BigEndian.PutUint32(w.sets[20:], uint32(w.count))
	if len(w.blocks) <= mergeLen {
		head := append(w.sets, w.blocks...)
		w.sets = head[:len(w.sets)] // keeps the room
		return head, nil
	}
	return w.sets, w.blocks
}

// mergeLen is how long the blocks may be to be copied behind the sets, for one
// write instead of two.
const mergeLen = 16 << 10
