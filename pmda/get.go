package pmda

import (
	"errors"

	"github.com/pcp-rtime/rtime/pcp"
	"github.com/pcp-rtime/rtime/pdu"
)

// Getter says how to get the values of a metric, and has their type and instance domain.
// New reports the zero Getter as a mistake.
type Getter struct {
	typ   pcp.Type
	indom domain
	fetch func(*Values)
}

// ErrNoValue says that a metric has no value at the moment, and that this is no error. A
// function of Value returns it.
var ErrNoValue = errors.New("no value at the moment")

// Value is the Getter of a metric with one value. If get returns ErrNoValue, the metric has
// no value. Any other error, pcp.ErrValue included, is the answer to the client.
func Value[V pcp.Scalar](get func() (V, error)) Getter {
	return Getter{typ: pcp.TypeOf[V](), fetch: func(v *Values) {
		x, err := get()
		if err == ErrNoValue {
			return
		}
		if err != nil {
			v.Fail(err)
			return
		}
		pdu.Put(v.w, pcp.InstNull, x)
	}}
}

// Per is the Getter of a metric with a value for each instance of d. get is called
// with what was added for the instance; false means that it has no value now. get
// must not add or remove instances.
func Per[T any, V pcp.Scalar](d *InDom[T], get func(T) (V, bool)) Getter {
	return Getter{typ: pcp.TypeOf[V](), indom: d, fetch: func(v *Values) {
		l := d.wanted(v.server)
		pdu.Each(v.w, l.ids, l.data, get)
	}}
}

// PerInstance is Per for a get that needs the instance too. It costs a look-up for each
// value.
func PerInstance[T any, V pcp.Scalar](d *InDom[T], get func(pcp.Instance, T) (V, bool)) Getter {
	return Getter{typ: pcp.TypeOf[V](), indom: d, fetch: func(v *Values) {
		l := d.wanted(v.server)
		for i, id := range l.ids {
			name, _ := d.nameOf(id)
			if x, ok := get(pcp.Instance{ID: id, Name: name}, l.data[i]); ok {
				pdu.Put(v.w, id, x)
			}
		}
	}}
}

// NotSupported is the Getter of a metric that the machine cannot supply, such as one that
// needs a later kernel: its type is NOSUPPORT, clients say "not supported", and a fetch
// gets pcp.ErrAppVersion. The metric keeps its name and number. over is its instance
// domain, nil for a metric with one value.
func NotSupported(over Domain) Getter {
	g := Getter{typ: pcp.TypeNoSupport, fetch: func(v *Values) { v.Fail(pcp.ErrAppVersion) }}
	if over != nil {
		g.indom = over.domain()
	}
	return g
}

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

// Values takes the values of one metric in one fetch. It is good during the call it
// is handed to.
type Values struct {
	w      *pdu.ResultWriter
	server *Server
	metric *metric
}

// Client returns the client that the values are for.
func (v *Values) Client() *Client { return v.server.client }

// Wants reports whether the client asked for this instance, so that an expensive value need
// not be computed in vain. Set drops values that are not wanted.
func (v *Values) Wants(inst int32) bool {
	if v.metric.indom == nil {
		return inst == pcp.InstNull
	}
	return v.server.profile.wants(v.metric.desc.InDom, inst)
}

// Set gives the value of one instance, InstNull for a metric with one value. A value of
// another type than the metric's is converted if that loses nothing. Otherwise the whole
// metric has the error ErrConv.
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
	v.w.Value(inst, x)
}

// Fail answers with an error in place of values, for the whole metric.
func (v *Values) Fail(err error) {
	v.w.Fail(v.server.code(err, "fetch of "+v.metric.Name))
}
