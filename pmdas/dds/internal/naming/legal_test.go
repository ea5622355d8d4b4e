package naming

import (
	"testing"

	"github.com/pcp-rtime/rtime/pmns"
)

func TestPart(t *testing.T) {
	for in, want := range map[string]string{
		"gadgets": "gadgets", "%free": "pct_free", "free%": "free_pct", "a%b": "a_pct_b", "_%_": "x_pct_", "%": "pct",
		"%%": "pct_pct", "2nd": "x2nd", "_x": "x_x", "a b.c-d": "a_b_c_d", "größe": "gr__e", "": "x", "a\xffb": "a_b", "root": "root",
		"disk 0": "disk_0", "%9": "pct_9",
	} {
		if got := Part(in); got != want {
			t.Errorf("Part(%q) = %q, want %q", in, got, want)
		}
	}
}

func TestInstance(t *testing.T) {
	for in, want := range map[string]string{
		"Bingo": "Bingo", "a/b": "a/b", "my disk": "my_disk", "50%": "50%", "größe": "größe", "a\xffb\u2028": "a_b_",
	} {
		if got := Instance(in); got != want {
			t.Errorf("Instance(%q) = %q, want %q", in, got, want)
		}
	}
}

func TestLine(t *testing.T) {
	if got := Line("  a\tb\x01\xff\n c  "); got != "a b?? c" {
		t.Errorf("%q", got)
	}
	if got := Text("  a\tb\x01\n c  "); got != "a b?\n c" {
		t.Errorf("%q", got)
	}
}

// FuzzPart: PCP allows whatever Part makes of a name.
func FuzzPart(f *testing.F) {
	f.Add("%c")
	f.Add("\xff")
	f.Fuzz(func(t *testing.T, name string) {
		for _, s := range []string{Part(name), Part(name) + Suffix(name)} {
			if err := pmns.CheckName("dds." + s); err != nil {
				t.Error(err)
			}
		}
	})
}
