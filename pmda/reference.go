package pmda

import (
	"fmt"
	"io"
	"strings"
)

// WriteReference writes the reference of an agent's metrics and instance domains in
// Markdown, from the same table that answers pmcd.
func WriteReference(a *Agent, w io.Writer) error {
	t, err := build(a, a.Domain)
	if err != nil {
		return err
	}
	var b strings.Builder
	fmt.Fprintf(&b, "# Metrics of the agent %s\n\n", a.Name)
	fmt.Fprintf(&b, "Written from the agent's table by its tests; do not edit. Domain number %d.\n", a.Domain)
	for _, d := range t.domains() {
		one, long := d.help()
		fmt.Fprintf(&b, "\n## Instance domain %d.%d: %s\n\n%s\n", a.Domain, d.serial(), d.title(), sentence(one))
		if long != "" {
			fmt.Fprintf(&b, "\n%s\n", long)
		}
	}
	b.WriteString("\n## Metrics\n\n| metric | number | type | semantics | units | instances | |\n|---|---|---|---|---|---|---|\n")
	for _, m := range t.list() {
		fmt.Fprintf(&b, "| [`%s`](#%s) | %d.%d | %v | %v | %s | %s | %s |\n", m.Name, anchor(m.Name), m.Cluster, m.Item,
			m.desc.Type, m.desc.Sem, orNone(m.desc.Units.String()), m.instances(), m.OneLine)
	}
	for _, m := range t.list() {
		fmt.Fprintf(&b, "\n### %s\n\n%s\n", m.Name, sentence(m.OneLine))
		if m.Help != "" {
			fmt.Fprintf(&b, "\n%s\n", m.Help)
		}
		if m.Store != nil {
			b.WriteString("\nMay be stored into.\n")
		}
	}
	_, err = io.WriteString(w, b.String())
	return err
}

func (m *metric) instances() string {
	if m.indom == nil {
		return "one value"
	}
	return m.indom.title()
}

// anchor is the name that common readers of Markdown give to a heading.
func anchor(name string) string { return strings.ReplaceAll(name, ".", "") }

func sentence(s string) string {
	if s == "" {
		return s
	}
	return strings.ToUpper(s[:1]) + s[1:] + "."
}

func orNone(s string) string {
	if s == "" {
		return "none"
	}
	return s
}
