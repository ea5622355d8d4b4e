package agent

import (
	"fmt"
	"os"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/pcp-rtime/rtime/internal/ddsseg/reader/readertest"
	"github.com/pcp-rtime/rtime/pmdas/dds/internal/supply"
)

// sum adds up a metric's values; a text counts as 1.
func (l *lab) sum(metric string) (n int) {
	l.t.Helper()
	values, err := l.Values(metric)
	must(l.t, err)
	for _, v := range values {
		if i, err := strconv.Atoi(fmt.Sprint(v)); err == nil {
			n += i
		} else {
			n++
		}
	}
	return n
}

// TestSupplierMetrics: what rtime.dds.supplier shows in each state.
func TestSupplierMetrics(t *testing.T) {
	const cut = "the file was cut off under its mapping"
	for state, c := range map[string]struct {
		change func(*lab, *readertest.Segment)
		want   map[string]string // "" for no value
	}{
		string(supply.Ready): {func(*lab, *readertest.Segment) {}, map[string]string{"up": "1", "age": "0", "contexts": "3", "statistics": "6",
			"subscribed": "2", "interval": "1000", "errors": "0", "reason": "", "pid": strconv.Itoa(os.Getpid()), "bytes": strconv.Itoa(readertest.DefaultSize)}},
		string(supply.Stale): {func(l *lab, _ *readertest.Segment) {
			l.ahead += 31 * time.Second
			l.second()
		}, map[string]string{"up": "0", "age": "31", "contexts": "0", "statistics": "0", "subscribed": "0", "interval": "0",
			"errors": "0", "reason": "no new time stamp for 31s", "pid": strconv.Itoa(os.Getpid()), "bytes": strconv.Itoa(readertest.DefaultSize)}},
		string(supply.Died): {func(_ *lab, s *readertest.Segment) { s.Die() }, map[string]string{"up": "0", "age": "", "contexts": "", "statistics": "",
			"subscribed": "", "interval": "", "errors": "0", "reason": "", "pid": "", "bytes": ""}},
		string(supply.Ended): {func(_ *lab, s *readertest.Segment) { s.End() }, map[string]string{"up": "0", "age": "", "contexts": "", "statistics": "",
			"subscribed": "", "interval": "", "errors": "0", "reason": "", "pid": "", "bytes": ""}},
		string(supply.Damaged): {func(_ *lab, s *readertest.Segment) { s.Truncate(1000) }, map[string]string{"up": "0", "age": "", "contexts": "", "statistics": "",
			"subscribed": "", "interval": "", "errors": "1", "reason": cut + ": 1000 bytes are left of 262144", "pid": "", "bytes": ""}},
	} {
		t.Run(state, func(t *testing.T) {
			l := newLab(t)
			base := time.Now()
			l.a.now = func() time.Time { return base.Add(l.ahead) }
			s := supl(t)
			s.Add(0, bingo, "DDS/IBM/Moretest/Bingo", "")
			s.Stamp(base)
			s.Publish(l.dir, -1)
			d, err := l.Desc("dds.IBM.Moretest.problems")
			must(t, err)
			e, err := l.Desc("dds.IBM.Test.gadgets")
			must(t, err)
			for range 3 {
				l.Fetch(d.PMID, e.PMID)
				l.ahead += time.Second
			}
			s.Stamp(base.Add(l.ahead))
			l.second()
			c.change(l, s)
			l.is("rtime.dds.supplier.state", title(t)+"="+state)
			for metric, want := range c.want {
				if want != "" {
					want = title(t) + "=" + want
				}
				l.is("rtime.dds.supplier."+metric, want)
			}
		})
	}
}

// TestGrowsTooLarge: a segment that grows beyond its user's limit is closed and stays
// closed. The limit applies to all segments of a user together.
func TestGrowsTooLarge(t *testing.T) {
	l := newLab(t, func(a *Agent) { a.conf.Bytes = 3 * readertest.DefaultSize })
	other := readertest.New(t, "other", 0, readertest.Context{Path: "DDS/v/x", Stats: []readertest.Stat{stat("a", 0)}})
	later(t, other.Publish(l.dir, -1)) // so that it is taken first
	s := readertest.New(t, "large", 0, readertest.Context{Path: "DDS/v/y", Stats: []readertest.Stat{stat("a", 0)}},
		readertest.Context{Path: "DDS/v/y/T", Template: true, Stats: []readertest.Stat{stat("i", 0)}, Len: 1024})
	s.B = append(s.B, make([]byte, 3*readertest.DefaultSize)...)
	s.Publish(l.dir, -1)
	must(t, os.Truncate(s.Path(), readertest.DefaultSize)) // its size at first
	l.is("rtime.dds.supplier.state", "large@root=ready other@root=ready")
	s.Truncate(4 * readertest.DefaultSize)
	for i := range uint32(600) {
		s.Add(i, 1, fmt.Sprintf("DDS/v/y/i%d", i), "")
	}
	l.is("dds.v.x.a", "=0")
	l.is("rtime.dds.supplier.state", "large@root=damaged other@root=ready")
	if v, err := l.Values("rtime.dds.supplier.reason"); err != nil || !strings.Contains(fmt.Sprint(v["large@root"]), "larger than allowed: 1048576 bytes, at most 524288") {
		t.Errorf("reason %v %v", v, err)
	}
	l.is("rtime.dds.agent.bytes", fmt.Sprint("=", readertest.DefaultSize))
	l.is("rtime.dds.agent.damaged", "=1")
	l.is("rtime.dds.agent.opened", "=2")
}
