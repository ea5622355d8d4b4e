package pmns

import (
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"

	"github.com/pcp-rtime/rtime/pcp"
)

// ParseOptions say what Parse may do. The zero value is for a complete name space
// in one file.
type ParseOptions struct {
	// Include opens what #include names; system says that it stood in <>. Without
	// it #include is an error.
	Include func(name string, system bool) (io.ReadCloser, error)
	// Define gives symbols their numbers before the first line.
	Define map[string]int
	// Fragment accepts what an agent ships as "pmns": blocks without a root block
	// above them, each under its full name, or single metrics without any block.
	Fragment bool
}

// Parse reads the text form of a name space: the blocks of PMNS(5), C comments,
// #define of numbers, #undef, #ifdef, #ifndef, #else, #endif and #include. name is
// what errors call the source; they begin with file and line. A block that nothing
// refers to, a node without its block and a name given twice are errors, as they are
// for PCP.
func Parse(r io.Reader, name string, opts ParseOptions) (*Tree, error) {
	p := &parser{
		fragment: opts.Fragment,
		seen:     make(map[string]position),
		inner:    make(map[string]position),
		blocks:   make(map[string]position),
	}
	src := &reader{opts: opts, macros: make(map[string]string), emit: p.word}
	for symbol, n := range opts.Define {
		src.macros[symbol] = strconv.Itoa(n)
	}
	if err := src.file(r, name); err != nil {
		return nil, err
	}
	if err := p.finish(name); err != nil {
		return nil, err
	}
	return p.tree()
}

// parser takes words one by one. Between blocks it waits for a path and its brace;
// inside it keeps the last name until it knows whether an identifier follows.
type parser struct {
	fragment bool
	inside   bool
	path     string // the block's, "" for root
	pending  word   // a path before its brace, or a name before its identifier

	leaves []parsedLeaf
	seen   map[string]position // every name given within a block
	inner  map[string]position // those without an identifier
	blocks map[string]position
	count  int // names in the block
}

type parsedLeaf struct {
	Leaf
	at position
}

func (p *parser) word(w word) error {
	if p.inside {
		return p.item(w)
	}
	switch {
	case p.pending.text == "" && (w.text == "{" || w.text == "}"):
		return w.at.errorf("%q where a node's name is expected", w.text)
	case p.pending.text == "":
		p.pending = w
		return nil
	case p.fragment && strings.Contains(w.text, ":"):
		return p.topLeaf(w)
	case w.text != "{":
		return w.at.errorf("%q where the { of node %q is expected", w.text, p.pending.text)
	}
	return p.open()
}

// topLeaf takes a metric outside all blocks: pmnsadd puts a root block around it.
func (p *parser) topLeaf(w word) error {
	name, at := p.pending.text, p.pending.at
	if err := checkPart(name); err != nil {
		return at.errorf("pmns: %w", err)
	}
	if err := p.see(name, at); err != nil {
		return err
	}
	p.path = ""
	return p.leaf(w)
}

func (p *parser) open() error {
	name, at := p.pending.text, p.pending.at
	p.path, p.pending, p.inside, p.count = name, word{}, true, 0
	if name == "root" {
		p.path = ""
	} else if err := CheckName(name); err != nil {
		return at.errorf("%w", err)
	}
	if first, twice := p.blocks[p.path]; twice {
		return at.errorf("node %q has a block already, at %s:%d", name, first.file, first.line)
	}
	p.blocks[p.path] = at
	return nil
}

func (p *parser) item(w word) error {
	switch {
	case w.text == "{":
		return w.at.errorf("{ within a block")
	case strings.Contains(w.text, ":"):
		return p.leaf(w)
	}
	if err := p.flush(); err != nil {
		return err
	}
	if w.text == "}" {
		if p.count == 0 && p.path != "" {
			return w.at.errorf("node %q has nothing below it", p.path)
		}
		p.inside = false
		return nil
	}
	if err := checkPart(w.text); err != nil {
		return w.at.errorf("pmns: %w", err)
	}
	p.pending = w
	p.count++
	return p.see(join(p.path, w.text), w.at)
}

