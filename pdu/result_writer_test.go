package pdu

import (
	"bytes"
	"fmt"
	"math"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/pcp-rtime/rtime/pcp"
)

// write has w write the sets as an agent would. By bulk it uses Each and Indexed.
func write(w *ResultWriter, state uint32, bulk bool, sets []ValueSet) []byte {
	w.Reset(7, state)
	for i := range sets {
		w.Begin(sets[i].PMID)
		switch {
		case sets[i].Err != 0:
			w.Fail(sets[i].Err)
		case bulk:
			writeBulk(w, sets[i].Values)
		default:
			for _, v := range sets[i].Values {
				writeOne(w, v)
			}
		}
		w.End()
	}
	head, tail := w.Bytes()
	return append(bytes.Clone(head), tail...)
}

func writeOne(w *ResultWriter, v InstValue) {
	switch x := v.Value; x.Type() {
	case pcp.TypeString:
		Put(w, v.Inst, string(x.Bytes()))
	case pcp.Type64:
		Put(w, v.Inst, int64(x.Bits()))
	case pcp.TypeDouble:
		Put(w, v.Inst, math.Float64frombits(x.Bits()))
	default:
		w.Value(v.Inst, x)
	}
}

// writeBulk writes the values in two halves, the first with Each and the second, where
// they are numbers, with Indexed. Both are asked for more values than there are.
func writeBulk(w *ResultWriter, values []InstValue) {
	half := values[:len(values)/2]
	if len(half) > 0 {
		switch half[0].Value.Type() {
		case pcp.Type32:
			each(w, half, func(v pcp.Value) int32 { return int32(v.Bits()) })
		case pcp.TypeU32:
			each(w, half, func(v pcp.Value) uint32 { return uint32(v.Bits()) })
		case pcp.Type64:
			each(w, half, func(v pcp.Value) int64 { return int64(v.Bits()) })
		case pcp.TypeU64:
			each(w, half, func(v pcp.Value) uint64 { return v.Bits() })
		case pcp.TypeFloat:
			each(w, half, func(v pcp.Value) float32 { return math.Float32frombits(uint32(v.Bits())) })
		case pcp.TypeDouble:
			each(w, half, func(v pcp.Value) float64 { return math.Float64frombits(v.Bits()) })
		case pcp.TypeString:
			each(w, half, func(v pcp.Value) string { return string(v.Bytes()) })
		case pcp.TypeAggregate:
			each(w, half, func(v pcp.Value) []byte { return v.Bytes() })
		default:
			for _, v := range half {
				w.Value(v.Inst, v.Value)
			}
		}
	}
	rest := values[len(half):]
	if len(rest) == 0 || rest[0].Value.Type() > pcp.TypeDouble {
		for _, v := range rest {
			w.Value(v.Inst, v.Value)
		}
		return
	}
	s := &space
	s.ids, s.at, s.numbers = s.ids[:0], s.at[:0], s.numbers[:0]
	for i, v := range rest {
		s.ids = append(s.ids, v.Inst, 9999, 9999)
		s.at = append(s.at, uint32(2*i), uint32(2*i+1), 1<<31) // the second has no value, the third is not in the array
		s.numbers = append(s.numbers, v.Value.Bits(), 4711)
	}
	Indexed(w, rest[0].Value.Type(), s.ids, s.at, s.numbers, even)
}

func even(i uint32) bool { return i%2 == 0 }

// space is what writeBulk needs, kept so that it allocates nothing itself.
var space struct {
	ids     []int32
	at      []uint32
	numbers []uint64
	values  []pcp.Value
}

// each writes values with Each, and between them two of which there are none.
func each[V pcp.Scalar](w *ResultWriter, values []InstValue, of func(pcp.Value) V) {
	s := &space
	s.ids, s.values = s.ids[:0], s.values[:0]
	for _, v := range values {
		s.ids = append(s.ids, v.Inst, 9999, 9999)
		s.values = append(s.values, v.Value, pcp.RawBytes(pcp.TypeUnknown, nil), pcp.RawBytes(pcp.TypeUnknown, nil))
	}
	Each(w, s.ids, s.values, func(v pcp.Value) (V, bool) { return of(v), v.Type() != pcp.TypeUnknown })
}

