package pmns

import (
	"bytes"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/pcp-rtime/rtime/pcp"
)

var rtlan = WriteOptions{Top: "rtime.lan", Symbol: "RTLAN", Domain: 400}

func TestWrite(t *testing.T) {
	for _, c := range []struct {
		opts WriteOptions
		want string
	}{
		{rtlan, "rtime.lan {\n\tagent\n\trespavg\tRTLAN:0:2\n\tresptime\tRTLAN:0:1\n}\n\n" +
			"rtime.lan.agent {\n\talias\tRTLAN:0:1\n\thosts\tRTLAN:1:0\n}\n"},
		{WriteOptions{Top: "dds", Symbol: "DDS", Domain: 402}, "root {\n\tdds\tDDS:*:*\n}\n"},
		{WriteOptions{Top: "rtime.dds", Symbol: "DDS", Domain: 1}, "rtime.dds {\n\tcontexts\t402:0:0\n}\n"},
		{WriteOptions{Top: "rtime.dds.contexts"}, "root {\n\trtime\n}\n\nrtime {\n\tdds\n}\n\nrtime.dds {\n\tcontexts\t402:0:0\n}\n"},
		{WriteOptions{}, "root {\n\tdds\t402:*:*\n\trtime\n}\n\nrtime {\n\tdds\n\tlan\n}\n\n" +
			"rtime.dds {\n\tcontexts\t402:0:0\n}\n\n" +
			"rtime.lan {\n\tagent\n\trespavg\t400:0:2\n\tresptime\t400:0:1\n}\n\n" +
			"rtime.lan.agent {\n\talias\t400:0:1\n\thosts\t400:1:0\n}\n"},
	} {
		var out bytes.Buffer
		if err := Write(&out, sample(t), c.opts); err != nil || out.String() != c.want {
			t.Errorf("Write(%+v): %v\n%s\nwant\n%s", c.opts, err, out.String(), c.want)
		}
	}
}

func TestWriteRefuses(t *testing.T) {
	var out bytes.Buffer
	if err := Write(&out, sample(t), WriteOptions{Top: "x"}); !errors.Is(err, pcp.ErrName) {
		t.Errorf("unknown top: %v", err)
	}
	for _, o := range []WriteOptions{{Symbol: "A B"}, {Symbol: "A", Domain: 511}, {Symbol: "lan"}, {Top: "rtime.lan", Symbol: "rtime"}} {
		if err := Write(&out, sample(t), o); err == nil {
			t.Errorf("Write(%+v) succeeds", o)
		}
	}
	if out.Len() != 0 {
		t.Errorf("refused, but written: %q", out.String())
	}
}

// tool runs a program of PCP and returns its output.
func tool(t *testing.T, dir, name string, args ...string) string {
	t.Helper()
	cmd := exec.Command(name, args...)
	cmd.Dir = dir
	cmd.Env = append(os.Environ(), "PCP_DERIVED_CONFIG=")
	out, err := cmd.CombinedOutput()
	if err != nil {
		t.Fatalf("%s %q: %v\n%s", name, args, err, out)
	}
	return string(out)
}

// listing asks PCP itself for the names and identifiers in a name space file.
func listing(t *testing.T, dir, file, prefix string) string {
	t.Helper()
	var lines []string
	for line := range strings.Lines(tool(t, dir, "pminfo", "-n", file, "-m", prefix)) {
		f := strings.Fields(line)
		if len(f) != 3 || f[1] != "PMID:" {
			t.Fatalf("pminfo prints %q", line)
		}
		lines = append(lines, f[0]+" "+strings.ReplaceAll(f[2], ".", ":"))
	}
	// PCP lists siblings as they stand in the file, leaves first.
	slices.Sort(lines)
	return strings.Join(lines, "\n")
}

func save(t *testing.T, dir, name string, write func(*bytes.Buffer) error) {
	t.Helper()
	var out bytes.Buffer
	if err := write(&out); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(dir, name), out.Bytes(), 0o644); err != nil {
		t.Fatal(err)
	}
}

// TestPCPReadsWhatWeWrite checks the pair of files that an agent ships in the way
// that Install does: the root file on its own, then pmns into the machine's names,
// here a copy of them, next to another agent below the same node, and out again. No
// agent has the names used here, so that it does not matter which are installed.
func TestPCPReadsWhatWeWrite(t *testing.T) {
	tree, dir := new(Tree), t.TempDir()
	leaves, err := sample(t).Traverse("")
	if err != nil {
		t.Fatal(err)
	}
	for _, l := range leaves {
		if err := tree.Add("written."+l.Name, l.PMID); err != nil {
			t.Fatal(err)
		}
	}
	all, err := os.ReadFile("/var/lib/pcp/pmns/root")
	if err != nil {
		t.Fatal(err)
	}
	save(t, dir, "machine", func(b *bytes.Buffer) error { _, err := b.Write(all); return err })
	before := tool(t, dir, "pminfo", "-n", "machine", "-m")
	tops := []WriteOptions{
		{Top: "written.rtime.lan", Symbol: "RTLAN", Domain: 400},
		{Top: "written.rtime.dds", Symbol: "DDS", Domain: 402},
		{Top: "written.dds", Symbol: "DDS", Domain: 402},
	}
	for _, o := range tops {
		save(t, dir, "pmns", func(b *bytes.Buffer) error { return Write(b, tree, o) })
		save(t, dir, "root", func(b *bytes.Buffer) error { return WriteRoot(b, tree, o) })
		want := leavesBelow(t, tree, o.Top)
		if got := listing(t, dir, "root", o.Top); got != want {
			t.Errorf("%s: pminfo reads the root file as\n%s\nwant\n%s", o.Top, got, want)
		}
		tool(t, dir, "sed", "-i", "-e", "s/"+o.Symbol+":/"+strconv.Itoa(o.Domain)+":/", "pmns")
		tool(t, dir, "/usr/lib/pcp/bin/pmnsadd", "-n", "machine", "pmns")
	}
	for _, o := range tops {
		if got, want := listing(t, dir, "machine", o.Top), leavesBelow(t, tree, o.Top); got != want {
			t.Errorf("%s: pminfo reads after pmnsadd\n%s\nwant\n%s", o.Top, got, want)
		}
	}
	checkMachine(t, dir)
	for _, o := range tops {
		tool(t, dir, "/usr/lib/pcp/bin/pmnsdel", "-n", "machine", o.Top)
	}
	if after := tool(t, dir, "pminfo", "-n", "machine", "-m"); after != before {
		t.Error("pmnsadd and pmnsdel leave the machine's names different")
	}
}

// checkMachine compares our reading of the whole merged file with PCP's.
func checkMachine(t *testing.T, dir string) {
	t.Helper()
	f, err := os.Open(filepath.Join(dir, "machine"))
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	tree, err := Parse(f, "machine", ParseOptions{})
	if err != nil {
		t.Fatal(err)
	}
	for _, top := range []string{"kernel", "pmcd", "written"} {
		if ours, theirs := leavesBelow(t, tree, top), listing(t, dir, "machine", top); ours != theirs {
			t.Errorf("%s: we read\n%s\nPCP reads\n%s", top, ours, theirs)
		}
	}
}

func leavesBelow(t *testing.T, tree *Tree, top string) string {
	t.Helper()
	leaves, err := tree.Traverse(top)
	if err != nil {
		t.Fatal(err)
	}
	var lines []string
	for _, l := range leaves {
		lines = append(lines, l.String())
	}
	slices.Sort(lines)
	return strings.Join(lines, "\n")
}
