package names

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

func TestMetric(t *testing.T) {
	for _, c := range []struct{ path, stat, want string }{
		{"DDS/IBM/Test", "gadgets", "dds.IBM.Test.gadgets"}, {"DDS/my co/1st", "%busy", "dds.my_co.x1st.pct_busy"}, {"DDS", "x", "dds.x"},
	} {
		if got := Metric(c.path, c.stat); got != c.want {
			t.Errorf("%q, %q: %q, want %q", c.path, c.stat, got, c.want)
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

// FuzzMetric: whatever the names are, PCP allows what comes out.
func FuzzMetric(f *testing.F) {
	f.Add("DDS/a/b", "%c")
	f.Add("DDS//\xff", "")
	f.Fuzz(func(t *testing.T, path, stat string) {
		name := Metric(path, stat)
		if err := pmns.CheckName(name + Suffix(path)); err != nil {
			t.Error(err)
		}
		if err := pmns.CheckName(name); err != nil {
			t.Error(err)
		}
	})
}
