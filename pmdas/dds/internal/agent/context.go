package agent

import (
	"github.com/pcp-rtime/rtime/internal/ddsseg/layout"
	"github.com/pcp-rtime/rtime/internal/ddsseg/reader"
	"github.com/pcp-rtime/rtime/pcp"
	"github.com/pcp-rtime/rtime/pmda"
	"github.com/pcp-rtime/rtime/pmdas/dds/internal/account"
	"github.com/pcp-rtime/rtime/pmdas/dds/internal/naming"
)

// contexts is what rtime.dds.context shows: the tree of the suppliers' contexts, with all
// contexts above them.
type contexts struct {
	users *account.Users
	names *naming.Names // nil until the agent has started
	rows  *pmda.InDom[*node]

	// dynamic counts the templates and the volatile contexts below a context or template.
	dynamic map[string]int
}

// node is a context.
type node struct {
	path     string
	first    holder // the first supplier that has it; the zero holder if none has
	children int    // contexts below it
}

// holder is one supplier's entry for a context.
type holder struct {
	src  *source
	c    *reader.Context
	next *holder // the supplier that had the context after this one
}

// The root of all suppliers' contexts, as the SPMI names it.
const (
	rootPath  = "DDS"
	rootDescr = "Dynamic Data-Supplier Statistics"
	rootASN   = 99
)

// Whether a context can have instances, in the SPMI's words.
const (
	noInstances    = "SiNoInst"
	comingAndGoing = "SiContInst"
)

func newContexts(users *account.Users) *contexts {
	o := &contexts{users: users, dynamic: make(map[string]int)}
	o.rows = &pmda.InDom[*node]{
		Serial: 1, Name: "contexts", IDs: o,
		OneLine: "contexts of dynamic data suppliers",
		Help: "An instance for each context that a supplier has, fixed or volatile, with or without\n" +
			"statistics, and for each one above it, by its path. A path that PCP does not allow as\n" +
			"a name is rewritten, and then has an underscore and eight digits after it.",
	}
	return o
}

// ID gives contexts their numbers. They are among the numbers of all instances.
func (o *contexts) ID(name string) (int32, error) {
	return o.names.InstanceID(o.rows.Serial, name)
}

// add shows that a supplier has a context.
func (o *contexts) add(s *source, c *reader.Context) error {
	if c.From >= 0 {
		o.vary(layout.Parent(c.Path), 1)
	}
	n, err := o.node(c.Path, s.user, c.From < 0) // a volatile one is paid for already
	if err != nil {
		return err
	}
	if n.first.src == nil {
		n.first = holder{src: s, c: c}
		return nil
	}
	last := &n.first
	for last.next != nil {
		last = last.next
	}
	last.next = &holder{src: s, c: c}
	return nil
}

// template notes that a supplier has a kind of volatile contexts, or no longer has it.
func (o *contexts) template(c *reader.Context, add int) { o.vary(layout.Parent(c.Path), add) }

func (o *contexts) vary(path string, add int) {
	if o.dynamic[path] += add; o.dynamic[path] == 0 {
		delete(o.dynamic, path)
	}
}

// nameOf returns the name of a context as an instance.
func (o *contexts) nameOf(path string) string {
	name := naming.Instance(path)
	if name != path {
		name += naming.Suffix(path)
	}
	return name
}

// node finds a context or makes it, with those above it. A context that was never seen before
// is charged to a user's account. If the context, or one above it, gets no number, node
// returns an error and the context is not shown.
func (o *contexts) node(path string, u *account.User, pays bool) (*node, error) {
	name := o.nameOf(path)
	if n, ok := o.rows.Get(name); ok {
		return n, nil
	}
	var parent *node
	if above := layout.Parent(path); above != "" {
		var err error
		if parent, err = o.node(above, u, true); err != nil {
			return nil, err
		}
	}
	n := &node{path: path}
	var err error
	known := o.names.HasInstance(o.rows.Serial, name)
	if pays && !known {
		err = o.users.NewName(u)
	}
	if err == nil {
		_, err = o.rows.Add(name, n)
	}
	if err != nil {
		o.tidy(parent)
		return nil, err
	}
	if !known {
		o.users.Name(u, name)
	}
	if parent != nil {
		parent.children++
	}
	return n, nil
}

