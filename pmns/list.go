package pmns

import (
	"fmt"
	"iter"
	"slices"
	"strings"

	"github.com/pcp-rtime/rtime/pcp"
)

// Names returns all names of an identifier, sorted. An unknown identifier has none.
func (t *Tree) Names(id pcp.PMID) []string {
	var names []string
	for n := t.ids[id]; n != nil; n = n.next {
		names = append(names, n.name())
	}
	slices.Sort(names)
	return names
}

// Children returns the nodes directly below a node, sorted by name. The empty name
// stands for the top. A leaf has no children, which is no error (pmGetChildren(3)).
// An unknown name is pcp.ErrName.
func (t *Tree) Children(name string) ([]Child, error) {
	n, err := t.find(name)
	if err != nil {
		return nil, err
	}
	list := make([]Child, 0, len(n.children))
	for part, c := range n.children {
		list = append(list, Child{Name: part, Leaf: c.leaf})
	}
	slices.SortFunc(list, func(a, b Child) int { return strings.Compare(a.Name, b.Name) })
	return list, nil
}

// Traverse returns all leaves at or below a node, the empty name standing for the
// top. Siblings come sorted by name, each followed by what is below it. An unknown
// name is pcp.ErrName.
func (t *Tree) Traverse(prefix string) ([]Leaf, error) {
	n, err := t.find(prefix)
	if err != nil {
		return nil, err
	}
	var leaves []Leaf
	for name, n := range n.walk(prefix) {
		if n.leaf {
			leaves = append(leaves, Leaf{Name: name, PMID: n.id})
		}
	}
	return leaves, nil
}

// DynamicRoot returns the dynamic root that a name lies at or below, with the domain
// number of the agent that answers for it.
func (t *Tree) DynamicRoot(name string) (root string, domain int, ok bool) {
	n := &t.root
	for end := 0; end < len(name); end++ {
		part, _, _ := strings.Cut(name[end:], ".")
		end += len(part)
		if n = n.children[part]; n == nil {
			return "", 0, false
		}
		if n.leaf {
			domain, ok = DynamicDomain(n.id)
			return name[:end], domain, ok
		}
	}
	return "", 0, false
}

// sorted returns the children in the order of their names.
func (n *node) sorted() []*node {
	list := make([]*node, 0, len(n.children))
	for _, c := range n.children {
		list = append(list, c)
	}
	slices.SortFunc(list, func(a, b *node) int { return strings.Compare(a.part, b.part) })
	return list
}

// walk yields n, whose full name is given, and every node below it with full names:
// a node before what is below it, siblings sorted.
func (n *node) walk(name string) iter.Seq2[string, *node] {
	return func(yield func(string, *node) bool) { n.visit(name, yield) }
}

func (n *node) visit(name string, yield func(string, *node) bool) bool {
	if !yield(name, n) {
		return false
	}
	for _, c := range n.sorted() {
		if !c.visit(join(name, c.part), yield) {
			return false
		}
	}
	return true
}

func join(prefix, part string) string {
	if prefix == "" {
		return part
	}
	return prefix + "." + part
}

// String prints a leaf as the text form has it: name and D:C:I or D:*:*.
func (l Leaf) String() string { return l.Name + " " + formatID(l.PMID, "", -1) }

// formatID prints an identifier as the text form has it, with symbol in place of
// the agent's own domain number.
func formatID(id pcp.PMID, symbol string, own int) string {
	domain, dynamic := DynamicDomain(id)
	if !dynamic {
		domain = id.Domain()
	}
	d := fmt.Sprint(domain)
	if symbol != "" && domain == own {
		d = symbol
	}
	if dynamic {
		return d + ":*:*"
	}
	return fmt.Sprintf("%s:%d:%d", d, id.Cluster(), id.Item())
}