// plain writes a RESULT in the simplest way there is, to compare with.
func plain(from int32, sec uint32, sets []ValueSet) []byte {
	place := resultHead
	for i := range sets {
		place += 8
		if plainCode(&sets[i]) == 0 && len(sets[i].Values) > 0 {
			place += 4 + 8*len(sets[i].Values)
		}
	}
	var head, tail []byte
	for i := range sets {
		s := &sets[i]
		head = put32(head, uint32(s.PMID))
		if code := plainCode(s); code != 0 || len(s.Values) == 0 {
			head = put32(head, uint32(code))
			continue
		}
		head = put32(head, uint32(len(s.Values)))
		direct := s.Values[0].Value.Type() <= pcp.TypeU32
		head = put32(head, map[bool]uint32{true: 0, false: 1}[direct])
		for _, v := range s.Values {
			head = put32(head, uint32(v.Inst))
			if direct {
				head = put32(head, uint32(v.Value.Bits()))
				continue
			}
			head = put32(head, uint32((place+len(tail))/4))
			var b []byte
			switch v.Value.Type() {
			case pcp.TypeFloat:
				b = put32(nil, uint32(v.Value.Bits()))
			case pcp.Type64, pcp.TypeU64, pcp.TypeDouble:
				b = put64(nil, v.Value.Bits())
			case pcp.TypeString:
				b = append(bytes.Clone(v.Value.Bytes()), 0)
			default:
				b = v.Value.Bytes()
			}
			tail = put32(tail, uint32(v.Value.Type())<<24|uint32(4+len(b)))
			tail = append(tail, b...)
			for len(tail)%4 != 0 {
				tail = append(tail, '~')
			}
		}
	}
	b := put32(nil, uint32(resultHead+len(head)+len(tail)))
	b = put32(b, uint32(TypeResult))
	b = put32(b, uint32(from))
	b = put32(b, sec)
	b = put32(b, 0)
	b = put32(b, uint32(len(sets)))
	return append(append(b, head...), tail...)
}

// plainCode is the error that a set is written as, 0 for none.
func plainCode(s *ValueSet) pcp.Error {
	if s.Err > 0 {
		return pcp.ErrGeneric
	}
	if s.Err < 0 {
		return s.Err
	}
	for _, v := range s.Values {
		t, n := v.Value.Type(), len(v.Value.Bytes())
		if t == pcp.TypeString {
			n++
		}
		switch {
		case t < pcp.Type32 || t > pcp.TypeHighresEvent || (t <= pcp.TypeU32) != (s.Values[0].Value.Type() <= pcp.TypeU32):
			return pcp.ErrType
		case n > maxBlock-5:
			return pcp.ErrTooBig
		}
	}
	return 0
}

// many is a set of n values that make makes.
func many(id pcp.PMID, n int, value func(i int) pcp.Value) ValueSet {
	s := ValueSet{PMID: id}
	for i := range n {
		s.Values = append(s.Values, InstValue{Inst: int32(i), Value: value(i)})
	}
	return s
}

func alone(id pcp.PMID, v pcp.Value) ValueSet {
	return ValueSet{PMID: id, Values: []InstValue{{Inst: pcp.InstNull, Value: v}}}
}

var (
	words   = func(i int) pcp.Value { return pcp.Num(int32(-i)) }
	longs   = func(i int) pcp.Value { return pcp.Num(int64(-i)) }
	doubles = func(i int) pcp.Value { return pcp.Num(float64(i) / 3) }
	floats  = func(i int) pcp.Value { return pcp.Num(float32(i) / 3) }
	texts   = func(i int) pcp.Value { return pcp.Str(strings.Repeat("x", i%7)) }
	rows    = func(i int) pcp.Value { return pcp.RawBytes(pcp.TypeAggregate, make([]byte, i%9)) }
)

