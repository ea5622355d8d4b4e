package rules

import (
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
)

// load reads the imports of every Go file below root, whatever its build tags.
func load(t *testing.T, root string) graph {
	t.Helper()
	g := graph{}
	err := filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		name := d.Name()
		if d.IsDir() {
			if path != root && (name == "testdata" || name == "vendor" || strings.HasPrefix(name, ".") || strings.HasPrefix(name, "_")) {
				return filepath.SkipDir
			}
			return nil
		}
		if !strings.HasSuffix(name, ".go") {
			return nil
		}
		file, err := parser.ParseFile(token.NewFileSet(), path, nil, parser.ImportsOnly)
		if err != nil {
			return err
		}
		dir, err := filepath.Rel(root, filepath.Dir(path))
		if err != nil {
			return err
		}
		p := g[filepath.ToSlash(dir)]
		for _, spec := range file.Imports {
			imp, err := strconv.Unquote(spec.Path.Value)
			if err != nil {
				return err
			}
			if strings.HasSuffix(name, "_test.go") {
				p.tests = append(p.tests, imp)
			} else {
				p.imports = append(p.imports, imp)
			}
		}
		g[filepath.ToSlash(dir)] = p
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return g
}

func TestTree(t *testing.T) {
	root := filepath.Join("..", "..")
	mod, err := os.ReadFile(filepath.Join(root, "go.mod"))
	if err != nil || !strings.HasPrefix(string(mod), "module "+module+"\n") {
		t.Fatalf("go.mod does not name %s: %v", module, err)
	}
	g := load(t, root)
	if !slices.Contains(g["pdu"].imports, module+"/pcp") {
		t.Error("the import of pcp by pdu was not found: are imports read at all?")
	}
	for _, problem := range slices.Concat(g.check(table), g.outside(table), g.empty(table)) {
		t.Error(problem)
	}
}

// TestWholeTable: a package in no row is found, with the row to add, and so is a name in the
// table that is no package's.
func TestWholeTable(t *testing.T) {
	in := func(path string) string { return module + "/" + path }
	rules := []rule{
		{Who: []string{"a/..."}, Only: []string{"std", "b", "x.org/m/..."}, Not: []string{"os"}, Why: "w"},
		{Who: []string{"..."}, Not: []string{"x.org/m"}, Spare: []string{"a"}, Why: "all"},
	}
	for _, c := range []struct {
		name           string
		g              graph
		outside, empty []string // parts of what is found
	}{
		{"whole", graph{"a": {imports: []string{"x.org/m", "os"}}, "a/b": {}, "b": {}},
			[]string{`package b is in no rule`}, nil},
		{"the row", graph{"a": {imports: []string{"x.org/m", in("b"), "os"}}, "c": {imports: []string{"fmt", in("b"), in("a"), "y.org/n", "os"}}},
			[]string{"\t{Who: []string{\"c\"}, Only: []string{\"std\", \"a\", \"b\", \"y.org/n\"},\n"}, []string{`no package matches "b", in the rule "w"`}},
		{"moved", graph{"z": {imports: []string{"fmt"}}}, []string{"package z"}, []string{`"a"`, `"a/..."`, `"b"`, `"os"`, `"x.org/m"`, `"x.org/m/..."`}},
		{"by a test only", graph{"a": {tests: []string{"x.org/m", "os"}}}, nil, []string{`"b"`}},
	} {
		for _, x := range []struct{ got, want []string }{{c.g.outside(rules), c.outside}, {c.g.empty(rules), c.empty}} {
			ok := len(x.got) == len(x.want)
			for i := range x.want {
				ok = ok && strings.Contains(x.got[i], x.want[i])
			}
			if !ok {
				t.Errorf("%s: %q, want %q", c.name, x.got, x.want)
			}
		}
	}
}

