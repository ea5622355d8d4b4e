package pmda

import (
	"slices"

	"github.com/pcp-rtime/rtime/pcp"
	"github.com/pcp-rtime/rtime/pdu"
)

// profile says which instances the next fetch wants. pmcd sends it before each fetch that
// it applies to, for whichever client, so a connection needs one.
type profile struct {
	gen     uint64 // changes with every profile; never 0
	def     pdu.ProfileState
	entries []instList // few: one for each instance domain that is restricted
}

// instList holds ids in ascending order, each once.
type instList struct {
	indom pcp.InDom
	state pdu.ProfileState
	ids   []int32
}

// set replaces the profile by a copy of p, reusing the room of the old one.
func (f *profile) set(p *pdu.Profile) {
	f.gen++
	f.def = p.Default
	old := f.entries[:cap(f.entries)]
	f.entries = f.entries[:0]
	for i := range p.InDoms {
		e := instList{indom: p.InDoms[i].InDom, state: p.InDoms[i].State}
		if i < len(old) {
			e.ids = old[i].ids[:0]
		}
		e.ids = append(e.ids, p.InDoms[i].List...)
		slices.Sort(e.ids)
		e.ids = slices.Compact(e.ids)
		f.entries = append(f.entries, e)
	}
}

func (f *profile) entry(d pcp.InDom) *instList {
	for i := range f.entries {
		if f.entries[i].indom == d {
			return &f.entries[i]
		}
	}
	return nil
}

// all reports whether every instance of d is wanted.
func (f *profile) all(d pcp.InDom) bool {
	if e := f.entry(d); e != nil {
		return e.state == pdu.Include && len(e.ids) == 0
	}
	return f.def == pdu.Include
}

// only returns the instances that are wanted, if the profile lists them.
func (f *profile) only(d pcp.InDom) ([]int32, bool) {
	if e := f.entry(d); e != nil {
		return e.ids, e.state == pdu.Exclude
	}
	return nil, f.def == pdu.Exclude
}

// wants reports whether one instance is wanted.
func (f *profile) wants(d pcp.InDom, inst int32) bool {
	e := f.entry(d)
	if e == nil {
		return f.def == pdu.Include
	}
	_, listed := slices.BinarySearch(e.ids, inst)
	return listed == (e.state == pdu.Exclude)
}