// mixes are results of all kinds.
var mixes = []struct {
	name string
	sets []ValueSet
}{
	{"nothing", nil},
	{"a word", []ValueSet{alone(1, pcp.Num(uint32(math.MaxUint32)))}},
	{"a double", []ValueSet{alone(1, pcp.Num(1.0))}},
	{"an empty set", []ValueSet{{PMID: 1}}},
	{"a failed set", []ValueSet{{PMID: 1, Err: pcp.ErrPMID}}},
	{"failed, empty and full", []ValueSet{{PMID: 1, Err: pcp.ErrPMID}, alone(2, pcp.Num(1.0)), {PMID: 3},
		alone(4, pcp.Num(int32(-1))), {PMID: 5, Err: pcp.ErrValue}, alone(6, pcp.Str("hullo world!"))}},
	{"the captured one", []ValueSet{alone(0x0740001f, pcp.Str("hullo world!")),
		alone(0x07400022, pcp.RawBytes(pcp.TypeAggregate, []byte("hullo world!"))),
		alone(0x07400014, pcp.Num(int64(1))), alone(0x07400019, pcp.Num(1.0)), alone(0x0740000f, pcp.Num(float32(1)))}},
	{"words", []ValueSet{many(1, 100, words), many(2, 50, words)}},
	{"doubles", []ValueSet{many(1, 100, doubles), many(2, 50, longs)}},
	{"doubles and words", []ValueSet{many(1, 33, doubles), many(2, 33, words), many(3, 33, longs), many(4, 1, words)}},
	{"floats", []ValueSet{many(1, 30, floats)}},
	{"strings", []ValueSet{many(1, 30, texts), alone(2, pcp.Str(""))}},
	{"aggregates", []ValueSet{many(1, 30, rows), alone(2, pcp.RawBytes(pcp.TypeAggregateStatic, nil))}},
	{"no events", []ValueSet{alone(1, pcp.RawBytes(pcp.TypeEvent, []byte{0, 0, 0, 0}))}},
	{"just as much as is merged", []ValueSet{alone(1, pcp.RawBytes(pcp.TypeAggregate, make([]byte, mergeLen-4)))}},
	{"a block more than is merged", []ValueSet{alone(1, pcp.RawBytes(pcp.TypeAggregate, make([]byte, mergeLen-3)))}},
	{"much", []ValueSet{many(1, 10000, doubles), many(2, 10000, words), many(3, 10000, longs), many(4, 1000, texts)}},
	{"the longest string", []ValueSet{alone(1, pcp.Str(strings.Repeat("y", maxBlock-6)))}},
	{"one byte too long", []ValueSet{alone(1, pcp.Str(strings.Repeat("y", maxBlock-5))), alone(2, pcp.Num(2.0))}},
	{"the longest aggregate", []ValueSet{alone(1, pcp.RawBytes(pcp.TypeAggregate, make([]byte, maxBlock-5)))}},
	{"an aggregate too long", []ValueSet{alone(1, pcp.RawBytes(pcp.TypeAggregate, make([]byte, maxBlock-4)))}},
}

// TestResultWriter writes every mix after every other, so that the guess of where
// the blocks begin is too small, too large and right, and compares with the codec.
func TestResultWriter(t *testing.T) {
	for _, bulk := range []bool{false, true} {
		var w ResultWriter
		for _, before := range mixes {
			if strings.Contains(before.name, "long") {
				continue // it takes long and teaches nothing new
			}
			for _, m := range mixes {
				write(&w, 0, bulk, before.sets)
				state := uint32(len(m.sets))
				want := plain(7, state, m.sets)
				if got := (&Result{Sec: state, Sets: m.sets}).Append(nil, 7); !bytes.Equal(got, want) {
					t.Fatalf("%s after %s: Append wrote %d bytes, want %d", m.name, before.name, len(got), len(want))
				}
				if got := write(&w, state, bulk, m.sets); !bytes.Equal(got, want) {
					t.Fatalf("%s after %s, bulk %v: wrote %d bytes\n%.200x\nwant %d\n%.200x", m.name, before.name,
						bulk, len(got), got, len(want), want)
				}
			}
		}
	}
}

