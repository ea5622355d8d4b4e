package pdu

import (
	"encoding/binary"
	"sync"

	"github.com/pcp-rtime/rtime/pcp"
)

// ResultWriter writes the RESULT that answers a fetch, one value after the other,
// and allocates nothing once its buffers have grown. The zero value is ready. Append of
// Result and HighresResult writes through it too: it alone knows the layout.
//
// The layout wants all value sets before all value blocks, and each value in a set
// to hold the position of its block. So sets and blocks grow in two buffers, and
// the position where the blocks will begin is guessed: it is where they began the
// last time, which is right whenever the same fetch comes again. Bytes mends the
// positions if the guess was wrong.
//
// A set is begun with Begin, gets values with Value, Put, Each and Indexed, or an error
// with Fail, and is ended with End.
type ResultWriter struct {
	sets   []byte
	blocks []byte
	counts int // where the number of sets goes in sets
	start  int // where the set being written begins in sets
	num    int // its values so far
	base   int // guessed length of sets, in words
	format byte
	count  int // sets begun
	ptrs   []span
	err    bool // the set being written has failed
}

// span is a run of values in sets that hold positions of blocks.
type span struct{ off, n int }

const (
	setHeaderLen = 12 // pmid, number of values, format
	instValueLen = 8  // instance, value or position
	blockWords   = 3  // of a block that holds a 64-bit value
)

// Reset begins a new RESULT. from goes into the header; state is 0 or the bits
// pcp.StateLabels and pcp.StateNames.
func (w *ResultWriter) Reset(from int32, state uint32) {
	w.reset(TypeResult, resultHead, resultHead-4, from)
	binary.BigEndian.PutUint32(w.sets[HeaderLen:], state)
}

// reset begins a PDU of type t, whose sets begin behind head bytes; their number goes to
// counts.
func (w *ResultWriter) reset(t Type, head, counts int, from int32) {
	w.base = len(w.sets) / 4
	w.sets = w.sets[:0]
	w.blocks = w.blocks[:0]
	w.ptrs = w.ptrs[:0]
	w.count, w.counts = 0, counts
	w.sets = append(w.sets, zeros[:head]...)
	binary.BigEndian.PutUint32(w.sets[4:], uint32(t))
	binary.BigEndian.PutUint32(w.sets[8:], uint32(from))
}

var zeros [highresHead]byte

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

// Fail gives the set that was begun an error instead of values. What is added to it later
// is dropped. The code must be negative.
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

// Value adds a value. The set becomes the error ErrType if the value has no valid type, or
// if some values of the set are in situ and some in blocks. It becomes ErrTooBig if the
// value has 16 MB or more.
func (w *ResultWriter) Value(inst int32, v pcp.Value) {
	switch t := v.Type(); t {
	case pcp.Type32, pcp.TypeU32:
		w.word(inst, uint32(v.Bits()))
	case pcp.TypeFloat:
		w.float(inst, uint32(v.Bits()))
	case pcp.Type64, pcp.TypeU64, pcp.TypeDouble:
		w.double(inst, t, v.Bits())
	case pcp.TypeString, pcp.TypeAggregate, pcp.TypeAggregateStatic, pcp.TypeEvent, pcp.TypeHighresEvent:
		addBytes(w, inst, t, v.Bytes())
	default:
		if !w.err {
			w.Fail(pcp.ErrType)
		}
	}
}

// word adds a value in situ.
func (w *ResultWriter) word(inst int32, v uint32) {
	if w.err || w.mixes(inSitu) {
		return
	}
	w.sets = binary.BigEndian.AppendUint64(w.sets, uint64(uint32(inst))<<32|uint64(v))
	w.num++
}

func (w *ResultWriter) float(inst int32, bits uint32) {
	if w.point(inst) {
		w.blocks = put32(putBlockHead(w.blocks, pcp.TypeFloat, 4), bits)
	}
}

// double adds a value of one of the 64-bit types.
func (w *ResultWriter) double(inst int32, t pcp.Type, bits uint64) {
	if w.point(inst) {
		w.blocks = put64(putBlockHead(w.blocks, t, 8), bits)
	}
}