func (p *parser) see(name string, at position) error {
	if first, twice := p.seen[name]; twice {
		return at.errorf("name %q is there already, at %s:%d", name, first.file, first.line)
	}
	p.seen[name] = at
	return nil
}

// flush records a name that no identifier followed: a node with its own block.
func (p *parser) flush() error {
	if p.pending.text != "" {
		p.inner[join(p.path, p.pending.text)] = p.pending.at
		p.pending = word{}
	}
	return nil
}

func (p *parser) leaf(w word) error {
	if p.pending.text == "" {
		return w.at.errorf("identifier %s without a name before it", w.text)
	}
	id, err := parseID(w.text)
	if err != nil {
		return w.at.errorf("metric %q: %w", p.pending.text, err)
	}
	p.leaves = append(p.leaves, parsedLeaf{Leaf{join(p.path, p.pending.text), id}, p.pending.at})
	p.pending = word{}
	return nil
}

// parseID reads D:C:I or D:*:* after the symbols have been replaced.
func parseID(s string) (pcp.PMID, error) {
	f := strings.Split(s, ":")
	if len(f) != 3 {
		return pcp.PMIDNull, fmt.Errorf("identifier %q is not of the form domain:cluster:item", s)
	}
	dynamic := f[1] == "*" && f[2] == "*"
	if dynamic {
		f[1], f[2] = "0", "0"
	}
	var n [3]int
	for i, max := range []int{pcp.MaxDomain, pcp.MaxCluster, pcp.MaxItem} {
		v, err := strconv.ParseUint(f[i], 10, 16)
		if err != nil {
			return pcp.PMIDNull, fmt.Errorf("identifier %q: %q is not a number nor a defined symbol", s, f[i])
		}
		if n[i] = int(v); n[i] > max {
			return pcp.PMIDNull, fmt.Errorf("identifier %q: %d is not within 0..%d", s, v, max)
		}
	}
	if dynamic {
		return Dynamic(n[0]), nil
	}
	return pcp.MakePMID(n[0], n[1], n[2]), nil
}

// finish checks that the blocks make up one tree.
func (p *parser) finish(file string) error {
	if p.pending.text != "" && !p.inside {
		return p.pending.at.errorf("node %q without a block", p.pending.text)
	}
	if p.inside {
		at := p.blocks[p.path]
		return at.errorf("block without its }")
	}
	if _, ok := p.blocks[""]; !ok && !p.fragment {
		return fmt.Errorf("%s: no root block", file)
	}
	for _, name := range sortedKeys(p.inner) {
		if _, ok := p.blocks[name]; !ok {
			return p.inner[name].errorf("node %q has neither an identifier nor a block", name)
		}
	}
	for _, name := range sortedKeys(p.blocks) {
		if err := p.connected(name); err != nil {
			return err
		}
	}
	return nil
}

func (p *parser) connected(name string) error {
	if _, ok := p.inner[name]; ok || name == "" {
		return nil
	}
	if at, ok := p.seen[name]; ok {
		return p.blocks[name].errorf("node %q is a metric already, at %s:%d", name, at.file, at.line)
	}
	parent := ""
	if i := strings.LastIndexByte(name, '.'); i >= 0 {
		parent = name[:i]
	}
	if _, ok := p.blocks[parent]; ok || !p.fragment {
		return p.blocks[name].errorf("node %q is not in the block of the node above it", name)
	}
	return nil
}

func sortedKeys(m map[string]position) []string {
	keys := make([]string, 0, len(m))
	for k := range m {
		keys = append(keys, k)
	}
	slices.Sort(keys)
	return keys
}

func (p *parser) tree() (*Tree, error) {
	t := new(Tree)
	for _, l := range p.leaves {
		if err := t.Add(l.Name, l.PMID); err != nil {
			return nil, l.at.errorf("%w", err)
		}
	}
	return t, nil
}
