package pmns

import (
	"bytes"
	"errors"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

const manual = `/* from the
 manual page */
#define KERNEL 1
#define FOO 387
root {
    network
    cpu
    dynamic     FOO:*:*
}

#define NETWORK 26
network {
    intrate     KERNEL:NETWORK:1
    packetrate
}
network.packetrate { in KERNEL:NETWORK:35 /* one line */ out KERNEL:NETWORK:36 }
#define CPU 10
#ifdef FOO
cpu { syscallrate KERNEL:CPU:10 }
#else
cpu { syscallrate wrong }
#endif
`

func leafText(t *testing.T, tree *Tree) string {
	t.Helper()
	leaves, err := tree.Traverse("")
	if err != nil {
		t.Fatal(err)
	}
	var lines []string
	for _, l := range leaves {
		lines = append(lines, l.String())
	}
	return strings.Join(lines, "\n")
}

func TestParse(t *testing.T) {
	tree, err := Parse(strings.NewReader(manual), "manual", ParseOptions{})
	if err != nil {
		t.Fatal(err)
	}
	want := "cpu.syscallrate 1:10:10\ndynamic 387:*:*\nnetwork.intrate 1:26:1\n" +
		"network.packetrate.in 1:26:35\nnetwork.packetrate.out 1:26:36"
	if got := leafText(t, tree); got != want {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
}

func TestParseInclude(t *testing.T) {
	files := map[string]string{"pmns": "a.b {\n x SYM:0:1\n}\n", "loop": "#include \"loop\"\n"}
	opts := ParseOptions{
		Define: map[string]int{"SYM": 7},
		Include: func(name string, system bool) (io.ReadCloser, error) {
			text, ok := files[name]
			if !ok || system {
				return nil, os.ErrNotExist
			}
			return io.NopCloser(strings.NewReader(text)), nil
		},
	}
	tree, err := Parse(strings.NewReader("root { a }\na{b}\n#include \"pmns\"\n"), "root", opts)
	if err != nil {
		t.Fatal(err)
	}
	if got := leafText(t, tree); got != "a.b.x 7:0:1" {
		t.Errorf("got %s", got)
	}
	_, err = Parse(strings.NewReader("\n#include <pmns>\n"), "root", opts)
	if !errors.Is(err, os.ErrNotExist) || !strings.HasPrefix(err.Error(), "root:2: ") {
		t.Errorf("missing file: %v", err)
	}
	_, err = Parse(strings.NewReader("#include \"loop\"\n"), "root", opts)
	if err == nil || !strings.Contains(err.Error(), "more than 16") {
		t.Errorf("file that includes itself: %v", err)
	}
}

func TestParseRefuses(t *testing.T) {
	for _, c := range []struct{ text, want string }{
		{"", "f: no root block"},
		{"a { b 1:2:3 }", "f: no root block"},
		{"root {\n a\n}", `f:2: node "a" has neither`},
		{"root { a 1:2:3 }\nb { c 1:2:4 }", `f:2: node "b" is not in the block`},
		{"root { a }\na { b 1:2:4 }\na.c { d 1:2:5 }", `f:3: node "a.c" is not in the block`},
		{"root { a 1:2:3 }\na { c 1:2:4 }", `f:2: node "a" is a metric already, at f:1`},
		{"root { a 1:2:3\n a 1:2:4 }", `f:2: name "a" is there already, at f:1`},
		{"root { a\n a 1:2:4 }", `f:2: name "a" is there already, at f:1`},
		{"root { a }\na { b 1:1:1 }\na { c 1:1:2 }", `f:3: node "a" has a block already, at f:2`},
		{"root { a }\na { }", `f:2: node "a" has nothing below it`},
		{"root { a }\na { b 1:1:1", "f:2: block without its }"},
		{"root { { } }", "f:1: { within a block"},
		{"root { 1:2:3 }", "f:1: identifier 1:2:3 without a name"},
		{"root { a 1:2:3 4:5:6 }", "f:1: identifier 4:5:6 without a name"},
		{"root { a 1:2 }", "not of the form"},
		{"root { a 1:2:3:4 }", "not of the form"},
		{"root { a X:2:3 }", `"X" is not a number nor a defined symbol`},
		{"root { a 1:*:3 }", `"*" is not a number`},
		{"root { a *:*:* }", `"*" is not a number`},
		{"root { a 511:0:0 }", "511 is not within 0..510"},
		{"root { a 1:4096:0 }", "4096 is not within 0..4095"},
		{"root { a 1:0:1024 }", "1024 is not within 0..1023"},
		{"root { a.b 1:2:3 }", `part "a.b" holds '.'`},
		{"root { 9a 1:2:3 }", `part "9a" does not begin`},
		{"root { a 1:2:3 } }", `f:1: "}" where a node's name`},
		{"root root {", `f:1: "root" where the {`},
		{"root { a 1:2:3 }\nb", `f:2: node "b" without a block`},
		{"root { a 1:2:3 }\n/* x\n", "f:2: comment without end"},
		{"#define A b\n", `"b" is neither`},
		{"#define A 1 2\n", "needs a symbol and a number"},
		{"#define 1 2\n", "is not a symbol"},
		{"#define a 4\nroot { a 1:2:3 }", `f:2: name "a": a is also a #define`},
		{"#undef A\nroot { a A:2:3 }", "not a number"},
		{"#ifdef A\n", "without #endif"},
		{"#endif\n", "f:1: #endif without"},
		{"#else\n", "f:1: #else without"},
		{"#if 1\n", "unknown directive #if"},
		{"#\n", "without a directive"},
		{"#include \"x\"\n", "not allowed here"},
		{"#include x\n", "needs \"file\""},
	} {
		_, err := Parse(strings.NewReader(c.text), "f", ParseOptions{})
		if err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("Parse(%q) = %v, want %q", c.text, err, c.want)
		}
	}
}

// TestParseInstalled reads every name space of an agent on this machine: those that
// PCP ships take their symbols from stdpmid, those that were added from domain.h.
func TestParseInstalled(t *testing.T) {
	files, _ := filepath.Glob("/usr/lib/pcp/pmdas/*/pmns")
	if len(files) < 10 {
		t.Fatal("no name spaces below /usr/lib/pcp/pmdas: is PCP installed?")
	}
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		head := "#include <stdpmid>\n"
		domain := filepath.Join(filepath.Dir(file), "domain.h")
		if _, err := os.Stat(domain); err == nil {
			head += "#include \"domain.h\"\n"
		}
		opts := ParseOptions{Fragment: true, Include: func(name string, system bool) (io.ReadCloser, error) {
			if system {
				return os.Open(filepath.Join("/var/lib/pcp/pmns", name))
			}
			return os.Open(domain)
		}}
		tree, err := Parse(io.MultiReader(strings.NewReader(head), bytes.NewReader(text)), file, opts)
		if err != nil {
			t.Error(err)
		} else if tree.Len() == 0 {
			t.Errorf("%s: no metrics found", file)
		}
	}
}

func FuzzParse(f *testing.F) {
	f.Add(manual)
	f.Add("root {\n}\n")
	f.Add("rtime.lan {\n\tx\tRTLAN:0:1\n}\n")
	f.Add("dds 400:*:*")
	f.Fuzz(func(t *testing.T, text string) {
		for _, opts := range []ParseOptions{{}, {Fragment: true, Define: map[string]int{"RTLAN": 400}}} {
			tree, err := Parse(strings.NewReader(text), "f", opts)
			if err != nil {
				continue
			}
			var out bytes.Buffer
			if err := Write(&out, tree, WriteOptions{}); err != nil {
				t.Fatal(err)
			}
			again, err := Parse(&out, "again", ParseOptions{})
			if err != nil {
				t.Fatalf("what Write wrote is refused: %v", err)
			}
			if got, want := leafText(t, again), leafText(t, tree); got != want {
				t.Fatalf("written and read again: %s, want %s", got, want)
			}
		}
	})
}
