// Package rules states who may import whom: the table in this file is what
// docs/architecture.md says of packages, and the package's test holds the tree to it. It is
// a package of its own so that no other has to know the whole tree.
//
// Each package is in a row of the table, and each name in the table is that of a package:
// so no package escapes the rules, neither a new one nor one that has moved. The test says
// which row to add.
package rules

import (
	"fmt"
	"slices"
	"strings"
)

// module is the path that the packages of this tree begin with.
const module = "github.com/pcp-rtime/rtime"

// rule restricts the packages in Who. Patterns are paths relative to the module, or full
// import paths outside of it; "x/..." is x and everything below it, "x/*" what is just
// below it, and "..." every package; a package that only "..." matches does not count as
// being in the table. "std" stands for the standard library.
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
	// The library for agents.
	{Who: []string{"pcp"}, Only: []string{"std"}, Not: []string{"os", "net", "net/...", "log", "log/..."},
		Why: "words and numbers do no input or output"},
	{Who: []string{"pdu"}, Only: []string{"std", "pcp"}, Not: []string{"os", "net", "net/...", "log", "log/..."},
		Why: "the codec turns bytes into values; it knows no names, sockets or logs"},
	{Who: []string{"pmns"}, Only: []string{"std", "pcp"}, Not: []string{"pdu", "net", "net/..."},
		Why: "name space and help text know no PDUs"},
	{Who: []string{"help"}, Only: []string{"std", "pcp", "pmns"}, Not: []string{"pdu", "net", "net/..."},
		Why: "name space and help text know no PDUs"},
	{Who: []string{"pmda/..."}, Not: []string{"pmdas/...", "internal/shm", "internal/armseg/...", "internal/ddsseg/...", "arm/...", "spmi/..."},
		Why: "the agent library knows no agent's subject and no mmap"},
	{Who: []string{"pmapi"}, Only: []string{"std", "pcp", "pdu"}, Not: []string{"log", "log/..."},
		Why: "a client of pmcd knows its protocol, and nothing of agents"},
	{Who: []string{"internal/journal"}, Only: []string{"std"}, Why: "a file of records knows neither numbers nor PCP"},
	{Who: []string{"internal/ids"}, Only: []string{"std", "internal/journal"}, Why: "numbers for names know no PCP"},
	{Who: []string{"internal/throttle"}, Only: []string{"std"}, Why: "limiting a log knows nobody who writes to it"},
	{Who: []string{"internal/version"}, Only: []string{"std"}, Why: "the version is below everything"},

	// What measured programs and suppliers link.
	{Who: []string{"arm/...", "spmi/...", "libarm", "libSpmi", "libbase", "python", "internal/shm", "internal/armseg/...", "internal/ddsseg/..."},
		Not: []string{"pcp", "pdu", "pmns", "help", "pmda/...", "pmdas/..."},
		Why: "an instrumented program carries no protocol"},
	{Who: []string{"arm/...", "internal/armseg/layout", "internal/armseg/writer"},
		Not: []string{"internal/armseg/reader/...", "internal/shm"},
		Why: "an instrumented program writes its files and reads no other's"},
	{Who: []string{"spmi/...", "internal/ddsseg/layout", "internal/ddsseg/writer"},
		Not: []string{"internal/ddsseg/reader/...", "internal/shm"},
		Why: "a program that supplies statistics does not carry the agent's reader"},
	{Who: []string{"internal/armseg/layout", "internal/ddsseg/layout"}, Only: []string{"std"},
		Why: "a layout is names, numbers and offsets"},

	// The agents.
	{Who: []string{"pmdas/*"}, Only: []string{"std", "pmdas/..."}, Why: "an agent's program is its package agent and the kit"},
	{Who: []string{"pmdas/lan/..."}, Not: []string{"pmdas/arm/...", "pmdas/dds/..."}, Why: "agents do not know each other"},
	{Who: []string{"pmdas/arm/..."}, Not: []string{"pmdas/lan/...", "pmdas/dds/..."}, Why: "agents do not know each other"},
	{Who: []string{"pmdas/dds/..."}, Not: []string{"pmdas/lan/...", "pmdas/arm/..."}, Why: "agents do not know each other"},
	{Who: []string{"pmdas/internal/kit/..."}, Not: []string{"pmdas/lan/...", "pmdas/arm/...", "pmdas/dds/..."},
		Why: "what agents do alike knows none of them"},
	{Who: []string{"pmdas/arm/...", "pmdas/dds/..."}, Not: []string{"internal/armseg/writer", "internal/ddsseg/writer", "arm/...", "spmi/..."},
		Why: "an agent reads segments and makes none"},
	{Who: []string{"pmdas/lan/internal/probe/...", "pmdas/lan/internal/hosts", "pmdas/arm/internal/collect", "pmdas/dds/internal/supply/..."},
		Not: []string{"pcp", "pdu", "pmns", "help", "pmda/..."},
		Why: "a probe or reader knows no PCP numbers"},
	{Who: []string{"pmdas/arm/internal/past"},
		Only: []string{"std", "golang.org/x/sys/unix", "internal/armseg/layout", "internal/armseg/reader", "internal/journal", "pmdas/internal/kit/segdir"},
		Why:  "the record of the past knows records and counts, not the collector"},
	{Who: []string{"pmdas/dds/internal/naming/..."}, Not: []string{"pmdas/dds/internal/supply/..."},
		Why: "giving names and numbers knows no suppliers"},
	{Who: []string{"pmdas/dds/internal/naming/..."}, Not: []string{"internal/ddsseg/reader/..."}, Direct: true,
		Why: "giving names and numbers reads no segments"},
	{Who: []string{"pmdas/internal/kit/keyword"}, Only: []string{"std"}, Why: "reading a configuration file knows no agent"},
	{Who: []string{"pmdas/internal/kit/segdir"}, Only: []string{"std", "golang.org/x/sys/unix"},
		Why: "making and watching a directory knows no agent"},
	{Who: []string{"internal/health"}, Only: []string{"std", "github.com/performancecopilot/speed/..."},
		Why: "writing the MMV file knows no agent"},

	// Everything.
	{Who: []string{"..."}, Spare: []string{"arm/otel", "bench/arm/peers/..."}, Direct: true, Tests: true,
		Not: []string{"go.opentelemetry.io/...", "github.com/prometheus/..."},
		Why: "modules of their own carry OpenTelemetry and Prometheus, so that nobody else does"},
	{Who: []string{"..."}, Spare: []string{"arm/armgrpc", "bench/arm/peers/..."}, Direct: true, Tests: true,
		Not: []string{"google.golang.org/grpc/..."},
		Why: "modules of their own carry gRPC, so that nobody else does"},
	{Who: []string{"..."}, Spare: []string{"pmdas/lan/...", "test/..."}, Direct: true, Tests: true,
		Not: []string{"golang.org/x/net/...", "github.com/prometheus-community/pro-bing/..."},
		Why: "only the probing agent sends packets of its own"},
	{Who: []string{"..."}, Spare: []string{"internal/health", "bench/..."}, Direct: true,
		Not: []string{"github.com/performancecopilot/speed/..."},
		Why: "one package writes the MMV file; benchmarks measure it"},
	{Who: []string{"pcp", "pdu", "pmns", "help", "pmda/...", "pmapi", "arm/...", "spmi/...", "internal/armseg/...",
		"internal/ddsseg/...", "internal/health", "internal/ids", "internal/journal", "internal/rules", "internal/shm",
		"internal/throttle", "internal/version"}, Direct: true,
		Not: []string{"pmdas/..."}, Tests: true, Why: "libraries know no agent"},
	{Who: []string{"..."}, Spare: []string{"bench/...", "docs", "examples/...", "scripts/...", "test/..."},
		Not: []string{"bench/...", "examples/...", "scripts/...", "test/..."},
		Why: "what is installed does not depend on tests, benchmarks and examples"},
	{Who: []string{"bench/...", "docs", "examples/...", "scripts/...", "test/...", "internal/rules"}, Direct: true,
		Not: []string{"pmdas/lan/internal/agent", "pmdas/arm/internal/agent", "pmdas/dds/internal/agent"},
		Why: "agents are tested and measured as programs"},
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

