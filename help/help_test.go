package help

import (
	"bytes"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/pcp-rtime/rtime/pcp"
)

var sample = []Entry{
	{Name: "rtime.lan.resptime", OneLine: "Response time of the latest reply", Text: "In milliseconds.\n\n  Indented, with @ and # inside.\nEnd."},
	{Name: "rtime.lan.up", OneLine: "Does the host answer?"},
	{Kind: PMID, PMID: pcp.MakePMID(400, 5, 6), OneLine: "A metric without a name", Text: "Long."},
	{Kind: InDom, InDom: pcp.MakeInDom(400, 3), OneLine: "Hosts", Text: "Those that are probed."},
}

const sampleText = `@ rtime.lan.resptime Response time of the latest reply
In milliseconds.

  Indented, with @ and # inside.
End.

@ rtime.lan.up Does the host answer?

@ RTLAN.5.6 A metric without a name
Long.

@ RTLAN.3 Hosts
Those that are probed.

`

func TestWriteAndParse(t *testing.T) {
	var out bytes.Buffer
	if err := Write(&out, sample, WriteOptions{Symbol: "RTLAN", Domain: 400}); err != nil || out.String() != sampleText {
		t.Fatalf("Write: %v\n%s", err, out.String())
	}
	for _, text := range []string{sampleText, "# comment\n\n" + strings.ReplaceAll(sampleText, "RTLAN", "400") + "# end"} {
		got, err := Parse(strings.NewReader(text), "f", map[string]int{"RTLAN": 400})
		if err != nil || !slices.Equal(got, sample) {
			t.Errorf("Parse: %v\n%+v", err, got)
		}
	}
}

func TestParseRefuses(t *testing.T) {
	for _, c := range []struct{ text, want string }{
		{"text", "f:1: text before"},
		{"\n@\n", "f:2: @ without"},
		{"@ \t\n", "f:1: @ without"},
		{"@ a..b x", "empty part"},
		{"@ 1.x y", "want domain.serial"},
		{"@ 511.1 y", "want domain.serial"},
		{"@ 1.4194304 y", "want domain.serial"},
		{"@ 1 y", "want domain.cluster.item"},
		{"@ 1.2.3.4 y", "want domain.cluster.item"},
		{"@ 511.2.3 y", "out of range"},
		{"@ SYM.3 y", `part "3"`},
	} {
		if _, err := Parse(strings.NewReader(c.text), "f", nil); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("Parse(%q) = %v, want %q", c.text, err, c.want)
		}
	}
}

func TestWriteRefuses(t *testing.T) {
	long := strings.Repeat("x", 200)
	for _, c := range []struct {
		entry Entry
		want  string
	}{
		{Entry{Name: "a", OneLine: long}, "a: name and one line need 204 bytes"},
		{Entry{Name: "a", OneLine: "x\ny"}, "newline"},
		{Entry{Name: "a", Text: "x " + long}, "is longer than 126"},
		{Entry{Name: "a", Text: "   " + long}, "is longer than 126"},
		{Entry{Name: "a", Text: strings.Repeat("many words ", 100)}, "newhelp takes 1024"},
		{Entry{Name: "a.1"}, "does not begin"},
		{Entry{Kind: InDom, InDom: pcp.InDomNull}, "out of range"},
		{Entry{Kind: PMID, PMID: pcp.PMIDNull}, "out of range"},
		{Entry{Kind: 9}, "unknown"},
	} {
		if err := Check(c.entry); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("Check(%.60v) = %v, want %q", c.entry, err, c.want)
		}
	}
	var out bytes.Buffer
	err := Write(&out, []Entry{{Name: "a", OneLine: long}, {Name: "b"}, {Name: "b"}, {Name: "c", Text: long}}, WriteOptions{})
	if err == nil || strings.Count(err.Error(), "help: ") != 3 || out.Len() != 0 {
		t.Errorf("Write = %v, wrote %q", err, out.String())
	}
}

func TestTable(t *testing.T) {
	table, err := NewTable(sample)
	if err != nil || table.Len() != len(sample) {
		t.Fatal(err, table.Len())
	}
	if err := table.Add(sample[1]); err == nil {
		t.Error("a second text for one name is taken")
	}
	if err := table.Add(Entry{Name: "4a"}); err == nil {
		t.Error("a bad name is taken")
	}
	byName, ok1 := table.ByName("rtime.lan.up")
	byInDom, ok2 := table.ByInDom(pcp.MakeInDom(400, 3))
	byPMID, ok3 := table.ByPMID(pcp.MakePMID(400, 5, 6))
	if !ok1 || !ok2 || !ok3 || byName != sample[1] || byInDom != sample[3] || byPMID != sample[2] {
		t.Errorf("found %v, %v, %v", byName, byInDom, byPMID)
	}
	if _, ok := table.ByName("400.3"); ok {
		t.Error("an instance domain is found as a name")
	}
	if _, ok := table.ByPMID(pcp.MakePMID(400, 5, 7)); ok {
		t.Error("an unknown metric is found")
	}
	if s, err := byName.For(pcp.TextOneLine | pcp.TextPMID); s != "Does the host answer?" || err != nil {
		t.Errorf("one line: %q, %v", s, err)
	}
	if s, err := byName.For(pcp.TextHelp | pcp.TextPMID); s != "" || !errors.Is(err, pcp.ErrText) {
		t.Errorf("long text that is not there: %q, %v", s, err)
	}
	if s, err := byInDom.For(pcp.TextHelp | pcp.TextInDom); s != "Those that are probed." || err != nil {
		t.Errorf("long text: %q, %v", s, err)
	}
}

