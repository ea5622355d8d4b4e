package agent

import (
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"github.com/pcp-rtime/rtime/internal/ddsseg/layout"
	"github.com/pcp-rtime/rtime/internal/ddsseg/reader/readertest"
	"github.com/pcp-rtime/rtime/pmdas/dds/internal/account"
	"github.com/pcp-rtime/rtime/pmdas/dds/internal/supply"
)

// TestOldestFirst: of several suppliers that share a path, the one with the oldest file
// has it after a restart of the agent, whatever the order of the files in their
// directory.
func TestOldestFirst(t *testing.T) {
	const n = 6
	for what, order := range map[string]func(i int) int{
		"as made": func(i int) int { return i }, "the other way round": func(i int) int { return n - 1 - i },
	} {
		t.Run(what, func(t *testing.T) {
			l := newLab(t)
			l.end()
			var paths []string
			for i := range n {
				s := loads(t, []string{"DDS/v"}, "DDS/v/one")
				s.Put64(s.Add(0, 1, "DDS/v/one", ""), uint64(100+i))
				paths = append(paths, s.Publish(l.dir, i+1))
				later(t, paths[i])
			}
			for i := range n { // a renamed file is a new file of the directory
				from := paths[order(i)]
				must(t, os.Rename(from, filepath.Join(l.dir, fmt.Sprintf("%d-%d-x.dds", order(i)+1, n-order(i)))))
			}
			l.start()
			l.is("dds.v.load", "one=100")
			l.is("rtime.dds.agent.waiting", "=1")
		})
	}
}

// TestGrowing: segments of one user that grow count with their present size, all
// together. Once they are gone they no longer count.
func TestGrowing(t *testing.T) {
	const small, big = 64 << 10, 1 << 20
	for what, c := range map[string]struct {
		limit int64
		want  string
	}{
		"within": {2 * big, "ready"}, "beyond": {2*big - 1, "damaged"},
	} {
		t.Run(what, func(t *testing.T) {
			l := newLab(t, func(a *Agent) { a.conf.Bytes, a.conf.Timeout = c.limit, 0 })
			var list []*readertest.Segment
			for i := range 2 {
				s := readertest.New(t, fmt.Sprint("grows", i), big, readertest.Context{Path: "DDS/v"},
					readertest.Context{Path: fmt.Sprintf("DDS/v/c%d", i)},
					readertest.Context{Path: "DDS/v/T", Template: true, Stats: []readertest.Stat{stat("load", 0)}})
				s.Publish(l.dir, -1)
				s.Truncate(small)
				s.Put64(layout.HdrSize, small)
				list = append(list, s)
			}
			l.is("rtime.dds.agent.bytes", fmt.Sprint("=", 2*small))
			for i, s := range list {
				s.Truncate(big)
				for slot := range uint32(600) {
					s.Add(slot, 2, fmt.Sprintf("DDS/v/c%d/i%d", i, slot), "")
				}
				l.Names("")
			}
			user := "@" + account.NameOf(uint32(os.Getuid()))
			l.is("rtime.dds.supplier.state", "grows0"+user+"=ready grows1"+user+"="+c.want)
			if c.want != "ready" {
				l.is("rtime.dds.agent.bytes", fmt.Sprint("=", big))
				return
			}
			l.is("rtime.dds.agent.bytes", fmt.Sprint("=", 2*big))
			supl(t).Publish(l.dir, -1)
			l.is("rtime.dds.agent.refused", "=1")
			list[0].Die()
			l.second()
			l.ahead += supply.ListEvery
			l.is("rtime.dds.agent.suppliers", "=2")
			l.is("rtime.dds.agent.bytes", fmt.Sprint("=", big+readertest.DefaultSize))
		})
	}
}
