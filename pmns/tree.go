// Package pmns keeps, reads and writes performance metrics name spaces: the trees
// that give metrics their dotted names, as PMNS(5) describes them.
//
//	var t pmns.Tree
//	err := t.Add("rtime.lan.resptime", pcp.MakePMID(400, 0, 1))
//	if err != nil {
//		log.Fatal(err)
//	}
//	w := os.Stdout
//	err = pmns.Write(w, &t, pmns.WriteOptions{Top: "rtime.lan", Symbol: "RTLAN", Domain: 400})
package pmns

import (
	"fmt"
	"slices"
	"strings"

	"github.com/pcp-rtime/rtime/pcp"
)

// dynamicDomain is the domain of the identifiers that PCP gives to the roots of
// dynamic subtrees; their cluster is the domain of the agent that answers for it.
const dynamicDomain = 511

// Dynamic returns the identifier that stands in a name space for the root of a
// subtree whose names the agent with this domain number (0..510) knows: what the
// text form writes as D:*:*.
func Dynamic(domain int) pcp.PMID { return pcp.MakePMID(dynamicDomain, domain, 0) }

// DynamicDomain returns the agent's domain number where id is what Dynamic returns.
func DynamicDomain(id pcp.PMID) (domain int, ok bool) {
	if id.Domain() != dynamicDomain || id.Item() != 0 || id.Cluster() > pcp.MaxDomain || id>>31 != 0 {
		return 0, false
	}
	return id.Cluster(), true
}

// Tree is a name space. The zero Tree is empty and ready to use. A Tree is not safe
// for concurrent use; readers alone may share one.
//
// Add, Remove and the look-ups cost as much as the name has parts, however many
// names there are. Several names may share one identifier; one name has one.
type Tree struct {
	root node
	ids  map[pcp.PMID]*node // the first of the names of each identifier
	size int
}

// node is one part of a name. A leaf has an identifier and no children; an interior
// node, other than the root, always has children.
type node struct {
	part     string
	parent   *node
	children map[string]*node
	leaf     bool
	id       pcp.PMID
	// The other leaves with the same identifier, so that adding and removing one
	// costs the same however many there are.
	next, prev *node
}

// Leaf is a metric's name with its identifier, or the root of a dynamic subtree.
type Leaf struct {
	Name string
	PMID pcp.PMID
}

// Child is a node directly below another. Name is its own part, without dots.
type Child struct {
	Name string
	Leaf bool
}

// Len returns the number of leaves.
func (t *Tree) Len() int { return t.size }

// Add adds a leaf. It fails where the name is not legal, is there already (as a leaf
// or as an inner node), lies below a leaf, or where the identifier is neither a
// metric's nor one that Dynamic returns. A failed Add changes nothing.
func (t *Tree) Add(name string, id pcp.PMID) error {
	if err := checkID(name, id); err != nil {
		return err
	}
	if err := CheckName(name); err != nil {
		return err
	}
	if err := t.vacant(name); err != nil {
		return err
	}
	n := &t.root
	for part := range strings.SplitSeq(name, ".") {
		n = n.child(part)
	}
	n.leaf, n.id = true, id
	t.link(n)
	t.size++
	return nil
}

func checkID(name string, id pcp.PMID) error {
	if _, dynamic := DynamicDomain(id); !dynamic && (id>>31 != 0 || id.Domain() > pcp.MaxDomain) {
		return fmt.Errorf("pmns: name %q: identifier %v is not a metric's", name, id)
	}
	return nil
}

// vacant reports why a legal name cannot be added.
func (t *Tree) vacant(name string) error {
	n := &t.root
	for end := 0; end < len(name); end++ {
		part, _, _ := strings.Cut(name[end:], ".")
		next := n.children[part]
		end += len(part)
		switch {
		case next == nil:
			return nil
		case next.leaf && end < len(name):
			return fmt.Errorf("pmns: name %q lies below the metric %q", name, name[:end])
		}
		n = next
	}
	if n.leaf {
		return fmt.Errorf("pmns: name %q is there already", name)
	}
	return fmt.Errorf("pmns: name %q is taken by a node with names below it", name)
}