// TestResultWriterDecodes reads what was written back.
func TestResultWriterDecodes(t *testing.T) {
	var w ResultWriter
	for _, m := range mixes {
		var r Result
		if err := r.Parse(write(&w, 24, true, m.sets)); err != nil {
			t.Errorf("%s: %v", m.name, err)
			continue
		}
		if r.Sec != 24 || r.Usec != 0 || len(r.Sets) != len(m.sets) {
			t.Errorf("%s: state %d, %d, %d sets", m.name, r.Sec, r.Usec, len(r.Sets))
			continue
		}
		for i, want := range m.sets {
			if got := r.Sets[i]; got.PMID != want.PMID || got.Err != pcp.ErrTooBig && !sameValues(got, want) {
				t.Errorf("%s: set %d is not what was written", m.name, i)
			}
		}
	}
}

func sameValues(a, b ValueSet) bool {
	if a.Err != b.Err || len(a.Values) != len(b.Values) {
		return false
	}
	for i, v := range b.Values {
		x, err := a.Values[i].As(v.Value.Type())
		if err != nil || a.Values[i].Inst != v.Inst || x.Bits() != v.Value.Bits() || !bytes.Equal(x.Bytes(), v.Value.Bytes()) {
			return false
		}
	}
	return true
}

// TestResultWriterFails makes sets fail after values of every kind. The sets before and
// after are whole, and what is added to a failed one is dropped.
func TestResultWriterFails(t *testing.T) {
	want := plain(0, 0, []ValueSet{many(1, 3, doubles), {PMID: 2, Err: pcp.ErrAgain}, many(3, 3, longs)})
	for _, m := range mixes {
		for _, set := range m.sets {
			if len(set.Values) > 0 && len(set.Values[0].Value.Bytes()) >= maxBlock-5 {
				continue // it may have failed by itself
			}
			var w ResultWriter
			for turn := range 4 { // with a wrong guess and with the right one
				more := set.Values
				if turn%2 == 0 {
					more = nil
				}
				if got := failing(&w, set.Values, more); !bytes.Equal(got, want) {
					t.Fatalf("%s, turn %d, %d values after the failure:\n%x\nwant\n%x", m.name, turn, len(more), got, want)
				}
			}
		}
	}
}

// failing writes a set that fails between two values, and a good one on either side.
func failing(w *ResultWriter, before, after []InstValue) []byte {
	w.Reset(0, 0)
	w.Begin(1)
	writeBulk(w, many(1, 3, doubles).Values)
	w.End()
	w.Begin(2)
	for _, v := range before {
		writeOne(w, v)
	}
	w.Fail(pcp.ErrAgain)
	for _, v := range after {
		writeOne(w, v)
	}
	w.End()
	w.Begin(3)
	writeBulk(w, many(3, 3, longs).Values)
	w.End()
	head, tail := w.Bytes()
	return append(bytes.Clone(head), tail...)
}

// TestResultWriterMisused never writes a RESULT that cannot be read.
func TestResultWriterMisused(t *testing.T) {
	two := []int32{1, 2}
	id := func(n int32) (int32, bool) { return n, true }
	for i, x := range []struct {
		use  func(w *ResultWriter)
		code pcp.Error
	}{
		{func(w *ResultWriter) { w.Fail(-5); Each(w, two, two, id) }, -5},
		{func(w *ResultWriter) { w.Fail(-5); Indexed(w, pcp.Type64, two, []uint32{0, 0}, []uint64{1}, nil) }, -5},
		{func(w *ResultWriter) { Put(w, 0, uint32(7)); Put(w, 1, 2.0) }, pcp.ErrType},
		{func(w *ResultWriter) { Put(w, 1, 2.0); Put(w, 0, int32(7)) }, pcp.ErrType},
		{func(w *ResultWriter) { Put(w, 0, int32(7)); Put(w, 1, "x"); w.Fail(-5) }, -5},
		{func(w *ResultWriter) { Put(w, 1, "x"); Each(w, two, two, id) }, pcp.ErrType},
		{func(w *ResultWriter) {
			Put(w, 0, int32(7))
			Indexed(w, pcp.Type64, two, []uint32{0, 0}, []uint64{1}, nil)
		}, pcp.ErrType},
		{func(w *ResultWriter) { Indexed(w, pcp.TypeString, two, []uint32{0, 0}, []uint64{1}, nil) }, pcp.ErrType},
		{func(w *ResultWriter) { Indexed(w, pcp.TypeUnknown, two, []uint32{0, 0}, []uint64{1}, nil) }, pcp.ErrType},
		{func(w *ResultWriter) {
			Indexed(w, pcp.Type64, two, []uint32{5, 5}, []uint64{1}, nil)
			Put(w, 0, int32(7))
		}, 0},
		{func(w *ResultWriter) { w.Value(0, pcp.RawNumber(pcp.TypeNoSupport, 0)) }, pcp.ErrType},
		{func(w *ResultWriter) { w.Value(0, pcp.RawNumber(11, 0)) }, pcp.ErrType},
		{func(w *ResultWriter) { w.Fail(3) }, pcp.ErrGeneric},
		{func(w *ResultWriter) { w.Fail(0) }, pcp.ErrGeneric},
	} {
		var w ResultWriter
		w.Reset(0, 0)
		w.Begin(1)
		x.use(&w)
		w.End()
		w.Begin(2)
		Put(&w, 0, 0.0)
		w.End()
		head, tail := w.Bytes()
		var r Result
		if err := r.Parse(append(bytes.Clone(head), tail...)); err != nil || r.Sets[0].Err != x.code || len(r.Sets[1].Values) != 1 {
			t.Errorf("misuse %d: %v, sets %+v", i, err, r.Sets)
		}
	}
}

