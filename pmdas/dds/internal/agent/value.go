package agent

import (
	"math"
	"slices"

	"github.com/pcp-rtime/rtime/pcp"
	"github.com/pcp-rtime/rtime/pmda"
	"github.com/pcp-rtime/rtime/pmdas/dds/internal/names"
)

// want notes which columns a request asks for.
func (t *tree) want(list []pcp.PMID) {
	if !t.changed && slices.Equal(list, t.ids) {
		return
	}
	for _, g := range t.wanted {
		g.want = g.want[:0]
	}
	t.wanted, t.changed = t.wanted[:0], false
	t.plan++
	t.ids = append(t.ids[:0], list...)
	for _, id := range list {
		col := t.metrics[id]
		if col == nil || slices.Contains(col.group.want, uint16(col.index)) {
			continue
		}
		if len(col.group.want) == 0 {
			t.wanted = append(t.wanted, col.group)
		}
		col.group.want = append(col.group.want, uint16(col.index))
	}
}

// getter gives the column's values in the type that they have.
func (col *column) getter(t *tree, typ pcp.Type) pmda.Getter {
	switch typ {
	case pcp.Type32:
		return getterOf(col, func(p place) (int32, bool) { v, ok := col.value(t, p); return int32(v), ok })
	case pcp.TypeU32:
		return getterOf(col, func(p place) (uint32, bool) { v, ok := col.value(t, p); return uint32(v), ok })
	case pcp.Type64:
		return getterOf(col, func(p place) (int64, bool) {
			v, ok := col.peek(t, p.at)
			if !ok {
				v, ok = col.first(p.l)
			}
			return int64(v), ok
		})
	case pcp.TypeU64:
		return getterOf(col, func(p place) (uint64, bool) {
			if v, ok := col.peek(t, p.at); ok {
				return v, true
			}
			return col.first(p.l)
		})
	case pcp.TypeFloat:
		return getterOf(col, func(p place) (float32, bool) {
			v, ok := col.value(t, p)
			return float32(math.Float64frombits(v)), ok
		})
	case pcp.TypeDouble:
		return getterOf(col, func(p place) (float64, bool) {
			v, ok := col.peek(t, p.at)
			if !ok {
				v, ok = col.first(p.l)
			}
			return math.Float64frombits(v), ok
		})
	}
	return getterOf(col, func(p place) (string, bool) { return col.text(t, p) })
}

// getterOf gives one value for each volatile context, or that of the fixed one.
func getterOf[V pmda.Scalar](col *column, get func(place) (V, bool)) pmda.Getter {
	g := col.group
	if g.insts != nil {
		return pmda.Per(g.insts, get)
	}
	return pmda.Value(func() (v V, err error) {
		if g.live != nil {
			if v, ok := get(place{0, g.live}); ok {
				return v, nil
			}
		}
		return v, pcp.ErrValue
	})
}

// value returns a context's value in a column, as of the present request.
func (col *column) value(t *tree, p place) (uint64, bool) {
	if v, ok := col.peek(t, p.at); ok {
		return v, true
	}
	return col.first(p.l)
}

// peek is value for what has been read already. It is small enough to be inlined, and
// the inner loop of a fetch.
func (col *column) peek(t *tree, at uint32) (uint64, bool) {
	if c := col.cells; uint(at) < uint(len(c)) && c[at].seen == t.fetch {
		return c[at].bits, true
	}
	return 0, false
}

// first is value for the first column that a context is asked for in a request, and for
// contexts without value.
func (col *column) first(l *live) (uint64, bool) {
	t := l.tree
	if l.seen == t.fetch {
		return 0, false
	}
	l.collect()
	if int(l.at) < len(col.cells) && col.cells[l.at].seen == t.fetch {
		return col.cells[l.at].bits, true
	}
	return 0, false
}

// collect reads all values that the present request asks for, so that they belong
// together.
func (l *live) collect() {
	t, g, f := l.tree, l.group, l.form
	l.seen = t.fetch
	if l.sup.gone || g == nil {
		return
	}
	if f.seen != t.plan {
		f.choose(g, t)
	}
	ok, err := l.sup.r.Collect(&l.c.Place, f.fields, f.want, t.scratch)
	switch {
	case err != nil:
		t.breaks(l.sup, err)
		return
	case !ok:
		t.agent.counts.torn++
		return
	}
	for _, i := range f.want {
		col := g.columns[i]
		if len(col.cells) < int(g.places) {
			col.cells = append(col.cells, make([]cell, int(g.places)-len(col.cells))...)
		}
		col.cells[l.at] = cell{t.fetch, t.scratch[i]}
	}
	t.agent.demand.touch(l.sup, len(f.want))
}

// choose finds out which of the columns that requests ask for at present the form has.
func (f *form) choose(g *group, t *tree) {
	f.pad(len(g.columns))
	if n := len(g.columns); len(t.scratch) < n {
		t.scratch = make([]uint64, n)
	}
	f.seen, f.want = t.plan, f.want[:0]
	for _, i := range g.want {
		if f.has[i] {
			f.want = append(f.want, i)
		}
	}
}

// breaks notes that a supplier's file is damaged. It goes before the next request.
func (t *tree) breaks(s *supplier, err error) {
	if s.row.fault == nil {
		s.row.fault = err
		t.broken = append(t.broken, s)
	}
}

// text returns a context's value in a column of characters.
func (col *column) text(t *tree, p place) (string, bool) {
	if _, ok := col.value(t, p); !ok {
		return "", false
	}
	s, ok, err := p.l.sup.r.Text(&p.l.c.Place, p.l.form.stats[col.index])
	if err != nil {
		t.breaks(p.l.sup, err)
		return "", false
	}
	return names.Text(s), ok
}
