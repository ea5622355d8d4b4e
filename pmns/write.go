package pmns

import (
	"bufio"
	"fmt"
	"io"
	"strings"

	"github.com/pcp-rtime/rtime/pcp"
)

// WriteOptions say which form of the text is written. The zero value writes the
// whole tree under a root block, with numbers only.
type WriteOptions struct {
	// Top is the node whose subtree is written, such as "rtime.lan". If the Install of an
	// agent sets pmns_name to a node, the agent's file "pmns" holds the subtree of that
	// node. The empty name writes the whole tree.
	Top string
	// Symbol stands in place of the number Domain, if it is not empty. Install
	// replaces it by the number that domain.h or the user gives.
	Symbol string
	Domain int
}

func (o WriteOptions) check() error {
	if o.Symbol != "" {
		if err := checkSymbol(o.Symbol); err != nil {
			return fmt.Errorf("pmns: %w", err)
		}
		if o.Domain < 0 || o.Domain > pcp.MaxDomain {
			return fmt.Errorf("pmns: domain %d is not within 0..%d", o.Domain, pcp.MaxDomain)
		}
	}
	return nil
}

// clash reports a name with a part that the preprocessor would take for the symbol.
func (o WriteOptions) clash(top *node) error {
	if o.Symbol == "" {
		return nil
	}
	for name, n := range top.walk(o.Top) {
		if n.part == o.Symbol || n == top && strings.Contains("."+name+".", "."+o.Symbol+".") {
			return fmt.Errorf("pmns: name %q holds the symbol %s", name, o.Symbol)
		}
	}
	return nil
}

// Write writes the tree in the text form that Parse reads; equal trees give equal
// bytes.
//
// With Top, the first block is Top's own, by its full name, and no block stands
// above it: pmnsadd(1) takes the place of the subtree from the first block and makes
// the nodes above it, and they may be shared with other agents. Where Top is a leaf,
// as the root of a dynamic subtree is, it is written within a root block, which
// pmnsadd takes as it is.
//
// An unknown Top is pcp.ErrName.
func Write(w io.Writer, t *Tree, opts WriteOptions) error {
	if err := opts.check(); err != nil {
		return err
	}
	top, err := t.find(opts.Top)
	if err != nil {
		return err
	}
	if err := opts.clash(top); err != nil {
		return err
	}
	out := bufio.NewWriter(w)
	if top.leaf {
		opts.leaf(out, top, opts.Top)
		return out.Flush()
	}
	first := true
	for name, n := range top.walk(opts.Top) {
		if n.leaf {
			continue
		}
		if !first {
			fmt.Fprintln(out)
		}
		first = false
		opts.block(out, n, name)
	}
	return out.Flush()
}

func (o WriteOptions) block(out io.Writer, n *node, name string) {
	if name == "" {
		name = "root"
	}
	fmt.Fprintf(out, "%s {\n", name)
	for _, c := range n.sorted() {
		if c.leaf {
			fmt.Fprintf(out, "\t%s\t%s\n", c.part, formatID(c.id, o.Symbol, o.Domain))
		} else {
			fmt.Fprintf(out, "\t%s\n", c.part)
		}
	}
	fmt.Fprintln(out, "}")
}

// leaf writes the blocks from the root down to a single leaf.
func (o WriteOptions) leaf(out io.Writer, n *node, name string) {
	head := "root"
	parts := strings.Split(name, ".")
	for i, part := range parts[:len(parts)-1] {
		fmt.Fprintf(out, "%s {\n\t%s\n}\n\n", head, part)
		head = strings.Join(parts[:i+1], ".")
	}
	fmt.Fprintf(out, "%s {\n\t%s\t%s\n}\n", head, n.part, formatID(n.id, o.Symbol, o.Domain))
}

// WriteRoot writes the file "root" that an agent ships beside "pmns": a complete
// name space with nothing but the agent's names, by which Install checks them. It
// defines the symbol, holds the nodes above Top and includes the file "pmns", which
// must be what Write gives for the same tree and options.
func WriteRoot(w io.Writer, t *Tree, opts WriteOptions) error {
	if err := opts.check(); err != nil {
		return err
	}
	top, err := t.find(opts.Top)
	if err != nil {
		return err
	}
	out := bufio.NewWriter(w)
	if opts.Symbol != "" {
		fmt.Fprintf(out, "#ifndef %s\n#define %s\t%d\n#endif\n\n", opts.Symbol, opts.Symbol, opts.Domain)
	}
	if opts.Top != "" && !top.leaf {
		head := "root"
		parts := strings.Split(opts.Top, ".")
		for i, part := range parts {
			fmt.Fprintf(out, "%s {\n\t%s\n}\n\n", head, part)
			head = strings.Join(parts[:i+1], ".")
		}
	}
	fmt.Fprintln(out, `#include "pmns"`)
	return out.Flush()
}
