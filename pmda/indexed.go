package pmda

import (
	"github.com/pcp-rtime/rtime/pcp"
	"github.com/pcp-rtime/rtime/pdu"
)

// Indexed is the Getter of a numeric metric whose values stand in an array: what was added
// for an instance is the index of its value. It is Per without a call for each value, for
// agents with very many. get is called once for each time that the metric is asked for,
// after InDom.Prepare. It returns the values as pcp.RawNumber takes them, and a function
// has, which tells which instances have one. If has is nil, all instances have one whose
// index is within the array.
func Indexed[I ~uint32](t pcp.Type, d *InDom[I], get func() (values []uint64, has func(I) bool)) Getter {
	if t < pcp.Type32 || t > pcp.TypeDouble {
		return Getter{} // which New reports
	}
	return Getter{typ: t, indom: d, fetch: func(v *Values) {
		l := d.wanted(v.server)
		values, has := get()
		pdu.Indexed(v.w, t, l.ids, l.data, values, has)
	}}
}
