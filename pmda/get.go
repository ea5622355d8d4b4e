package pmda

import (
	"encoding/binary"
	"errors"
	"math/bits"
	"unsafe"

	"github.com/pcp-rtime/rtime/pcp"
	"github.com/pcp-rtime/rtime/pdu"
)

// Scalar is what a metric's value is in Go: the type of the metric follows from it.
// A string is of type STRING, bytes are of type AGGREGATE.
type Scalar interface {
	pcp.Number | string | []byte
}

// Getter says how to get the values of a metric, of which type they are and over
// which instance domain. The zero Getter is a mistake that New reports.
type Getter struct {
	typ   pcp.Type
	indom domain
	fetch func(*Values)
}

// ErrNoValue is what a function of Value returns where there is no value at the moment
// and that is nothing to complain of.
var ErrNoValue = errors.New("no value at the moment")

// Value is the Getter of a metric with one value. With ErrNoValue the metric has none;
// any other error, pcp.ErrValue too, becomes its answer.
func Value[V Scalar](get func() (V, error)) Getter {
	return Getter{typ: typeOf[V](), fetch: func(v *Values) {
		x, err := get()
		if err == ErrNoValue {
			return
		}
		if err != nil {
			v.Fail(err)
			return
		}
		put(v, pcp.InstNull, x)
	}}
}

// Per is the Getter of a metric with a value for each instance of d. get is called
// with what was added for the instance; false means that it has no value now. get
// must not add or remove instances.
func Per[T any, V Scalar](d *InDom[T], get func(T) (V, bool)) Getter {
	g := Getter{typ: typeOf[V](), indom: d}
	switch g.typ {
	case pcp.Type32, pcp.TypeU32:
		g.fetch = func(v *Values) { perWord(v.w, d.wanted(v.server), get) }
	case pcp.Type64, pcp.TypeU64, pcp.TypeDouble:
		t := g.typ
		g.fetch = func(v *Values) { perDouble(v.w, t, d.wanted(v.server), get) }
	default:
		g.fetch = func(v *Values) {
			l := d.wanted(v.server)
			for i, id := range l.ids {
				if x, ok := get(l.data[i]); ok {
					put(v, id, x)
				}
			}
		}
	}
	return g
}

// perWord writes 32-bit values. It and perDouble are the inner loops of a fetch: a
// call of get and two or three stores for each value.
func perWord[T any, V Scalar](w *pdu.ResultWriter, l *list[T], get func(T) (V, bool)) {
	room := w.Words(len(l.ids))
	n := 0
	data := l.data[:len(l.ids)]
	for i, id := range l.ids {
		x, ok := get(data[i])
		if !ok {
			continue
		}
		word := *(*uint32)(unsafe.Pointer(&x)) // V is int32 or uint32
		binary.BigEndian.PutUint64(room[n*8:n*8+8], uint64(uint32(id))<<32|uint64(word))
		n++
	}
	w.AddWords(n)
}

// perDouble writes 64-bit values.
func perDouble[T any, V Scalar](w *pdu.ResultWriter, t pcp.Type, l *list[T], get func(T) (V, bool)) {
	sets, blocks, pos := w.Doubles(len(l.ids))
	head := uint32(t)<<24 | 12
	n := 0
	data := l.data[:len(l.ids)]
	for i, id := range l.ids {
		x, ok := get(data[i])
		if !ok {
			continue
		}
		word := *(*uint64)(unsafe.Pointer(&x)) // V is int64, uint64 or float64
		put64((*[8]byte)(sets), uint64(uint32(id))<<32|uint64(pos))
		put32((*[4]byte)(blocks), head)
		put64((*[8]byte)(blocks[4:]), word)
		sets, blocks = sets[8:], blocks[12:]
		pos += pdu.BlockWords
		n++
	}
	w.AddDoubles(n)
}

// put64 and put32 write big-endian. They are small enough to be inlined, which
// binary.BigEndian.PutUint64 is not here.
func put64(b *[8]byte, v uint64) {
	if !bigEndian {
		v = bits.ReverseBytes64(v)
	}
	*(*uint64)(unsafe.Pointer(b)) = v
}

func put32(b *[4]byte, v uint32) {
	if !bigEndian {
		v = bits.ReverseBytes32(v)
	}
	*(*uint32)(unsafe.Pointer(b)) = v
}

var bigEndian = binary.NativeEndian.Uint16([]byte{0, 1}) == 1

// Func is the Getter for everything else: fetch gives the values one by one through
// Values. over is the instance domain, nil for a metric with one value.
func Func(t pcp.Type, over Domain, fetch func(*Values)) Getter {
	if over == nil {
		return Getter{typ: t, fetch: fetch}
	}
	d := over.domain()
	return Getter{typ: t, indom: d, fetch: func(v *Values) {
		d.use(v.server)
		fetch(v)
	}}
}

// Domain is an instance domain: any *InDom[T].
type Domain interface{ domain() domain }

func typeOf[V Scalar]() pcp.Type {
	var v V
	switch any(v).(type) {
	case int32:
		return pcp.Type32
	case uint32:
		return pcp.TypeU32
	case int64:
		return pcp.Type64
	case uint64:
		return pcp.TypeU64
	case float32:
		return pcp.TypeFloat
	case float64:
		return pcp.TypeDouble
	case string:
		return pcp.TypeString
	}
	return pcp.TypeAggregate
}

func put[V Scalar](v *Values, inst int32, x V) {
	switch x := any(x).(type) {
	case int32:
		v.w.Word(inst, uint32(x))
	case uint32:
		v.w.Word(inst, x)
	case int64:
		v.w.Number(inst, pcp.Type64, uint64(x))
	case uint64:
		v.w.Number(inst, pcp.TypeU64, x)
	case float32:
		v.w.Number(inst, pcp.TypeFloat, pcp.Num(x).Bits())
	case float64:
		v.w.Number(inst, pcp.TypeDouble, pcp.Num(x).Bits())
	case string:
		v.w.String(inst, x)
	case []byte:
		v.w.Raw(inst, pcp.TypeAggregate, x)
	}
}

// Values takes the values of one metric in one fetch. It is good during the call it
// is handed to.
type Values struct {
	w      *pdu.ResultWriter
	server *Server
	metric *metric
}

// Client returns the client that the values are for.
func (v *Values) Client() *Client { return v.server.client }

// Wants reports whether the client asked for this instance. It is of use where
// getting a value is dear; values that are not wanted are dropped anyway.
func (v *Values) Wants(inst int32) bool {
	if v.metric.indom == nil {
		return inst == pcp.InstNull
	}
	return v.server.profile.wants(v.metric.desc.InDom, inst)
}

// Set gives the value of one instance, InstNull for a metric with one value. A value
// whose type is not the metric's is converted where nothing is lost by it, and is
// otherwise the error ErrConv of the whole metric.
func (v *Values) Set(inst int32, x pcp.Value) {
	if !v.Wants(inst) {
		return
	}
	t := v.metric.desc.Type
	if x.Type() != t {
		var err error
		if x, err = x.Convert(t); err != nil {
			v.Fail(err)
			return
		}
	}
	switch t {
	case pcp.TypeString:
		v.w.String(inst, string(x.Bytes()))
	case pcp.TypeAggregate, pcp.TypeAggregateStatic, pcp.TypeEvent, pcp.TypeHighresEvent:
		v.w.Raw(inst, t, x.Bytes())
	default:
		v.w.Number(inst, t, x.Bits())
	}
}

// Fail answers with an error in place of values, for the whole metric.
func (v *Values) Fail(err error) {
	v.w.Fail(v.server.code(err, "fetch of "+v.metric.Name))
}
