package agent

import (
	"math"
	"slices"

	"github.com/pcp-rtime/rtime/internal/ddsseg/reader"
	"github.com/pcp-rtime/rtime/pcp"
	"github.com/pcp-rtime/rtime/pmda"
	"github.com/pcp-rtime/rtime/pmdas/dds/internal/naming"
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

// getter returns the function that gives the column's values in their PCP type.
func (col *column) getter(t *tree, typ pcp.Type) pmda.Getter {
	g := col.group
	switch {
	case g.insts == nil:
		return pmda.Func(typ, nil, func(v *pmda.Values) { col.fixed(t, typ, v) })
	case typ == pcp.TypeString:
		return pmda.Per(g.insts, func(p place) (string, bool) { return col.text(t, p) })
	case typ == pcp.TypeFloat:
		return pmda.Per(g.insts, func(p place) (float32, bool) {
			v, ok := col.value(t, p)
			return float32(math.Float64frombits(v)), ok
		})
	}
	has := func(p place) bool { return col.has(t, p) }
	return pmda.Indexed(typ, g.insts, func() ([]uint64, func(place) bool) {
		switch {
		case col.read != t.fetch:
			return nil, nil
		case g.gaps:
			return col.bits, has
		}
		return col.bits, nil
	})
}

// fixed gives the value of a fixed context.
func (col *column) fixed(t *tree, typ pcp.Type, v *pmda.Values) {
	g := col.group
	if g.live == nil {
		v.Fail(pcp.ErrValue)
		return
	}
	if g.read != t.fetch {
		g.collect(t, []place{g.live.at})
	}
	bits, ok := col.value(t, g.live.at)
	switch typ {
	case pcp.TypeString:
		var text string
		if text, ok = col.text(t, g.live.at); ok {
			v.Set(pcp.InstNull, pcp.Str(text))
		}
	case pcp.TypeFloat:
		if ok {
			v.Set(pcp.InstNull, pcp.Num(float32(math.Float64frombits(bits))))
		}
	default:
		if ok {
			v.Set(pcp.InstNull, pcp.RawNumber(typ, bits))
		}
	}
	if !ok {
		v.Fail(pcp.ErrValue)
	}
}

// value returns a context's value in a column, as the present request has read it.
func (col *column) value(t *tree, p place) (uint64, bool) {
	if col.read != t.fetch || int(p) >= len(col.bits) || col.group.gaps && !col.has(t, p) {
		return 0, false
	}
	return col.bits[p], true
}

// has reports whether a value of a context was read for the present request.
func (col *column) has(t *tree, p place) bool {
	return col.group.seen[p] == t.fetch && col.group.spots[p].form.has[col.index]
}

// collect reads what the present request asks for of the contexts at some places. It reads
// all columns together. So the values of one context belong together, and each context is
// looked at once.
func (g *group) collect(t *tree, list []place) {
	g.read, g.gaps = t.fetch, false
	for _, i := range g.want {
		col := g.columns[i]
		col.read = t.fetch
		if n := len(g.lives) - len(col.bits); n > 0 {
			col.bits = append(col.bits, make([]uint64, n)...)
		}
	}
	for i := 0; i < len(list); {
		s := g.spots[list[i]].form.src
		if !s.sup.Usable() {
			g.gaps = true
			g.seen[list[i]] = 0 // it was read just before the damage was found
			i++
			continue
		}
		if err := s.reader.Guard(func() { i = g.readOf(s, t, list, i) }); err != nil {
			s.sup.Break(err)
		}
	}
}

// readOf reads the contexts of one supplier, starting at list[i]. It returns the index of
// the first context of another supplier.
func (g *group) readOf(s *source, t *tree, list []place, i int) int {
	asked := 0
	for more := true; more; {
		part := list[i:min(i+together, len(list))]
		quiet := s.reader.Quiet()
		n, values := g.readPart(s, t, part, quiet)
		if quiet && !s.reader.Quiet() {
			n, values = g.readPart(s, t, part, false)
		}
		i, asked, more = i+n, asked+values, n == together
	}
	if asked > 0 {
		t.demand.touch(s, asked)
	}
	return i
}

// together is how many contexts are read before the agent checks whether the supplier was
// quiet in that time. If it was not, they are read again.
const together = 256

// readPart reads contexts up to the first of another supplier. It returns how many there
// were, and how many values were asked for. If quiet is true, the values are good only if
// the supplier is still quiet afterwards.
func (g *group) readPart(s *source, t *tree, list []place, quiet bool) (n, values int) {
	for _, p := range list {
		f := g.spots[p].form
		if f.src != s {
			break
		}
		n++
		if f.seen != t.plan {
			f.choose(g, t)
		}
		if len(f.want) < len(g.want) {
			g.gaps = true
		}
		at := &g.spots[p].data
		peek := quiet && len(f.char) == 0
		if !(peek && s.reader.Peek(at, f.read, t.scratch)) && !s.reader.ReadTexts(at, f.read, t.scratch, f.char) {
			g.gaps = true
			g.seen[p] = 0
			t.torn++
			continue
		}
		g.seen[p] = t.fetch
		for k, c := range f.want {
			g.columns[c].bits[p] = t.scratch[k]
		}
		for k, c := range f.text {
			g.columns[c].keepText(p, f.char[k].Text())
		}
		values += len(f.want)
	}
	return n, values
}

// choose finds out which of the columns that requests ask for the form has.
func (f *form) choose(g *group, t *tree) {
	f.pad(len(g.columns))
	f.seen, f.want, f.read = t.plan, f.want[:0], f.read[:0]
	f.text, f.char = f.text[:0], f.char[:0]
	for _, i := range g.want {
		if f.has[i] {
			f.want, f.read = append(f.want, i), append(f.read, f.fields[i])
			if f.fields[i].Op == reader.OpText {
				f.text = append(f.text, i)
				f.char = append(f.char, reader.Chars{Off: f.fields[i].Off, To: make([]byte, f.stats[i].Size)})
			}
		}
	}
	if n := len(f.want); len(t.scratch) < n {
		t.scratch = make([]uint64, n)
	}
}

// text returns a context's value in a column of characters, as read with its other values.
func (col *column) text(t *tree, p place) (string, bool) {
	if _, ok := col.value(t, p); !ok || int(p) >= len(col.texts) {
		return "", false
	}
	text := naming.Text(col.texts[p])
	return text, t.tell(len(text))
}

// keepText keeps the characters of a context. Few change from one request to the next.
func (col *column) keepText(p place, b []byte) {
	if n := len(col.bits) - len(col.texts); n > 0 {
		col.texts = append(col.texts, make([]string, n)...)
	}
	if col.texts[p] != string(b) {
		col.texts[p] = string(b)
	}
}