func pcpTool(t *testing.T, dir, name string, args ...string) string {
	t.Helper()
	cmd := exec.Command(filepath.Join("/usr/lib/pcp/bin", name), args...)
	cmd.Dir = dir
	out, err := cmd.CombinedOutput()
	if err != nil {
		t.Fatalf("%s %q: %v\n%s", name, args, err, out)
	}
	return string(out)
}

// fitting returns an entry whose text is exactly as long as newhelp takes, with lines
// of the greatest length and lines that need wrapping and protecting.
func fitting(t *testing.T) Entry {
	t.Helper()
	e := Entry{Name: "rtime.lan.full", OneLine: strings.Repeat("o", MaxLine-1-len("@ rtime.lan.full "))}
	e.Text = strings.Repeat("y", MaxLine-1) + "\n" + strings.Repeat("many words ", 40) + "\n@ at\n# hash\n"
	for Check(e) == nil {
		if len(e.Text) > MaxEntry {
			t.Fatal("no limit")
		}
		e.Text += "z"
		if strings.HasSuffix(e.Text, strings.Repeat("z", 60)) {
			e.Text += "\n"
		}
	}
	e.Text = e.Text[:len(e.Text)-1]
	return e
}

// TestNewhelp gives what Write wrote to the real newhelp and asks the real chkhelp
// for the texts.
func TestNewhelp(t *testing.T) {
	dir := t.TempDir()
	names := "root {\n\trtime\n}\nrtime {\n\tlan\n}\nrtime.lan {\n\tresptime\t400:0:1\n\tup\t400:0:2\n\tfull\t400:0:3\n}\n"
	if err := os.WriteFile(filepath.Join(dir, "names"), []byte(names), 0o600); err != nil {
		t.Fatal(err)
	}
	entries := append(slices.Clone(sample), fitting(t))
	var out bytes.Buffer
	if err := Write(&out, entries, WriteOptions{}); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(dir, "help"), out.Bytes(), 0o600); err != nil {
		t.Fatal(err)
	}
	if said := pcpTool(t, dir, "newhelp", "-n", "names", "-o", "base", "help"); said != "" {
		t.Errorf("newhelp says %s", said)
	}
	read, err := Parse(bytes.NewReader(out.Bytes()), "help", nil)
	if err != nil || len(read) != len(entries) {
		t.Fatalf("Parse: %d entries, %v", len(read), err)
	}
	metrics := pcpTool(t, dir, "chkhelp", "-n", "names", "-p", "-O", "-H", "base")
	indoms := pcpTool(t, dir, "chkhelp", "-n", "names", "-i", "-O", "-H", "base")
	for _, e := range read {
		got := metrics
		if e.Kind == InDom {
			got = indoms
		}
		if !strings.Contains(got, e.OneLine) || !strings.Contains(got, e.Text) {
			t.Errorf("%s: chkhelp prints\n%s\nwant\n%s\n%s", e.Key(), got, e.OneLine, e.Text)
		}
	}
	if said := pcpTool(t, dir, "chkhelp", "-n", "names", "base"); said != "" {
		t.Errorf("chkhelp says %s", said)
	}
}

func FuzzParse(f *testing.F) {
	f.Add(sampleText)
	f.Add("@ a " + strings.Repeat("word ", 300))
	f.Add("@ 400.1 x\n @\n  #\n")
	f.Fuzz(func(t *testing.T, text string) {
		entries, err := Parse(strings.NewReader(text), "f", map[string]int{"RTLAN": 400})
		if err != nil {
			return
		}
		var out bytes.Buffer
		if Write(&out, entries, WriteOptions{Symbol: "RTLAN", Domain: 400}) != nil {
			return
		}
		for line := range strings.Lines(out.String()) {
			if len(line) > MaxLine {
				t.Fatalf("line of %d bytes: %q", len(line), line)
			}
		}
		again, err := Parse(&out, "again", map[string]int{"RTLAN": 400})
		if err != nil || len(again) != len(entries) {
			t.Fatalf("what Write wrote gives %d entries of %d, %v", len(again), len(entries), err)
		}
		for i, e := range again {
			if e.Key() != entries[i].Key() || e.OneLine != entries[i].OneLine || !slices.Equal(strings.Fields(e.Text), strings.Fields(entries[i].Text)) {
				t.Fatalf("entry %+v became %+v", entries[i], e)
			}
		}
	})
}