// addBytes adds a string, to which the final NUL is added here, an aggregate, or event
// records as AppendEvents packs them.
func addBytes[B string | []byte](w *ResultWriter, inst int32, t pcp.Type, b B) {
	if w.err {
		return
	}
	nul := 0
	if t == pcp.TypeString {
		nul = 1
	}
	if !fitsBlock(len(b) + nul) {
		w.Fail(pcp.ErrTooBig)
		return
	}
	if w.point(inst) {
		w.blocks = putBytesBlock(w.blocks, t, b, nul)
	}
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
	if w.err || w.mixes(blocks) {
		return false
	}
	w.format = blocks
	w.sets = binary.BigEndian.AppendUint64(w.sets, uint64(uint32(inst))<<32|uint64(w.base+len(w.blocks)/4))
	w.num++
	return true
}

// words lends room for up to n values in situ in the set that was begun: eight bytes
// each, instance and value. addWords says how many were written.
func (w *ResultWriter) words(n int) []byte {
	w.sets = grow(w.sets, n*instValueLen)
	return w.sets[len(w.sets) : len(w.sets)+n*instValueLen]
}

// addWords takes over the first n values that were written into the room.
func (w *ResultWriter) addWords(n int) {
	if n == 0 || w.err || w.mixes(inSitu) {
		return
	}
	w.sets = w.sets[:len(w.sets)+n*instValueLen]
	w.num += n
}

// doubles lends room for up to n values of a 64-bit type in the set that was begun.
// For each value, eight bytes of sets hold instance and position, the first of
// which is pos and which go up by blockWords; twelve bytes of blocks hold the head
// and the value. addDoubles says how many were written.
func (w *ResultWriter) doubles(n int) (sets, blocks []byte, pos int) {
	w.sets = grow(w.sets, n*instValueLen)
	w.blocks = grow(w.blocks, n*4*blockWords)
	return w.sets[len(w.sets) : len(w.sets)+n*instValueLen],
		w.blocks[len(w.blocks) : len(w.blocks)+n*4*blockWords],
		w.base + len(w.blocks)/4
}

// addDoubles takes over the first n values that were written into the room.
func (w *ResultWriter) addDoubles(n int) {
	if n == 0 || w.err || w.mixes(blocks) {
		return
	}
	w.sets = w.sets[:len(w.sets)+n*instValueLen]
	w.blocks = w.blocks[:len(w.blocks)+n*4*blockWords]
	w.num += n
	w.format = blocks
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
	binary.BigEndian.PutUint32(w.sets[w.counts:], uint32(w.count))
	if len(w.blocks) <= mergeLen {
		head := append(w.sets, w.blocks...)
		w.sets = head[:len(w.sets)] // keeps the room
		return head, nil
	}
	return w.sets, w.blocks
}

// mergeLen is the greatest length of blocks that are copied behind the sets, so that one
// write does instead of two.
const mergeLen = 16 << 10

// writers are those of Append and Length.
var writers = sync.Pool{New: func() any { return new(ResultWriter) }}

// maxPooled is the most room that a writer in the pool may have.
const maxPooled = 1 << 20

// encode writes a PDU, except what its type has between the header and the sets.
func encode(t Type, head, counts int, from int32, sets []ValueSet) *ResultWriter {
	w := writers.Get().(*ResultWriter)
	w.reset(t, head, counts, from)
	for i := range sets {
		s := &sets[i]
		w.Begin(s.PMID)
		if s.Err != 0 {
			w.Fail(s.Err)
		}
		for j := range s.Values {
			w.Value(s.Values[j].Inst, s.Values[j].Value)
		}
		w.End()
	}
	return w
}

// appendTo appends the PDU to b, and gives the writer back.
func (w *ResultWriter) appendTo(b []byte) []byte {
	head, tail := w.Bytes()
	b = append(append(b, head...), tail...)
	w.release()
	return b
}

func (w *ResultWriter) release() {
	if w.Cap() <= maxPooled {
		writers.Put(w)
	}
}

// resultLength is how long a PDU is whose sets begin behind head bytes.
func resultLength(head int, sets []ValueSet) int {
	w := encode(TypeResult, head, HeaderLen, 0, sets)
	defer w.release()
	return w.Len()
}