func (n *node) child(part string) *node {
	c := n.children[part]
	if c == nil {
		// The clone keeps one part alive, not the caller's whole string.
		c = &node{part: strings.Clone(part), parent: n}
		if n.children == nil {
			n.children = make(map[string]*node)
		}
		n.children[c.part] = c
	}
	return c
}

// find returns the node of a name; the empty name is the root.
func (t *Tree) find(name string) (*node, error) {
	n := &t.root
	for rest, more := name, name != ""; more; {
		var part string
		part, rest, more = strings.Cut(rest, ".")
		if n = n.children[part]; n == nil {
			return nil, fmt.Errorf("pmns: name %q: %w", name, pcp.ErrName)
		}
	}
	return n, nil
}

// Lookup returns the identifier of a leaf. An unknown name is pcp.ErrName, a node
// with names below it pcp.ErrNonLeaf (compare with errors.Is). Names below a dynamic
// root are unknown here: the agent answers for them.
func (t *Tree) Lookup(name string) (pcp.PMID, error) {
	n, err := t.find(name)
	if err != nil {
		return pcp.PMIDNull, err
	}
	if !n.leaf {
		return pcp.PMIDNull, fmt.Errorf("pmns: name %q: %w", name, pcp.ErrNonLeaf)
	}
	return n.id, nil
}

// Remove removes a leaf and the inner nodes above it that have nothing left below
// them. An unknown name is pcp.ErrName, an inner node pcp.ErrNonLeaf.
func (t *Tree) Remove(name string) error {
	n, err := t.find(name)
	if err != nil {
		return err
	}
	if !n.leaf {
		return fmt.Errorf("pmns: name %q: %w", name, pcp.ErrNonLeaf)
	}
	t.unlink(n)
	t.size--
	n.detach()
	return nil
}

// RemoveAll removes a leaf, or a node with everything below it, or with the empty
// name everything. It returns the number of leaves removed. An unknown name is
// pcp.ErrName.
func (t *Tree) RemoveAll(prefix string) (int, error) {
	n, err := t.find(prefix)
	if err != nil {
		return 0, err
	}
	if n == &t.root {
		removed := t.size
		*t = Tree{}
		return removed, nil
	}
	removed := 0
	n.leaves(func(leaf *node) {
		t.unlink(leaf)
		removed++
	})
	t.size -= removed
	n.detach()
	return removed, nil
}

// detach takes the node out of its parent, and so on upwards while nothing is left.
func (n *node) detach() {
	for p := n.parent; p != nil; n, p = p, p.parent {
		delete(p.children, n.part)
		if len(p.children) > 0 {
			return
		}
	}
}

// leaves calls f for every leaf at or below n, in no order.
func (n *node) leaves(f func(*node)) {
	if n.leaf {
		f(n)
		return
	}
	for _, c := range n.children {
		c.leaves(f)
	}
}

// link puts a leaf into the chain of its identifier.
func (t *Tree) link(n *node) {
	if t.ids == nil {
		t.ids = make(map[pcp.PMID]*node)
	}
	if first := t.ids[n.id]; first != nil {
		n.next, first.prev = first, n
	}
	t.ids[n.id] = n
}

func (t *Tree) unlink(n *node) {
	if n.next != nil {
		n.next.prev = n.prev
	}
	switch {
	case n.prev != nil:
		n.prev.next = n.next
	case n.next != nil:
		t.ids[n.id] = n.next
	default:
		delete(t.ids, n.id)
	}
	n.next, n.prev = nil, nil
}

// name returns the full dotted name of a node.
func (n *node) name() string {
	var parts []string
	for ; n.parent != nil; n = n.parent {
		parts = append(parts, n.part)
	}
	slices.Reverse(parts)
	return strings.Join(parts, ".")
}
