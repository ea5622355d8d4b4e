package dds

import (
	"encoding/json"
	"fmt"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/pcp-rtime/rtime/spmi"
	"github.com/pcp-rtime/rtime/test/pcptest"
)

// labels are those of a metric, and of its instances by name, as pminfo prints them.
type labels struct {
	metric map[string]any
	inst   map[string]map[string]any
}

var instLabels = regexp.MustCompile(`^inst \[\d+ or "(.*)"\] labels (\{.*\})$`)

// labelsOf asks PCP for the labels of metrics.
func labelsOf(t *testing.T, p *pcptest.PCP, below string) map[string]*labels {
	t.Helper()
	all := make(map[string]*labels)
	var now *labels
	for line := range strings.Lines(p.Run("pminfo", "-h", "local:", "-l", below)) {
		line = strings.TrimRight(line, "\n")
		text := strings.TrimSpace(line)
		parse := func(object string) (m map[string]any) {
			t.Helper()
			d := json.NewDecoder(strings.NewReader(object))
			d.UseNumber()
			if err := d.Decode(&m); err != nil {
				t.Fatalf("%s: %v", line, err)
			}
			return m
		}
		if object, ok := strings.CutPrefix(text, "labels "); ok {
			now.metric = parse(object)
		} else if m := instLabels.FindStringSubmatch(text); m != nil {
			now.inst[m[1]] = parse(m[2])
		} else if text != "" && line == text {
			now = &labels{inst: make(map[string]map[string]any)}
			all[text] = now
		}
	}
	return all
}

// peek prints the tree of the suppliers' contexts and statistics, as the SPMI's example
// programs do, from metrics and their labels alone: path, description and ASN.1 number, by
// levels, and for statistics scale, value type and data type.
func peek(t *testing.T, p *pcptest.PCP) string {
	t.Helper()
	var lines []string
	text := func(metric, inst string) string { return p.Values("rtime.dds.context." + metric)[inst].Text }
	asn := p.Values("rtime.dds.context.asn")
	for inst, path := range p.Values("rtime.dds.context.path") {
		lines = append(lines, fmt.Sprintf("%s/ %s, %s, %s", path.Text, text("description", inst), asn[inst].Text, text("instantiability", inst)))
	}
	for metric, l := range labelsOf(t, p, "dds") {
		above, stat := l.metric["path"].(string), ""
		i := strings.LastIndex(above, "/")
		above, stat = above[:i], above[i+1:]
		line := fmt.Sprintf("/%s %s, %v, %v to %v, %v, %v", stat, strings.TrimSpace(p.Run("pminfo", "-h", "local:", "-t", metric)),
			l.metric["asn"], l.metric["min"], l.metric["max"], l.metric["valuetype"], l.metric["type"])
		for inst := range p.Values(metric) {
			path := above
			if inst != "" {
				path = l.inst[inst]["path"].(string)
			}
			lines = append(lines, path+line)
		}
	}
	slices.Sort(lines)
	return strings.Join(lines, "\n")
}