// drop notes that a supplier no longer has a context.
func (o *contexts) drop(s *source, c *reader.Context) {
	if c.From >= 0 {
		o.vary(layout.Parent(c.Path), -1)
	}
	n, ok := o.rows.Get(o.nameOf(c.Path))
	if !ok {
		return
	}
	for before, h := (*holder)(nil), &n.first; h != nil; before, h = h, h.next {
		switch {
		case h.src != s || h.c != c:
			continue
		case before != nil:
			before.next = h.next
		case h.next != nil:
			n.first = *h.next
		default:
			n.first = holder{}
		}
		break
	}
	o.tidy(n)
}

// tidy forgets a context that no supplier has and that has no contexts below it.
func (o *contexts) tidy(n *node) {
	for n != nil && n.first.src == nil && n.children == 0 {
		o.rows.Remove(o.nameOf(n.path))
		above, ok := o.rows.Get(o.nameOf(layout.Parent(n.path)))
		if !ok {
			return
		}
		above.children--
		n = above
	}
}

func (n *node) descr() string {
	if n.first.src != nil {
		return naming.Line(n.first.c.Descr)
	}
	if n.path == rootPath {
		return rootDescr
	}
	return ""
}

func (n *node) asn() uint32 {
	if n.first.src != nil && n.first.c.ASN != 0 {
		return n.first.c.ASN
	}
	if n.path == rootPath {
		return rootASN
	}
	return 0
}

func (o *contexts) instantiability(n *node) string {
	kind := n.path
	if h := n.first; h.src != nil && h.c.From >= 0 {
		kind = h.src.sup.Contexts()[h.c.From].Path
	}
	if o.dynamic[n.path] > 0 || o.dynamic[kind] > 0 {
		return comingAndGoing
	}
	return noInstances
}

func (n *node) supplier() string {
	if n.first.src == nil {
		return ""
	}
	return n.first.src.row.title
}

// metrics are those of the contexts.
func (o *contexts) metrics() []pmda.Metric {
	per := func(item int, name string, get pmda.Getter, oneline, help string) pmda.Metric {
		return pmda.Metric{Name: "rtime.dds.context." + name, Cluster: clusterContext, Item: item,
			Sem: pcp.SemDiscrete, Get: get, OneLine: oneline, Help: help}
	}
	text := func(f func(*node) string) pmda.Getter {
		return pmda.Per(o.rows, func(n *node) (string, bool) {
			s := f(n)
			return s, s != ""
		})
	}
	return []pmda.Metric{
		per(0, "path", text(func(n *node) string { return n.path }), "path of the context",
			"As suppliers have it. Its statistics are the metrics below dds whose label path is this\n"+
				"path, a slash and the statistic's name. Those of a volatile context have the path of\n"+
				"the context above it with an asterisk for its own name; it is the instance whose label\n"+
				"path is this path, and has the statistics that it has values for."),
		per(1, "description", text((*node).descr), "description of the context",
			"That of the supplier that had the context first, of those that have it. No value where\n"+
				"nobody has described it."),
		per(2, "asn", pmda.Per(o.rows, func(n *node) (uint32, bool) { return n.asn(), n.asn() != 0 }),
			"ASN.1 number of the context among those below the same one",
			"DDS is 99, so that DDS/IBM, which is 2, is 99.2. No value where it has none."),
		per(3, "instantiability", text(o.instantiability), "whether contexts below it come and go: SiContInst or SiNoInst",
			"In the SPMI's words. SiContInst: a supplier has declared volatile contexts below it, or\n"+
				"there are some."),
		per(4, "supplier", text((*node).supplier), "supplier of the context",
			"The one that had it first, of those that have it, by its instance in rtime.dds.supplier.\n"+
				"No value where the context is there for those below it only."),
	}
}
