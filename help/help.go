// Package help keeps, reads and writes help texts of metrics and instance domains,
// in the text form that newhelp(1) takes:
//
//	@ rtime.lan.resptime Response time of the latest reply
//	Longer text, up to the next line that begins with @.
//
//	@ 400.0 Hosts
package help

import (
	"fmt"

	"github.com/pcp-rtime/rtime/pcp"
	"github.com/pcp-rtime/rtime/pmns"
)

// Kind says what an Entry is about.
type Kind uint8

// The kinds of entries.
const (
	Name  Kind = iota // a metric, by name
	InDom             // an instance domain
	PMID              // a metric, by identifier, for those without a name in files
)

// Entry is the help on one thing.
type Entry struct {
	Kind    Kind
	Name    string    // where Kind is Name
	InDom   pcp.InDom // where Kind is InDom
	PMID    pcp.PMID  // where Kind is PMID
	OneLine string    // one line without a newline
	Text    string    // the long text, lines with newlines between them; may be empty
}

// Key returns what stands after the @: the name or the dotted number.
func (e Entry) Key() string {
	switch e.Kind {
	case InDom:
		return e.InDom.String()
	case PMID:
		return e.PMID.String()
	}
	return e.Name
}

func (e Entry) checkKey() error {
	switch e.Kind {
	case Name:
		return pmns.CheckName(e.Name)
	case InDom:
		if e.InDom>>31 != 0 || e.InDom.Domain() > pcp.MaxDomain {
			return fmt.Errorf("help: instance domain %v is out of range", e.InDom)
		}
	case PMID:
		if e.PMID>>31 != 0 || e.PMID.Domain() > pcp.MaxDomain {
			return fmt.Errorf("help: metric identifier %v is out of range", e.PMID)
		}
	default:
		return fmt.Errorf("help: kind %d of an entry is unknown", e.Kind)
	}
	return nil
}

// Table finds help texts. The zero Table is empty and ready to use. Any number of
// goroutines may look things up in a Table that nobody adds to.
type Table struct {
	entries map[string]Entry
}

// Add adds an entry. It is an error if its key is not legal or has an entry already.
func (t *Table) Add(e Entry) error {
	if err := e.checkKey(); err != nil {
		return err
	}
	key := e.Key()
	if _, twice := t.entries[key]; twice {
		return fmt.Errorf("help: %s has a text already", key)
	}
	if t.entries == nil {
		t.entries = make(map[string]Entry)
	}
	t.entries[key] = e
	return nil
}

// NewTable makes a Table of entries.
func NewTable(entries []Entry) (*Table, error) {
	t := new(Table)
	for _, e := range entries {
		if err := t.Add(e); err != nil {
			return nil, err
		}
	}
	return t, nil
}

// Len returns the number of entries.
func (t *Table) Len() int { return len(t.entries) }

// ByName returns the entry of a metric's name.
func (t *Table) ByName(name string) (Entry, bool) { return t.get(Entry{Kind: Name, Name: name}) }

// ByInDom returns the entry of an instance domain.
func (t *Table) ByInDom(d pcp.InDom) (Entry, bool) { return t.get(Entry{Kind: InDom, InDom: d}) }

// ByPMID returns the entry that was added for an identifier; it does not find one that was
// added for the metric's name.
func (t *Table) ByPMID(id pcp.PMID) (Entry, bool) { return t.get(Entry{Kind: PMID, PMID: id}) }

func (t *Table) get(want Entry) (Entry, bool) {
	e, ok := t.entries[want.Key()]
	return e, ok && e.Kind == want.Kind
}

// For returns the text that a request of this type is about, or pcp.ErrText where
// there is none. Only the bits for one line or long text are looked at.
func (e Entry) For(which pcp.TextType) (string, error) {
	text := e.Text
	if which&pcp.TextOneLine != 0 {
		text = e.OneLine
	}
	if text == "" {
		return "", pcp.ErrText
	}
	return text, nil
}
