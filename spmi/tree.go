package spmi

import (
	"errors"
	"fmt"
	"io/fs"
	"strings"
	"syscall"

	"github.com/pcp-rtime/rtime/internal/ddsseg/layout"
	"github.com/pcp-rtime/rtime/internal/ddsseg/writer"
)

// tree is what a supplier has declared. It finds clashes of names and numbers, at a cost that
// does not depend on how much is declared.
type tree struct {
	dir   string // of segments, to look for other suppliers' contexts; "": do not look
	nodes map[string]*node
	asns  map[numbered]bool
}

type node struct {
	kind     *kind
	ctx      *Context // nil for a vendor's context that was not declared
	children int
	volatile bool
}

// numbered is an ASN.1 number within the context above.
type numbered struct {
	parent string
	asn    uint32
}

func newTree(dir string) *tree {
	// DDS belongs to the SPMI and always exists.
	return &tree{dir: dir, nodes: map[string]*node{"DDS": {kind: &kind{}, ctx: &Context{}}}, asns: map[numbered]bool{}}
}

// check returns what is wrong with a context by itself.
func (c *Context) check(path string, k *kind, volatile bool) error {
	_, err := labelsJSON(c.Labels)
	switch {
	case !layout.ValidPath(path):
		return fail(CodeBadArgument, path, "not a path of up to 63 bytes that begins with DDS")
	case c.ASN > maxASN:
		return fail(CodeBadArgument, path, fmt.Sprintf("ASN.1 number %d: want 0 to %d", c.ASN, maxASN))
	case layout.Shared(path) && len(k.decls) > 0:
		return fail(CodeBadArgument, path, "statistics directly in DDS or a vendor's context")
	case path == "DDS" && volatile:
		return fail(CodeBadArgument, path, "DDS is not volatile: add contexts below it")
	case err != nil:
		return fail(CodeBadArgument, path, err.Error())
	}
	return checkTexts(path, c.Descr, c.Help)
}

// add checks a context against the tree and adds it. known reports that DDS or a vendor's
// context was there already. Declaring these again is ignored.
func (t *tree) add(path string, c *Context, k *kind, volatile bool) (known bool, err error) {
	n := t.nodes[path]
	if n != nil && n.ctx != nil {
		if volatile || !layout.Shared(path) {
			return false, fail(CodeDuplicate, path, "")
		}
		return true, nil
	}
	parent := layout.Parent(path)
	above, err := t.above(path, parent)
	if err != nil {
		return false, err
	}
	last := path[len(parent)+1:]
	if above != nil && above.kind.names[last] {
		return false, fail(CodeDuplicate, path, "a statistic has that name")
	}
	if above != nil && c.ASN != 0 && above.kind.asns[c.ASN] {
		return false, fail(CodeDuplicate, path, fmt.Sprintf("a statistic has the ASN.1 number %d", c.ASN))
	}
	if err := t.number(path, c.ASN); err != nil {
		return false, err
	}
	if n == nil {
		n = &node{}
		t.nodes[path] = n
	}
	n.kind, n.ctx, n.volatile = k, c, volatile
	if above != nil {
		above.children++
	}
	return false, nil
}

// claims reports whether a volatile context needs a claim. It needs none below a context of
// this supplier's own. A vendor's context belongs to nobody.
func (t *tree) claims(path string) bool {
	parent := layout.Parent(path)
	return !layout.Shared(path) && (t.nodes[parent] == nil || layout.Shared(parent))
}

// above finds the node above. It returns nil if that belongs to another supplier. It makes
// vendors' contexts as they are needed.
func (t *tree) above(path, parent string) (*node, error) {
	if n := t.nodes[parent]; n != nil {
		return n, nil
	}
	if layout.Shared(parent) {
		n := &node{kind: &kind{}}
		t.nodes[parent] = n
		return n, nil
	}
	if t.dir != "" {
		// If this cannot be found out, nobody sees the context either.
		if taken, err := writer.Taken(t.dir, parent); taken || err != nil {
			return nil, nil
		}
	}
	return nil, fail(CodeInvalidCx, path, "no context "+parent+" above it")
}

func (t *tree) number(path string, asn uint32) error {
	if asn == 0 {
		return nil
	}
	key := numbered{layout.Parent(path), asn}
	if t.asns[key] {
		return fail(CodeDuplicate, path, fmt.Sprintf("ASN.1 number %d used twice below %s", asn, key.parent))
	}
	t.asns[key] = true
	return nil
}

// remove takes a context out. If a vendor's context has others below it, it stays as one that
// was not declared.
func (t *tree) remove(path string, asn uint32) {
	if n := t.nodes[path]; n.children > 0 {
		*n = node{kind: &kind{}, children: n.children}
	} else {
		delete(t.nodes, path)
	}
	parent := layout.Parent(path)
	delete(t.asns, numbered{parent, asn})
	if n := t.nodes[parent]; n != nil {
		n.children--
	}
}

// claimError turns the answer of the segment's writer into this package's.
func claimError(err error) error {
	var taken *writer.ClaimedError
	switch {
	case errors.As(err, &taken):
		return &Error{Code: CodeDuplicate, Path: taken.Path, Text: "another supplier has it"}
	case errors.Is(err, writer.ErrNoRoom):
		return &Error{Code: CodeNoMemory, Err: err}
	case errors.Is(err, fs.ErrNotExist), errors.Is(err, syscall.ENOTDIR):
		return &Error{Code: CodeNoShmPtr, Err: err}
	}
	return &Error{Code: CodeShmemFailed, Err: err}
}

// full returns the whole path of a declaration.
func full(vendor, path string) string {
	if vendor == "" || path == "DDS" || strings.HasPrefix(path, "DDS/") {
		return path
	}
	return vendor + "/" + path
}
