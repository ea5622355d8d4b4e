//go:build linux

package reader

import (
	"encoding/binary"
	"fmt"

	"github.com/pcp-rtime/rtime/internal/ddsseg/layout"
)

// The bytes of text that a segment may hold besides its records.
const (
	MaxHelp   = 8 << 10
	MaxLabels = 4 << 10
)

// Stat is a statistic as its record describes it.
type Stat struct {
	Name     string // valid: see ValidName
	Descr    string // not checked: may hold anything
	Min, Max int64
	Counter  bool
	DataType int // as presented
	Type     int // as stored
	Size     int // bytes stored
	Offset   uint32
	ASN      uint32
	Units    uint32 // PCP's units word
	Help     string // not checked
	Labels   string // should be a JSON object, but is not checked
}

// Context is a fixed context, a template, or a volatile context in its slot.
type Context struct {
	Path     string // valid: see ValidPath
	Descr    string // not checked
	ASN      uint32
	Template bool   // of volatile contexts; has no values
	From     int    // index of a volatile context's template in Reader.Contexts, else -1
	Stats    []Stat // those of the template for a volatile context
	Help     string // not checked
	Labels   string // as in Stat
	Place    Place
}

// record is the private copy of a record.
type record []byte

func (b record) u32(off int) uint32 { return binary.NativeEndian.Uint32(b[off:]) }
func (b record) u64(off int) uint64 { return binary.NativeEndian.Uint64(b[off:]) }

// table checks that a table lies within the file.
func (r *Reader) table(what string, off uint64, count, size, limit int) error {
	if count > limit {
		return fmt.Errorf("%w: the segment has %d %s; at most %d are allowed", ErrLimit, count, what, limit)
	}
	if count > 0 && (off%8 != 0 || off < layout.HeaderLen || !r.m.Has(off, uint64(count)*uint64(size))) {
		return bad("a table of %d %s cannot be at offset %d", count, what, off)
	}
	return nil
}

// tables copies the records of statistics and contexts.
func (r *Reader) tables() error {
	h := &r.head
	statsOff, nstats := h.u64(layout.HdrStatsOff), int(h.u32(layout.HdrStatsCount)&0x7fffffff)
	ctxOff, ncontexts := h.u64(layout.HdrContextsOff), int(h.u32(layout.HdrContextsCount)&0x7fffffff)
	if err := r.table("statistics", statsOff, nstats, layout.StatLen, r.limits.Stats); err != nil {
		return err
	}
	if err := r.table("contexts", ctxOff, ncontexts, layout.ContextLen, r.limits.Contexts); err != nil {
		return err
	}
	r.memory = int64(nstats)*statMemory + int64(ncontexts)*contextMemory
	if err := r.enough(0); err != nil {
		return err
	}
	stats := make([]Stat, nstats)
	for i := range stats {
		if err := r.stat(&stats[i], statsOff+uint64(i)*layout.StatLen); err != nil {
			return fmt.Errorf("statistic %d: %w", i, err)
		}
	}
	r.contexts = make([]Context, ncontexts)
	values := 0
	for i := range r.contexts {
		if err := r.context(&r.contexts[i], ctxOff+uint64(i)*layout.ContextLen, stats); err != nil {
			return fmt.Errorf("context %d: %w", i, err)
		}
		values += len(r.contexts[i].Stats)
		if values > r.limits.Stats {
			return fmt.Errorf("%w: the contexts together have more than %d statistics", ErrLimit, r.limits.Stats)
		}
		if !r.contexts[i].Template {
			r.fixed += len(r.contexts[i].Stats)
		}
	}
	if err := r.enough(int64(r.texts)); err != nil {
		return err
	}
	r.memory += int64(r.texts)
	return r.unique()
}

// enough returns an error if Open would exceed the limit of memory with n bytes more.
func (r *Reader) enough(n int64) error {
	if limit := r.limits.Memory; limit > 0 && r.memory+n > limit {
		return fmt.Errorf("%w: its contexts and statistics take %d bytes of the agent's memory; at most %d are allowed", ErrLimit, r.memory+n, limit)
	}
	return nil
}

// unique checks that no two fixed contexts have the same path, and no two statistics
// of a context the same name.
func (r *Reader) unique() error {
	paths := make(map[string]bool, len(r.contexts))
	for i := range r.contexts {
		c := &r.contexts[i]
		if !c.Template && paths[c.Path] {
			return bad("context %q appears twice", c.Path)
		}
		paths[c.Path] = paths[c.Path] || !c.Template
		names := make(map[string]bool, len(c.Stats))
		for j := range c.Stats {
			if names[c.Stats[j].Name] {
				return bad("statistic %q appears twice in context %q", c.Stats[j].Name, c.Path)
			}
			names[c.Stats[j].Name] = true
		}
	}
	return nil
}

