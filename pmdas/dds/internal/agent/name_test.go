package agent

import (
	"testing"
	"time"

	"github.com/pcp-rtime/rtime/internal/ddsseg/reader/readertest"
	"github.com/pcp-rtime/rtime/pcp"
	"github.com/pcp-rtime/rtime/pmdas/dds/internal/naming"
)

// TestSquatter: who leaves a metric behind has its name for as long as metrics are kept,
// not for ever; the numbers stay whose they are. While a metric is there nobody else gets
// its name, over restarts of the agent.
func TestSquatter(t *testing.T) {
	for what, squat := range map[string]func() *readertest.Segment{
		"volatile": func() *readertest.Segment {
			s := readertest.New(t, "squat", 0, readertest.Context{Path: "DDS/v/x"},
				readertest.Context{Path: "DDS/v/x/T", Template: true, Stats: []readertest.Stat{stat("a", 0)}})
			s.Add(0, 1, "DDS/v/x/q", "")
			return s
		},
		"below": func() *readertest.Segment {
			return readertest.New(t, "squat", 0, readertest.Context{Path: "DDS/v/x"},
				readertest.Context{Path: "DDS/v/x/a", Stats: []readertest.Stat{stat("b", 0)}})
		},
	} {
		t.Run(what, func(t *testing.T) {
			l := newLab(t)
			s := squat()
			s.Publish(l.dir, 65534)
			l.Names("")
			s.Die()
			l.second()
			const plain = "dds.v.x.a"
			suffixed := plain + naming.Suffix("DDS/v/x/a")
			victim := func() *readertest.Segment {
				s := readertest.New(t, "x", 0, readertest.Context{Path: "DDS/v/x", Stats: []readertest.Stat{stat("a", 0)}})
				s.Put64(s.Data[0], 7)
				s.Stamp(time.Now().Add(l.ahead))
				s.Publish(l.dir, 1)
				return s
			}
			v := victim()
			l.is(suffixed, "=7")
			d, err := l.Desc(suffixed)
			must(t, err)
			l.ahead += l.a.conf.Keep
			v.Stamp(time.Now().Add(l.ahead))
			l.second()
			l.is(suffixed, "=7") // no other name while it is there
			v.End()
			l.second()
			v = victim()
			for range 2 {
				l.is(plain, "=7")
				if now, err := l.Desc(plain); err != nil || now != d {
					t.Errorf("%+v %v, before %+v", now, err, d)
				}
				l.names(plain)
				l.end()
				l.start()
			}
			v.Die()
			l.second()
			s = squat()
			s.Stamp(time.Now().Add(l.ahead))
			s.Publish(l.dir, 65534)
			l.is(plain, pcp.ErrValue.Error()) // kept for the victim
		})
	}
}