// TestResultWriterAllocatesNothing once it has seen the results that come in turn.
func TestResultWriterAllocatesNothing(t *testing.T) {
	turns := [][]ValueSet{
		{many(1, 1000, doubles), many(2, 1000, words)},
		{many(1, 3, words)},
		{many(3, 1000, longs), {PMID: 9, Err: pcp.ErrValue}, {PMID: 10}},
	}
	var w ResultWriter
	turn := func() {
		for _, sets := range turns {
			w.Reset(0, 0)
			for i := range sets {
				w.Begin(sets[i].PMID)
				if sets[i].Err != 0 {
					w.Fail(sets[i].Err)
				}
				writeBulk(&w, sets[i].Values)
				w.End()
			}
			w.Bytes()
		}
	}
	turn()
	if n := testing.AllocsPerRun(100, turn); n != 0 {
		t.Errorf("%v allocations in three results", n)
	}
}

// FuzzResultWriter drives one writer through many results of random operations and
// decodes each.
func FuzzResultWriter(f *testing.F) {
	for seed := range uint64(8) {
		f.Add(seed, uint16(100*seed))
	}
	f.Fuzz(func(t *testing.T, seed uint64, size uint16) {
		r := rand.New(rand.NewPCG(seed, 0))
		var w ResultWriter
		for range 6 {
			sets := randomSets(r, int(size)%2000)
			bulk := r.IntN(2) == 0
			got := write(&w, 8, bulk, sets)
			if want := plain(7, 8, sets); !bytes.Equal(got, want) {
				t.Fatalf("%s: bulk %v\n%.400x\nwant\n%.400x", describe(sets), bulk, got, want)
			}
			var back Result
			if err := back.Parse(got); err != nil {
				t.Fatalf("%s: %v", describe(sets), err)
			}
		}
	})
}

func randomSets(r *rand.Rand, size int) []ValueSet {
	makers := []func(int) pcp.Value{words, longs, doubles, floats, texts, rows}
	sets := make([]ValueSet, r.IntN(6))
	for i := range sets {
		switch r.IntN(5) {
		case 0:
			sets[i] = ValueSet{PMID: pcp.PMID(i), Err: pcp.Error(-1 - r.IntN(20000))}
		case 1:
			sets[i] = ValueSet{PMID: pcp.PMID(i)}
		default:
			sets[i] = many(pcp.PMID(r.Uint32()), r.IntN(size+1), makers[r.IntN(len(makers))])
		}
	}
	return sets
}

func describe(sets []ValueSet) string {
	var b strings.Builder
	for _, s := range sets {
		fmt.Fprintf(&b, "[%v err %d, %d values] ", s.PMID, int32(s.Err), len(s.Values))
	}
	return b.String()
}
