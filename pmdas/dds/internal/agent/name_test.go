package agent

import (
	"testing"
	"time"

	"github.com/pcp-rtime/rtime/internal/ddsseg/reader/readertest"
	"github.com/pcp-rtime/rtime/pmdas/dds/internal/naming"
)

// TestSquatter: a supplier that leaves a metric behind keeps nobody from using its name,
// over restarts of the agent. A supplier that is there keeps its name. No number moves to
// another metric.
func TestSquatter(t *testing.T) {
	for what, squat := range map[string]func() *readertest.Segment{
		"as a context": func() *readertest.Segment { // its name comes out like the victim's
			return readertest.New(t, "squat", 0, readertest.Context{Path: "DDS/v/x y", Stats: []readertest.Stat{stat("a", 0)}})
		},
		"below": func() *readertest.Segment {
			return readertest.New(t, "squat", 0, readertest.Context{Path: "DDS/v/x_y"},
				readertest.Context{Path: "DDS/v/x_y/a", Stats: []readertest.Stat{stat("b", 0)}})
		},
	} {
		t.Run(what, func(t *testing.T) {
			const plain = "dds.v.x_y.a"
			suffixed := plain + naming.Suffix("DDS/v/x_y/a")
			l := newLab(t)
			victim := func() *readertest.Segment {
				s := readertest.New(t, "x", 0, readertest.Context{Path: "DDS/v/x_y", Stats: []readertest.Stat{stat("a", 0)}})
				s.Put64(s.Data[0], 7)
				s.Stamp(time.Now().Add(l.ahead))
				s.Publish(l.dir, 1)
				return s
			}
			s := squat()
			s.Publish(l.dir, 65534)
			l.Names("")
			v := victim()
			l.is(suffixed, "=7") // the first supplier is there
			d, err := l.Desc(suffixed)
			must(t, err)
			v.End()
			s.Die()
			l.second()
			v = victim()
			for range 2 {
				l.is(plain, "=7")
				if now, err := l.Desc(plain); err != nil || now != d {
					t.Errorf("%+v %v, before %+v", now, err, d)
				}
				l.end()
				l.start()
			}
			s = squat()
			s.Stamp(time.Now().Add(l.ahead))
			s.Publish(l.dir, 65534)
			l.is(plain, "=7")
			v.Die()
			l.second()
			l.is("rtime.dds.agent.suppliers", "=1")
		})
	}
}
