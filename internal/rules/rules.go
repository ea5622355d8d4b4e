// Package rules states who may import whom. docs/architecture.md says in its table of
// rooms what each package knows and does not know; the table in this file says it by
// imports, and the package's test holds the tree to it. It is a package of its own so
// that no other has to know the whole tree.
package rules

import (
	"fmt"
	"slices"
	"strings"
)

// module is the path that the packages of this tree begin with.
const module = "github.com/pcp-rtime/rtime"

// rule restricts the packages in Who. Patterns are paths relative to the module, or
// full import paths outside of it; "x/..." is x and everything below it. "std" stands
// for the standard library, "other" for every module but this one.
type rule struct {
	Who   []string
	Not   []string // must not be reached
	Only  []string // nothing but these may be imported; empty for no such limit
	Spare []string // of Who, to which the rule does not apply
	// Direct limits Not to what the package itself imports. Otherwise it reaches
	// through packages of this module, though not into the standard library, which
	// uses os and net for purposes of its own.
	Direct bool
	Tests  bool // holds for imports of test files too
	Why    string
}

var table = []rule{
	{Who: []string{"pcp"}, Only: []string{"std"}, Not: []string{"os", "net", "net/...", "log", "log/..."},
		Why: "words and numbers do no input or output"},
	{Who: []string{"pdu"}, Only: []string{"std", "pcp"}, Not: []string{"os", "net", "net/...", "log", "log/..."},
		Why: "the codec turns bytes into values; it knows no names, sockets or logs"},
	{Who: []string{"pmns"}, Only: []string{"std", "pcp"}, Not: []string{"pdu", "net", "net/..."},
		Why: "name space and help text know no PDUs"},
	{Who: []string{"help"}, Only: []string{"std", "pcp", "pmns"}, Not: []string{"pdu", "net", "net/..."},
		Why: "name space and help text know no PDUs"},
	{Who: []string{"pmda"}, Not: []string{"pmdas/...", "internal/shm", "internal/armseg/...", "internal/ddsseg/...", "arm/...", "spmi/..."},
		Why: "the agent library knows no agent's subject and no mmap"},
	{Who: []string{"arm/...", "spmi/...", "internal/shm", "internal/armseg/...", "internal/ddsseg/..."},
		Not: []string{"pcp", "pdu", "pmns", "help", "pmda/...", "pmdas/..."},
		Why: "an instrumented program carries no protocol"},
	{Who: []string{"spmi/...", "internal/ddsseg/writer", "internal/ddsseg/layout"}, Not: []string{"internal/ddsseg/reader/..."},
		Why: "a program that supplies statistics does not carry the agent's reader"},
	{Who: []string{"pmdas/dds/..."}, Not: []string{"internal/ddsseg/writer"}, Why: "the agent makes no segments"},
	{Who: []string{"arm/...", "internal/armseg/writer"}, Not: []string{"internal/armseg/reader/...", "internal/shm"},
		Why: "an instrumented program writes its files and reads no other's"},
	{Who: []string{"pmdas/lan/internal/probe/...", "pmdas/arm/internal/collect/...", "pmdas/dds/internal/supply/..."},
		Not: []string{"pcp", "pdu", "pmns", "help", "pmda/..."},
		Why: "a probe or reader knows no PCP numbers"},
	{Who: []string{"..."}, Spare: []string{"arm/otel/...", "bench/arm/peers"}, Direct: true, Tests: true,
		Not: []string{"go.opentelemetry.io/...", "github.com/prometheus/..."},
		Why: "modules of their own carry OpenTelemetry and Prometheus, so that nobody else does"},
	{Who: []string{"internal/journal"}, Only: []string{"std"}, Why: "a file of records knows neither numbers nor PCP"},
	{Who: []string{"internal/ids"}, Only: []string{"std", "internal/journal"}, Why: "numbers for names know no PCP"},
	{Who: []string{"internal/version"}, Only: []string{"std"}, Why: "the version is below everything"},
	{Who: []string{"pmdas/internal/kit/keyword"}, Only: []string{"std"}, Why: "reading a configuration file knows no agent"},
	{Who: []string{"..."}, Spare: []string{"pmdas/lan/...", "test/..."}, Direct: true, Tests: true,
		Not: []string{"golang.org/x/net/...", "github.com/prometheus-community/pro-bing/..."},
		Why: "only the probing agent sends packets of its own"},
	{Who: []string{"..."}, Spare: []string{"internal/health", "pmdas/*", "bench/..."}, Direct: true,
		Not: []string{"github.com/performancecopilot/speed/..."},
		Why: "one package writes the MMV file, or an agent's main does; benchmarks measure it"},
	{Who: []string{"pcp/...", "pdu/...", "pmns/...", "help/...", "pmda/...", "arm/...", "spmi/...", "internal/..."}, Direct: true,
		Not: []string{"pmdas/..."}, Tests: true, Why: "libraries know no agent"},
	{Who: []string{"pmdas/lan/..."}, Not: []string{"pmdas/arm/...", "pmdas/dds/..."}, Why: "agents do not know each other"},
	{Who: []string{"pmdas/arm/..."}, Not: []string{"pmdas/lan/...", "pmdas/dds/..."}, Why: "agents do not know each other"},
	{Who: []string{"pmdas/dds/..."}, Not: []string{"pmdas/lan/...", "pmdas/arm/..."}, Why: "agents do not know each other"},
}