func (r *Reader) stat(s *Stat, off uint64) error {
	b := make(record, layout.StatLen)
	if !r.m.CopyWords(b, off) {
		return bad("out of bounds")
	}
	name, _ := text(b[layout.StatName : layout.StatName+layout.NameLen])
	descr, ok := text(b[layout.StatDescr : layout.StatDescr+layout.DescrLen])
	valueType := b.u32(layout.StatValueType)
	*s = Stat{Name: name, Descr: descr, Min: int64(b.u64(layout.StatMin)), Max: int64(b.u64(layout.StatMax)),
		Counter: valueType == layout.Counter, DataType: int(b.u32(layout.StatDataType)), Type: int(b.u32(layout.StatType)),
		Size: int(b.u32(layout.StatSize) & 0x7fffffff), Offset: b.u32(layout.StatOffset), ASN: b.u32(layout.StatASN), Units: b.u32(layout.StatUnits)}
	switch {
	case !layout.ValidName(name):
		return bad("name %q", name)
	case !ok:
		return bad("the description of %q has no NUL at its end", name)
	case valueType != layout.Counter && valueType != layout.Quantity:
		return bad("%q has value type %d, which does not exist", name, valueType)
	case b.u32(layout.StatType) >= layout.DataTypes || b.u32(layout.StatDataType) >= layout.DataTypes:
		return bad("%q has data types %d and %d; one of them does not exist", name, b.u32(layout.StatType), b.u32(layout.StatDataType))
	case s.Field().Op == OpNone:
		return bad("%q has data type %d, which cannot have %d bytes", name, s.Type, s.Size)
	}
	var err error
	if s.Help, err = r.extra("help", b.u64(layout.StatHelpOff), b.u32(layout.StatHelpLen), MaxHelp); err != nil {
		return err
	}
	s.Labels, err = r.extra("labels", b.u64(layout.StatLabelsOff), b.u32(layout.StatLabelsLen), MaxLabels)
	return err
}

// extra copies a text that lies outside the records.
func (r *Reader) extra(what string, off uint64, n uint32, limit int) (string, error) {
	if off == 0 || n == 0 {
		return "", nil
	}
	if n > uint32(limit) {
		return "", fmt.Errorf("%w: %s of %d bytes; at most %d are allowed", ErrLimit, what, n, limit)
	}
	if off < layout.HeaderLen || !r.m.Has(off, uint64(n)) {
		return "", bad("%s at offset %d", what, off)
	}
	// Each text has its own bytes in the file, so all texts together cannot be longer than the
	// file.
	if r.texts+uint64(n) > r.m.Len() {
		return "", bad("more text than the %d bytes of the file hold: texts overlap", r.m.Len())
	}
	b := make([]byte, n)
	if !r.m.CopyWords(b, off) {
		return "", bad("%s at offset %d", what, off)
	}
	r.texts += uint64(n)
	return string(b), nil
}

func (r *Reader) context(c *Context, off uint64, stats []Stat) error {
	b := make(record, layout.ContextLen)
	if !r.m.CopyWords(b, off) {
		return bad("out of bounds")
	}
	kind := b.u32(layout.CtxKind)
	first, count := uint64(b.u32(layout.CtxFirstStat)), uint64(b.u32(layout.CtxStatCount))
	if kind != layout.KindFixed && kind != layout.KindTemplate {
		return bad("kind %d", kind)
	}
	if count > uint64(len(stats)) || first > uint64(len(stats))-count {
		return bad("the context names statistics %d to %d, and there are %d", first, first+count, len(stats))
	}
	*c = Context{Template: kind == layout.KindTemplate, From: -1, Stats: stats[first : first+count : first+count]}
	if err := r.describe(c, b); err != nil {
		return err
	}
	if layout.Shared(c.Path) && count > 0 && kind == layout.KindFixed {
		return bad("context %q is shared by suppliers and cannot have statistics", c.Path)
	}
	if c.Template {
		return nil
	}
	return r.area(c, b, off)
}

// describe reads the fields that records of contexts and of slots share.
func (r *Reader) describe(c *Context, b record) error {
	c.Path, _ = text(b[layout.CtxPath : layout.CtxPath+layout.PathLen])
	var ok bool
	if c.Descr, ok = text(b[layout.CtxDescr : layout.CtxDescr+layout.DescrLen]); !ok {
		return bad("the description of %q has no NUL at its end", c.Path)
	}
	if !layout.ValidPath(c.Path) {
		return bad("path %q", c.Path)
	}
	c.ASN = b.u32(layout.CtxASN)
	var err error
	if c.Help, err = r.extra("help", b.u64(layout.CtxHelpOff), b.u32(layout.CtxHelpLen), MaxHelp); err != nil {
		return err
	}
	c.Labels, err = r.extra("labels", b.u64(layout.CtxLabelsOff), b.u32(layout.CtxLabelsLen), MaxLabels)
	return err
}

// area checks that all values of a context lie in its data area.
func (r *Reader) area(c *Context, b record, off uint64) error {
	if len(c.Stats) == 0 {
		return nil
	}
	data, n := b.u64(layout.CtxDataOff), uint64(b.u32(layout.CtxDataLen))
	if data%8 != 0 || data < layout.HeaderLen || !r.m.Has(data, n) {
		return bad("the data of %q cannot be %d bytes at offset %d", c.Path, n, data)
	}
	for i := range c.Stats {
		s := &c.Stats[i]
		if uint64(s.Size) > n || uint64(s.Offset) > n-uint64(s.Size) {
			return bad("statistic %q is at offset %d, which does not fit the %d bytes of data of %q", s.Name, s.Offset, n, c.Path)
		}
	}
	c.Place = Place{data: data, record: off, use: fixedUse}
	return nil
}
