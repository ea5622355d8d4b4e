package spmi

import (
	"errors"
	"reflect"

	"github.com/pcp-rtime/rtime/internal/ddsseg/layout"
	"github.com/pcp-rtime/rtime/internal/ddsseg/writer"
)

// plan is what Open makes of the declarations.
type plan struct {
	s        *Supplier
	contexts []*Context
	kinds    []*kind
	decls    []writer.ContextDecl
	claim    []string
}

func (p *plan) declare(fixed, volatile []*Context) error {
	for _, c := range fixed {
		if err := p.fixed(c); err != nil {
			return err
		}
	}
	for _, c := range volatile {
		if err := p.template(c); err != nil {
			return err
		}
	}
	return nil
}

func (p *plan) fixed(c *Context) error {
	path := full(p.s.vendor, c.Path)
	k, err := kindOf(c)
	if err != nil {
		return err
	}
	if err := c.check(path, k, false); err != nil {
		return err
	}
	if len(k.fields) > 0 && reflect.ValueOf(c.Values).IsNil() {
		return fail(CodeBadArgument, path, "Values is nil")
	}
	if a := c.area.Load(); a != nil && !a.isGone() {
		return fail(CodeDuplicate, path, "the context is live already")
	}
	known, err := p.s.tree.add(path, c, k, false)
	if err != nil || known {
		return err
	}
	if !layout.Shared(path) {
		p.claim = append(p.claim, path)
	}
	p.contexts = append(p.contexts, c)
	p.kinds = append(p.kinds, k)
	p.decls = append(p.decls, decl(path, c, k, false))
	return nil
}

// template takes in a kind of volatile contexts. Its path is only an example and
// clashes with nothing.
func (p *plan) template(c *Context) error {
	path := full(p.s.vendor, c.Path)
	k, err := kindOf(c)
	if err != nil {
		return err
	}
	if err := c.check(path, k, true); err != nil {
		return err
	}
	sig := k.signature()
	if p.s.kinds[sig] != nil {
		return fail(CodeDuplicate, path, "two volatile contexts have the same statistics")
	}
	k.template = len(p.decls)
	p.s.kinds[sig] = k
	if len(c.Stats) == 0 && c.Values != nil {
		p.s.types[reflect.TypeOf(c.Values)] = k
	}
	p.decls = append(p.decls, decl(path, c, k, true))
	return nil
}

func decl(path string, c *Context, k *kind, template bool) writer.ContextDecl {
	labels, _ := labelsJSON(c.Labels)
	return writer.ContextDecl{
		Path: path, Descr: c.Descr, ASN: c.ASN, Template: template,
		Stats: k.decls, DataLen: uint32(8 * len(k.decls)), Help: c.Help, Labels: labels,
	}
}

// publish makes the segment and binds the handles. If there can be no segment, the
// handles get private memory.
func (p *plan) publish() error {
	s := p.s
	w, err := writer.Create(s.dir, s.program(), p.decls, p.claim, nil)
	var taken *writer.ClaimedError
	if errors.As(err, &taken) {
		return claimError(err)
	}
	if err != nil {
		s.now.Store(&segment{line: writer.NewLine(), told: new(writer.Notice), err: claimError(err)})
	} else {
		s.use(w)
	}
	for i, c := range p.contexts {
		a := s.private(len(p.kinds[i].decls))
		if w != nil {
			at := w.Fixed(i)
			a.words, a.update = at.Words, at.Update
		}
		p.kinds[i].bind(c, a)
		c.area.Store(a)
	}
	return nil
}
