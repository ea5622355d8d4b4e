package agent

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/pcp-rtime/rtime/internal/ddsseg/reader/readertest"
)

// tree returns what rtime.dds.context shows, a line for each context: path, description,
// ASN.1 number, whether it has instances, supplier.
func (l *lab) tree() string {
	l.t.Helper()
	lines := make(map[string][5]string)
	for i, m := range []string{"path", "description", "asn", "instantiability", "supplier"} {
		values, err := l.Values("rtime.dds.context." + m)
		must(l.t, err)
		for inst, v := range values {
			line := lines[inst]
			line[i] = fmt.Sprint(v)
			lines[inst] = line
		}
	}
	list := slices.SortedFunc(maps.Values(lines), func(a, b [5]string) int { return strings.Compare(a[0], b[0]) })
	text := ""
	for _, line := range list {
		text += strings.TrimRight(strings.Join(line[:], "|"), "|") + "\n"
	}
	return text
}

// TestContexts: the tree has every context that a supplier has, and those above: contexts
// of vendors, contexts without statistics, volatile ones, and those of several suppliers.
// It has none that is gone.
func TestContexts(t *testing.T) {
	l := newLab(t)
	if got := l.tree(); got != "" {
		t.Errorf("without suppliers:\n%s", got)
	}
	s := supl(t)
	s.Publish(l.dir, -1)
	s.Add(0, bingo, "DDS/IBM/Moretest/Bingo", "Dynamically added", readertest.ASN(s, 7))
	one := title(t)
	want := "DDS|Dynamic Data-Supplier Statistics|99|SiNoInst\n" +
		"DDS/IBM|IBM-defined Dynamic Data-Suppliers|2|SiNoInst|" + one + "\n" +
		"DDS/IBM/Moretest|Bogus Context Number 2|221|SiContInst|" + one + "\n" +
		"DDS/IBM/Moretest/Bingo|Dynamically added|7|SiNoInst|" + one + "\n" +
		"DDS/IBM/Moretest/SubTest|Bogus Context Number 3|222|SiNoInst|" + one + "\n" +
		"DDS/IBM/Test|Bogus Context Number 1|220|SiNoInst|" + one + "\n"
	if got := l.tree(); got != want {
		t.Errorf("%s\nwant\n%s", got, want)
	}
	d, err := l.Desc("rtime.dds.context.path")
	must(t, err)
	bingoID, err := l.Lookup(d.InDom, "DDS/IBM/Moretest/Bingo")
	must(t, err)

	// Another supplier has the vendor, too, and a context below one that no supplier has.
	other := readertest.New(t, "other", 0, readertest.Context{Path: "DDS/IBM", Descr: "something else", ASN: 3},
		readertest.Context{Path: "DDS/IBM/a b/c", Descr: "deep"},
		readertest.Context{Path: "DDS/IBM/a b/c/T", Template: true},
		readertest.Context{Path: "DDS/IBM/a b/c/T/U", Template: true})
	other.Publish(l.dir, -1)
	other.Add(0, 2, "DDS/IBM/a b/c/x", "")
	other.Add(1, 3, "DDS/IBM/a b/c/x/y", "")
	extra := "DDS/IBM/a b|||SiNoInst\nDDS/IBM/a b/c|deep||SiContInst|other@root\nDDS/IBM/a b/c/x|||SiContInst|other@root\n" +
		"DDS/IBM/a b/c/x/y|||SiNoInst|other@root\n"
	if got := l.tree(); got != want+extra {
		t.Errorf("%s\nwant\n%s", got, want+extra)
	}
	s.Die()
	want = "DDS|Dynamic Data-Supplier Statistics|99|SiNoInst\nDDS/IBM|something else|3|SiNoInst|other@root\n" + extra
	if got := l.tree(); got != want {
		t.Errorf("%s\nwant\n%s", got, want)
	}
	other.End()
	l.Names("")
	if got := l.tree(); got != "" {
		t.Errorf("all gone:\n%s", got)
	}
	// Its number never changes.
	l.end()
	l.start()
	again := supl(t)
	again.Publish(l.dir, -1)
	l.Names("")
	again.Add(3, bingo, "DDS/IBM/Moretest/Bingo", "")
	l.Names("")
	if d, err = l.Desc("rtime.dds.context.path"); err != nil {
		t.Fatal(err)
	}
	if id, err := l.Lookup(d.InDom, "DDS/IBM/Moretest/Bingo"); err != nil || id != bingoID {
		t.Errorf("number %d %v, before %d", id, err, bingoID)
	}
}

// TestContextsStale: a supplier that is told to go away has no contexts; when it is back
// it has them again.
func TestContextsStale(t *testing.T) {
	l := newLab(t)
	s := supl(t)
	s.Publish(l.dir, -1)
	want := l.tree()
	if !strings.Contains(want, "DDS/IBM/Moretest|Bogus Context Number 2|221|SiContInst|") {
		t.Errorf("%s", want)
	}
	l.ahead += l.a.conf.Timeout * 2
	l.second()
	if got := l.tree(); got != "" {
		t.Errorf("%s", got)
	}
	s.Put64(readertest.TimeOff, 1)
	l.second()
	if got := l.tree(); got != want {
		t.Errorf("%s, before\n%s", got, want)
	}
}
