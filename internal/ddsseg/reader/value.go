//go:build linux

package reader

import (
	"bytes"
	"encoding/binary"
	"math"

	"github.com/pcp-rtime/rtime/internal/ddsseg/layout"
)

// Op says how a value is read. All except OpText give 64 bits.
type Op uint8

// The ways to read values.
const (
	OpNone   Op = iota // there is no value
	OpU8               // zero-extended
	OpU16              // zero-extended
	OpU32              // zero-extended
	OpI8               // sign-extended, like the next two
	OpI16              //
	OpI32              //
	Op64               // unchanged
	OpFloat            // bits of a float64 of the same value
	OpDouble           // bits of a float64
	OpTime32           // a struct timeval of two 32-bit words: microseconds, signed
	OpTime64           // a struct timeval of two 64-bit words
	OpText             // bytes up to a NUL: see Text
)

// MaxText is the greatest length in bytes of a statistic of characters.
const MaxText = 1024

// Field says where a value lies in a data area, and how it is read.
type Field struct {
	Off uint32
	Op  Op
}

// Signed reports whether the value is a signed integer.
func (s *Stat) Signed() bool {
	switch s.Type {
	case layout.Long, layout.Int, layout.Short, layout.Timeval:
		return true
	}
	return false
}

// Field returns how the statistic is read. This depends on how the value is stored, not on
// how the SPMI presents it: long and pointers have the size that they have in the supplier.
// The Op is OpNone if type and size do not fit together.
func (s *Stat) Field() Field { return Field{s.Offset, s.op()} }

func (s *Stat) op() Op {
	switch s.Type {
	case layout.Float, layout.Double:
		switch s.Size {
		case 4:
			return OpFloat
		case 8:
			return OpDouble
		}
		return OpNone
	case layout.Timeval:
		switch s.Size {
		case 8:
			return OpTime32
		case 16:
			return OpTime64
		}
		return OpNone
	case layout.Char:
		if s.Size > 1 && s.Size <= MaxText {
			return OpText
		}
	}
	return s.integer()
}

func (s *Stat) integer() Op {
	unsigned, signed := OpNone, OpNone
	switch s.Size {
	case 1:
		unsigned, signed = OpU8, OpI8
	case 2:
		unsigned, signed = OpU16, OpI16
	case 4:
		unsigned, signed = OpU32, OpI32
	case 8:
		unsigned, signed = Op64, Op64
	}
	switch {
	case s.Type == layout.Char && s.Size > 1:
		return OpNone
	case s.Signed():
		return signed
	}
	return unsigned
}

// Place says where the values of one context lie. The zero Place has none. A Place is
// small, because a fetch of many contexts walks the places of all.
type Place struct {
	data   uint64 // offset
	record uint64 // offset of the slot, or of the context's record
	use    uint32 // what the slot's sequence word must be, or fixedUse
}

// fixedUse is the use of a record that does not belong to a slot. It is odd, and no slot
// that can be read has an odd sequence word.
const fixedUse = 1

// tries bounds how often a reader looks again while a supplier is in the middle of a
// change. A supplier that was stopped or killed at that point never finishes the change.
const tries = 64

// Guard calls f, which may call Read. If the file is damaged, f ends and Guard returns the
// error.
func (r *Reader) Guard(f func()) error { return r.m.Guard(f) }

// Collect is Read for a single context. The error reports damage to the file.
func (r *Reader) Collect(a *Place, fields []Field, out []uint64) (ok bool, err error) {
	err = r.m.Guard(func() { ok = r.Read(a, fields, out) })
	return ok, err
}

// Read reads the fields of a context into out, at the same indices. The values belong
// together: they have all of an update or none of it. Read returns false, and out is
// undefined, if the supplier is in the middle of an update or if another context has the
// slot. It skips a field whose Op is OpNone or OpText. Call it within Guard.
func (r *Reader) Read(a *Place, fields []Field, out []uint64) bool {
	return r.ReadTexts(a, fields, out, nil)
}

// Chars is a statistic of characters and the buffer for them, which has as many bytes as
// the statistic.
type Chars struct {
	Off uint32
	To  []byte
}

// Text returns the characters up to a NUL or the end. They are valid until the next read.
func (c *Chars) Text() []byte {
	b, _, _ := bytes.Cut(c.To, []byte{0})
	return b
}

// ReadTexts is Read for a context with statistics of characters. The characters and the
// other values belong together.
func (r *Reader) ReadTexts(a *Place, fields []Field, out []uint64, texts []Chars) bool {
	if a.data == 0 {
		return false
	}
	for range tries {
		if !a.ours(r) {
			return false
		}
		before, _ := r.m.Load32(a.record + layout.CtxUpdate)
		if before&1 != 0 {
			continue
		}
		whole := r.fields(a.data, fields, out)
		for i := range texts {
			whole = r.m.CopyWords(texts[i].To, a.data+uint64(texts[i].Off)) && whole
		}
		if after, _ := r.m.Load32(a.record + layout.CtxUpdate); after == before && whole {
			return a.ours(r)
		}
	}
	return false
}