// outside returns the packages that are in no row, with the row to add.
func (g graph) outside(rules []rule) []string {
	var found []string
	for path, p := range g {
		if slices.ContainsFunc(rules, func(r rule) bool {
			return slices.ContainsFunc(r.Who, func(w string) bool { return w != "..." && match(w, path) })
		}) {
			continue
		}
		only := []string{"std"}
		for _, imp := range p.imports {
			if to := relative(imp); !std(imp) && !slices.Contains(only, to) {
				only = append(only, to)
			}
		}
		slices.Sort(only[1:])
		found = append(found, fmt.Sprintf("package %s is in no rule: add a row to the table in internal/rules/rules.go, as narrow as it can be:\n"+
			"\t{Who: []string{%q}, Only: []string{\"%s\"},\n\t\tWhy: \"...\"},", path, path, strings.Join(only, `", "`)))
	}
	slices.Sort(found)
	return found
}

// empty returns the patterns of the table that match no package.
func (g graph) empty(rules []rule) []string {
	all := make(map[string]bool) // packages of the module, and what they import
	for path, p := range g {
		all[path] = true
		for _, imp := range slices.Concat(p.imports, p.tests) {
			if !inside(imp) {
				all[relative(imp)] = true
			}
		}
	}
	var found []string
	for _, r := range rules {
		for _, pattern := range slices.Concat(r.Who, r.Not, r.Only, r.Spare) {
			matches := false
			for path := range all {
				matches = matches || match(pattern, path)
			}
			if !matches {
				found = append(found, fmt.Sprintf("no package matches %q, in the rule %q: take it out of the table in internal/rules/rules.go, or name the package as it is called now",
					pattern, r.Why))
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
			// A library may use another one that logs. Direct is about what it imports
			// itself.
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

// std recognises the standard library as the go command does: the first element of the path
// has no dot.
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
