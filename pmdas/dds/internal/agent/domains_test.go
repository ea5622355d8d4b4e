package agent

import (
	"fmt"
	"hash/crc32"
	"os"
	"path/filepath"
	"testing"

	"github.com/pcp-rtime/rtime/internal/ddsseg/reader/readertest"
	"github.com/pcp-rtime/rtime/pmdas/dds/internal/naming"
)

// TestManyDomains: contexts below many parents at once do not cost a file each. A request
// would have to wait for these files.
func TestManyDomains(t *testing.T) {
	l := newLab(t)
	const n = 500
	contexts := []readertest.Context{{Path: "DDS/v"}, {Path: "DDS/v/T", Template: true, Stats: []readertest.Stat{stat("n", 0)}}}
	for i := range n {
		contexts = append(contexts, readertest.Context{Path: fmt.Sprintf("DDS/v/c%d", i)})
	}
	s := readertest.New(t, "many", 4<<20, contexts...)
	for i := range uint32(n) {
		s.Add(i, 1, fmt.Sprintf("DDS/v/c%d/x", i), "")
		s.Add(n+i, 1, fmt.Sprintf("DDS/v/c%d/y", i), "")
	}
	s.Publish(l.dir, -1)
	want := ""
	for _, i := range []int{0, 1, n - 1} {
		metric := fmt.Sprintf("dds.v.c%d.n", i)
		l.is(metric, "x=0 y=0")
		want += l.numbersOf(metric)
	}
	l.end()
	list, err := filepath.Glob(filepath.Join(l.state, "*.ids"))
	if err != nil || len(list) > 10 {
		t.Errorf("%d files of numbers, %v", len(list), err)
	}
	l.start()
	got := ""
	for _, i := range []int{0, 1, n - 1} {
		got += l.numbersOf(fmt.Sprintf("dds.v.c%d.n", i))
	}
	if got != want {
		t.Errorf("numbers are\n%swant\n%s", got, want)
	}
}

// TestOwnNumbers: a domain that has a file of its own from an early version keeps the
// numbers of that file.
func TestOwnNumbers(t *testing.T) {
	l := newLab(t)
	l.end()
	must(t, os.Remove(filepath.Join(l.state, Name+".ids")))
	file := "rtime-ids 1 reserved 4\n0 a\n1 b\n2 c\n3 Bingo\nend 4 reserved 4 crc32c "
	file += fmt.Sprintf("%08x\n", crc32.Checksum([]byte(file), crc32.MakeTable(crc32.Castagnoli)))
	must(t, os.WriteFile(filepath.Join(l.state, fmt.Sprintf("%s.%d.ids", Name, naming.FirstSerial)), []byte(file), 0o644))
	l.start()
	s := supl(t)
	s.Add(0, bingo, "DDS/IBM/Moretest/Bingo", "")
	s.Add(1, bingo, "DDS/IBM/Moretest/Bango", "")
	s.Publish(l.dir, -1)
	d, err := l.Desc("dds.IBM.Moretest.problems")
	must(t, err)
	for name, want := range map[string]int32{"Bingo": 3, "Bango": 4} {
		if id, err := l.Lookup(d.InDom, name); id != want || err != nil {
			t.Errorf("%s has number %d, %v, want %d", name, id, err, want)
		}
	}
}
