package agent

import (
	"strings"

	"github.com/pcp-rtime/rtime/internal/ddsseg/layout"
	"github.com/pcp-rtime/rtime/internal/ddsseg/reader"
)

// kind is a kind of volatile contexts: what a template describes.
type kind struct {
	name string // the template's path below the nearest context that is not a template
	one  bool   // no other kind below that context has a statistic of the same name
}

// kindsOf tells the kinds of a supplier's templates apart, by index of the context. It
// depends only on what the supplier declares.
func kindsOf(list []reader.Context) []kind {
	templates := make(map[string]bool)
	for i := range list {
		if list[i].Template {
			templates[list[i].Path] = true
		}
	}
	kinds, above := make([]kind, len(list)), make([]string, len(list))
	type declared struct{ above, stat string }
	first := make(map[declared]string)
	shared := make(map[declared]bool)
	for i := range list {
		c := &list[i]
		if !c.Template {
			continue
		}
		above[i] = layout.Parent(c.Path)
		for templates[above[i]] {
			above[i] = layout.Parent(above[i])
		}
		kinds[i].name = strings.TrimPrefix(c.Path, above[i]+"/")
		for j := range c.Stats {
			d := declared{above[i], c.Stats[j].Name}
			if name, there := first[d]; !there {
				first[d] = kinds[i].name
			} else if name != kinds[i].name {
				shared[d] = true
			}
		}
	}
	for i := range list {
		kinds[i].one = true
		for j := range list[i].Stats {
			if shared[declared{above[i], list[i].Stats[j].Name}] {
				kinds[i].one = false
			}
		}
	}
	return kinds
}
