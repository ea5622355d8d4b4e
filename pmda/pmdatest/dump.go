package pmdatest

import (
	"fmt"
	"slices"
	"strings"
)

func (c *Conn) dump(b *strings.Builder, name string) {
	c.t.Helper()
	d, err := c.Desc(name)
	if err != nil {
		c.t.Fatalf("%s: %v", name, err)
	}
	one, _ := c.Text(name)
	fmt.Fprintf(b, "%s %v %v %v %v %q: %s\n", name, d.PMID, d.Type, d.InDom, d.Sem, d.Units, one)
	values, err := c.Values(name)
	if err != nil {
		fmt.Fprintf(b, "\t%v\n", err)
		return
	}
	names := make([]string, 0, len(values))
	for n := range values {
		names = append(names, n)
	}
	slices.Sort(names)
	for _, n := range names {
		fmt.Fprintf(b, "\t[%s] %v\n", n, values[n])
	}
}