// fields reads the present contents of a data area. It returns false if a time keeps
// changing while it is read.
func (r *Reader) fields(data uint64, fields []Field, out []uint64) (whole bool) {
	out, whole = out[:len(fields)], true
	for i, f := range fields {
		if f.Op == Op64 { // by far the most frequent
			if v, ok := r.m.Load64(data + uint64(f.Off)); ok {
				out[i] = v
				continue
			}
		}
		v, ok := r.value(data, f)
		out[i], whole = v, whole && ok
	}
	return whole
}

// ours reports whether the area still belongs to the same use of its slot.
func (a *Place) ours(r *Reader) bool {
	if a.use == fixedUse {
		return true
	}
	now, ok := r.m.Load32(a.record + layout.SlotSeq)
	return ok && now == a.use
}

// value reads one field. It returns false if a time keeps changing while it is read.
func (r *Reader) value(data uint64, f Field) (v uint64, ok bool) {
	off := data + uint64(f.Off)
	switch f.Op {
	case Op64, OpDouble:
		if v, ok = r.m.Load64(off); !ok {
			return r.unaligned(off, 8)
		}
		return v, ok
	case OpU32, OpI32, OpFloat:
		w, ok := r.m.Load32(off)
		if v = uint64(w); !ok {
			v, ok = r.unaligned(off, 4)
		}
		return widen(f.Op, v), ok
	case OpU16, OpI16:
		w, ok := r.m.Load16(off)
		if v = uint64(w); !ok {
			v, ok = r.unaligned(off, 2)
		}
		return widen(f.Op, v), ok
	case OpU8, OpI8:
		w, ok := r.m.Load8(off)
		return widen(f.Op, uint64(w)), ok
	case OpTime32, OpTime64:
		return r.time(off, f.Op)
	}
	return 0, true
}

func widen(op Op, v uint64) uint64 {
	switch op {
	case OpI8:
		return uint64(int64(int8(v)))
	case OpI16:
		return uint64(int64(int16(v)))
	case OpI32:
		return uint64(int64(int32(v)))
	case OpFloat:
		return math.Float64bits(float64(math.Float32frombits(uint32(v))))
	}
	return v
}

// unaligned reads a member of a packed structure. No processor stores such a member as a
// whole.
func (r *Reader) unaligned(off uint64, n int) (uint64, bool) {
	var b [8]byte
	ok := r.m.CopyWords(b[:n], off)
	switch n {
	case 2:
		return uint64(binary.NativeEndian.Uint16(b[:])), ok
	case 4:
		return uint64(binary.NativeEndian.Uint32(b[:])), ok
	}
	return binary.NativeEndian.Uint64(b[:]), ok
}

// time reads a struct timeval twice, because its words are stored one after the other.
// Without an update, a reader may still see the new seconds with the old microseconds.
func (r *Reader) time(off uint64, op Op) (uint64, bool) {
	var b [16]byte
	width := 8
	if op == OpTime32 {
		width = 4
	}
	for range tries {
		var again [16]byte
		if !r.m.CopyWords(b[:2*width], off) || !r.m.CopyWords(again[:2*width], off) {
			return 0, false
		}
		if b == again {
			sec, usec := timeval(b[:], width)
			return uint64(sec*1e6 + usec), usec >= 0 && usec < 1e6 && sec >= -maxSeconds && sec <= maxSeconds
		}
	}
	return 0, false
}

// maxSeconds is how far from 1970 a time may be so that its microseconds fit.
const maxSeconds = math.MaxInt64/1000000 - 1

func timeval(b []byte, width int) (sec, usec int64) {
	if width == 4 {
		return int64(int32(binary.NativeEndian.Uint32(b))), int64(int32(binary.NativeEndian.Uint32(b[4:])))
	}
	return int64(binary.NativeEndian.Uint64(b)), int64(binary.NativeEndian.Uint64(b[8:]))
}

// Text reads a statistic of characters up to a NUL or its end. It does for characters what
// Collect does for other values.
func (r *Reader) Text(a *Place, s *Stat) (v string, ok bool, err error) {
	if a.data == 0 || s.op() != OpText {
		return "", false, nil
	}
	b := make([]byte, s.Size)
	err = r.m.Guard(func() { ok = r.text(a, s, b) })
	b, _, _ = bytes.Cut(b, []byte{0})
	return string(b), ok, err
}

func (r *Reader) text(a *Place, s *Stat, b []byte) bool {
	for range tries {
		if !a.ours(r) {
			return false
		}
		before, _ := r.m.Load32(a.record + layout.CtxUpdate)
		if before&1 != 0 {
			continue
		}
		whole := r.m.CopyWords(b, a.data+uint64(s.Offset))
		if after, _ := r.m.Load32(a.record + layout.CtxUpdate); after == before && whole {
			return a.ours(r)
		}
	}
	return false
}