// TestTree: everything that a supplier declares is in PCP and can be printed as a tree from
// PCP alone. That includes contexts of the vendor, contexts without statistics, and
// volatile ones.
func TestTree(t *testing.T) {
	t.Parallel()
	p := start(t, "", false)
	g, err := open(p.Path("run/dds"))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { g.supplier.Close() })
	b := &spmi.Context{Path: "DDS/IBM/Moretest/Bingo", Descr: "Dynamically added", ASN: 223, Values: new(bingo)}
	if err := g.supplier.Add(b); err != nil {
		t.Fatal(err)
	}
	type total struct {
		Size spmi.Gauge `spmi:"size" descr:"Total active paging space size (4K pages)" asn:"1" max:"1000000"`
		Free spmi.Gauge `spmi:"free" descr:"Total free disk paging space (4K pages)" asn:"2" max:"1000000"`
	}
	type part struct {
		Size spmi.Gauge            `spmi:"size" descr:"Size of paging space (4K pages)" asn:"1" max:"50000"`
		Free spmi.FloatOf[float32] `spmi:"%free" descr:"Free portion of this paging space (percent)" asn:"2" max:"100"`
	}
	s, err := spmi.Open(spmi.Options{Dir: p.Path("run/dds"), Name: "paging", Volatile: []*spmi.Context{
		{Path: "DDS/acme/PagSp/hd", Values: (*part)(nil)}}},
		&spmi.Context{Path: "DDS/acme", Descr: "Acme", ASN: 4711},
		&spmi.Context{Path: "DDS/acme/PagSp", Descr: "Paging space statistics", ASN: 3, Values: new(total)})
	if err != nil || s.Err() != nil {
		t.Fatal(err, s.Err())
	}
	t.Cleanup(func() { s.Close() })
	hd6 := &spmi.Context{Path: "DDS/acme/PagSp/hd6", Descr: "Statistics for paging space hd6", ASN: 3, Values: new(part)}
	if err := s.Add(hd6); err != nil {
		t.Fatal(err)
	}
	stat := func(name, descr string, asn, max int, valueType, typ string) string {
		metric := strings.ReplaceAll(name[:strings.LastIndex(name, "/")], "/", ".") + "." + name[strings.LastIndex(name, "/")+1:]
		metric = strings.NewReplacer("DDS.", "dds.", ".Bingo.", ".", ".hd6.", ".inst.", "%", "pct_").Replace(metric)
		return name + " " + metric + " [" + descr + "], " + strconv.Itoa(asn) + ", 0 to " + strconv.Itoa(max) + ", " + valueType + ", " + typ
	}
	want := []string{
		"DDS/ Dynamic Data-Supplier Statistics, 99, SiNoInst",
		"DDS/IBM/ IBM-defined Dynamic Data-Suppliers, 2, SiNoInst",
		"DDS/IBM/Test/ Bogus Context Number 1, 220, SiNoInst",
		stat("DDS/IBM/Test/gadgets", "Fake counter value", 1, 100, "SiCounter", "SiULong"),
		stat("DDS/IBM/Test/widgets", "Another fake counter value", 2, 100, "SiCounter", "SiULong"),
		"DDS/IBM/Moretest/ Bogus Context Number 2, 221, SiContInst",
		"DDS/IBM/Moretest/SubTest/ Bogus Context Number 3, 222, SiNoInst",
		stat("DDS/IBM/Moretest/SubTest/level", "Fake quantity value", 1, 100, "SiQuantity", "SiLong"),
		stat("DDS/IBM/Moretest/SubTest/queue", "Another fake quantity value", 2, 100, "SiQuantity", "SiLong"),
		"DDS/IBM/Moretest/Bingo/ Dynamically added, 223, SiNoInst",
		stat("DDS/IBM/Moretest/Bingo/problems", "Fake counter value", 0, 0, "SiCounter", "SiULong"),
		stat("DDS/IBM/Moretest/Bingo/solutions", "Another fake counter value", 0, 0, "SiCounter", "SiULong"),
		"DDS/acme/ Acme, 4711, SiNoInst",
		"DDS/acme/PagSp/ Paging space statistics, 3, SiContInst",
		stat("DDS/acme/PagSp/size", "Total active paging space size (4K pages)", 1, 1000000, "SiQuantity", "SiLong"),
		stat("DDS/acme/PagSp/free", "Total free disk paging space (4K pages)", 2, 1000000, "SiQuantity", "SiLong"),
		"DDS/acme/PagSp/hd6/ Statistics for paging space hd6, 3, SiNoInst",
		stat("DDS/acme/PagSp/hd6/size", "Size of paging space (4K pages)", 1, 50000, "SiQuantity", "SiLong"),
		stat("DDS/acme/PagSp/hd6/%free", "Free portion of this paging space (percent)", 2, 100, "SiQuantity", "SiFloat"),
	}
	slices.Sort(want)
	pcptest.Eventually(t, "the suppliers", func() error {
		if n := p.Value("rtime.dds.agent.suppliers"); n != "2" {
			return fmt.Errorf("%s suppliers", n)
		}
		return nil
	})
	if got := peek(t, p); got != strings.Join(want, "\n") {
		t.Errorf("the tree is\n%s\nwant\n%s", got, strings.Join(want, "\n"))
	}
}

// TestPmlogconf: a configuration made by pmlogconf records the tree of contexts once, so
// that it can be printed from an archive, too.
func TestPmlogconf(t *testing.T) {
	t.Parallel()
	p := start(t, "", false)
	groups, err := filepath.Abs("../../pmdas/dds/pmlogconf")
	if err != nil {
		t.Fatal(err)
	}
	p.Run("pmlogconf", "-c", "-q", "-h", "local:", "-d", groups, p.Path("pmlogger.conf"))
	has(t, p.ReadFile("pmlogger.conf"), "#+ rtime/dds:y:default:", "#+ rtime/dds-contexts:y:once:", "log advisory on once {\n\trtime.dds.context\n}")
}