// pkg is what one package imports, by full import path.
type pkg struct {
	imports []string
	tests   []string // by test files only
}

// graph holds the packages of the module by their paths relative to it.
type graph map[string]pkg

// check returns every way in which the graph breaks a rule, sorted.
func (g graph) check(rules []rule) []string {
	var found []string
	for path := range g {
		for _, r := range rules {
			if matchAny(r.Who, path) && !matchAny(r.Spare, path) {
				found = append(found, g.apply(r, path)...)
			}
		}
	}
	slices.Sort(found)
	return slices.Compact(found)
}

func (g graph) apply(r rule, path string) []string {
	var found []string
	own := g[path].imports
	if r.Tests {
		own = slices.Concat(own, g[path].tests)
	}
	for _, imp := range own {
		if len(r.Only) > 0 && !matchAny(r.Only, relative(imp)) {
			found = append(found, fmt.Sprintf("%s imports %s: %s", path, relative(imp), r.Why))
		}
	}
	seen := map[string]bool{}
	var walk func(from string, imports []string)
	walk = func(from string, imports []string) {
		for _, imp := range imports {
			to := relative(imp)
			if seen[to] {
				continue
			}
			seen[to] = true
			if matchAny(r.Not, to) {
				found = append(found, fmt.Sprintf("%s must not know %s, which %s imports: %s", path, to, from, r.Why))
			}
			// A library may use another that logs; what it itself names is Direct.
			if inside(imp) && !r.Direct {
				walk(to, g[to].imports)
			}
		}
	}
	walk(path, own)
	return found
}

func inside(imp string) bool { return imp == module || strings.HasPrefix(imp, module+"/") }

// relative returns the path below the module, "." for its top, and others as they are.
func relative(imp string) string {
	switch {
	case imp == module:
		return "."
	case inside(imp):
		return imp[len(module)+1:]
	case std(imp):
		return "std:" + imp
	}
	return imp
}

// std tells the standard library by the first element's lack of a dot, as the go
// command does.
func std(imp string) bool {
	first, _, _ := strings.Cut(imp, "/")
	return !strings.Contains(first, ".")
}

func matchAny(patterns []string, path string) bool {
	return slices.ContainsFunc(patterns, func(p string) bool { return match(p, path) })
}

// match compares a relative path, in which the standard library is marked, with a
// pattern, in which it is not.
func match(pattern, path string) bool {
	if name, ok := strings.CutPrefix(path, "std:"); ok {
		if pattern == "std" {
			return true
		}
		return stdNames[strings.TrimSuffix(pattern, "/...")] && below(pattern, name)
	}
	return !stdNames[strings.TrimSuffix(pattern, "/...")] && below(pattern, path)
}

// stdNames are the packages of the standard library that patterns name.
var stdNames = map[string]bool{"std": true, "os": true, "net": true, "log": true}

func below(pattern, path string) bool {
	if pattern == "..." {
		return true
	}
	if top, ok := strings.CutSuffix(pattern, "/..."); ok {
		return path == top || strings.HasPrefix(path, top+"/")
	}
	if top, ok := strings.CutSuffix(pattern, "/*"); ok {
		rest, found := strings.CutPrefix(path, top+"/")
		return found && !strings.Contains(rest, "/")
	}
	return path == pattern
}