// TestRulesCatch gives each rule a graph that breaks it, and one that just does not.
func TestRulesCatch(t *testing.T) {
	of := func(imports ...string) pkg { return pkg{imports: imports} }
	in := func(path string) string { return module + "/" + path }
	for _, c := range []struct {
		name string
		g    graph
		want string // part of the one problem found; empty for none
	}{
		{"pcp alone", graph{"pcp": of("fmt", "strings")}, ""},
		{"pcp does I/O", graph{"pcp": of("os")}, "pcp must not know std:os"},
		{"pcp imports a module", graph{"pcp": of("golang.org/x/sys/unix")}, "pcp imports golang.org/x/sys/unix"},
		{"pdu and pcp", graph{"pdu": of("fmt", in("pcp")), "pcp": of("fmt")}, ""},
		{"pdu logs", graph{"pdu": of("log/slog")}, "pdu must not know std:log/slog"},
		{"pdu and sockets", graph{"pdu": of("net/netip")}, "pdu must not know std:net/netip"},
		{"pdu and names", graph{"pdu": of(in("pmns"))}, "pdu imports pmns"},
		{"pdu's tests may read files", graph{"pdu": {tests: []string{"os"}}}, ""},
		{"pmns imports another module", graph{"pmns": of("github.com/x/y")}, "pmns imports github.com/x/y"},
		{"help and names", graph{"help": of(in("pmns"), in("pcp"))}, ""},
		{"help and PDUs", graph{"help": of(in("pmns")), "pmns": of(in("pdu"))}, "help must not know pdu, which pmns imports"},
		{"pmda and sockets", graph{"pmda": of("net", in("pdu"), in("internal/ids"))}, ""},
		{"pmda knows an agent", graph{"pmda": of(in("pmdas/lan/internal/agent"))}, "pmda must not know pmdas/lan/internal/agent"},
		{"pmda maps memory, by way of another", graph{"pmda": of(in("x")), "x": of(in("internal/shm"))},
			"pmda must not know internal/shm, which x imports"},
		{"arm carries the protocol", graph{"arm": of(in("internal/armseg/writer")), "internal/armseg/writer": of(in("pcp"))}, "must not know pcp"},
		{"arm reads", graph{"arm": of(in("internal/armseg/writer")), "internal/armseg/writer": of(in("internal/armseg/reader"))},
			"must not know internal/armseg/reader"},
		{"spmi below", graph{"spmi/deep": of(in("pmda"))}, "spmi/deep must not know pmda"},
		{"spmi maps memory", graph{"spmi": of(in("internal/shm")), "internal/shm": of("syscall")}, "spmi must not know internal/shm"},
		{"probe knows numbers", graph{"pmdas/lan/internal/probe": of(in("pcp"))}, "pmdas/lan/internal/probe must not know pcp"},
		{"reader knows numbers", graph{"pmdas/dds/internal/supply": of(in("pmns"))}, "pmdas/dds/internal/supply must not know pmns"},
		{"probe and packets", graph{"pmdas/lan/internal/probe": of("golang.org/x/net/icmp", "github.com/prometheus-community/pro-bing")}, ""},
		{"agent and packets", graph{"pmdas/arm": of("golang.org/x/net/icmp")}, "pmdas/arm must not know golang.org/x/net/icmp"},
		{"pmda's tests and packets", graph{"pmda": {tests: []string{"github.com/prometheus-community/pro-bing"}}}, "pro-bing"},
		{"health and MMV", graph{"internal/health": of("github.com/performancecopilot/speed/v4")}, ""},
		{"main and MMV", graph{"pmdas/lan": of("github.com/performancecopilot/speed/v4")}, "must not know github.com/performancecopilot/speed/v4"},
		{"main", graph{"pmdas/lan": of("os", in("pmdas/internal/kit"))}, ""},
		{"main does more", graph{"pmdas/lan": of(in("pmda"))}, "pmdas/lan imports pmda"},
		{"the kit knows an agent", graph{"pmdas/internal/kit": of(in("pmdas/lan/internal/agent"))}, "pmdas/internal/kit must not know pmdas/lan/internal/agent"},
		{"an agent makes segments", graph{"pmdas/dds/internal/agent": of(in("internal/ddsseg/writer"))}, "must not know internal/ddsseg/writer"},
		{"what is installed and tests", graph{"pmda": of(in("test/pcptest"))}, "pmda must not know test/pcptest"},
		{"tests and tests", graph{"pmda": {tests: []string{in("test/pcptest")}}}, ""},
		{"naming and suppliers", graph{"pmdas/dds/internal/naming": of(in("pmdas/dds/internal/account")), "pmdas/dds/internal/account": of(in("pmdas/dds/internal/supply"))},
			"naming must not know pmdas/dds/internal/supply"},
		{"benchmark and MMV", graph{"bench/dds/speed": of("github.com/performancecopilot/speed/v4")}, ""},
		{"agent package and MMV", graph{"pmdas/lan/internal/agent": of("github.com/performancecopilot/speed/v4")}, "must not know github.com/performancecopilot/speed/v4"},
		{"library's tests know an agent", graph{"pmns": {tests: []string{in("pmdas/lan")}}}, "pmns must not know pmdas/lan"},
		{"agents know each other", graph{"pmdas/dds": of(in("pmdas/lan"))}, "pmdas/dds must not know pmdas/lan"},
		{"numbers know PCP", graph{"internal/ids": of(in("pcp"))}, "internal/ids imports pcp"},
		{"a module of its own", graph{"arm/otel": of("go.opentelemetry.io/otel/sdk/trace", in("arm"))}, ""},
		{"a module of its own, for gRPC", graph{"arm/armgrpc": of("google.golang.org/grpc", in("arm"))}, ""},
		{"HTTP and gRPC", graph{"arm/armhttp": of("google.golang.org/grpc/status")}, "arm/armhttp must not know google.golang.org/grpc/status"},
		{"a benchmark's module", graph{"bench/arm/peers": of("github.com/prometheus/client_golang/prometheus")}, ""},
		{"a benchmark", graph{"bench/arm": of("github.com/prometheus/client_golang/prometheus")}, "bench/arm must not know github.com/prometheus/"},
		{"arm's tests and OpenTelemetry", graph{"arm": {tests: []string{"go.opentelemetry.io/otel"}}}, "arm must not know go.opentelemetry.io/otel"},
		{"similar names", graph{"armour": of(in("pcp")), "pmda": of("network")}, ""},
	} {
		got := c.g.check(table)
		if c.want == "" && len(got) > 0 {
			t.Errorf("%s: %q", c.name, got)
		}
		if c.want != "" && (len(got) == 0 || !strings.Contains(strings.Join(got, "\n"), c.want)) {
			t.Errorf("%s: %q, want %q", c.name, got, c.want)
		}
	}
}

// TestLoad reads a tree of its own, to show that all kinds of files are seen.
func TestLoad(t *testing.T) {
	root := t.TempDir()
	for name, text := range map[string]string{
		"a/a.go":           "package a\nimport \"os\"\n",
		"a/a_windows.go":   "package a\nimport \"net\"\n",
		"a/tag.go":         "//go:build never\n\npackage a\nimport x \"log\"\n",
		"a/a_test.go":      "package a\nimport \"testing\"\n",
		"a/testdata/no.go": "not Go",
		"_b/no.go":         "not Go",
		"c/text.txt":       "not Go",
	} {
		path := filepath.Join(root, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	g := load(t, root)
	if len(g) != 1 || !slices.Equal(g["a"].imports, []string{"os", "net", "log"}) || !slices.Equal(g["a"].tests, []string{"testing"}) {
		t.Errorf("load = %v", g)
	}
}
