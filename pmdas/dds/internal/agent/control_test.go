package agent

import (
	"errors"
	"os"
	"testing"
	"time"

	"github.com/pcp-rtime/rtime/internal/ddsseg/layout"
	"github.com/pcp-rtime/rtime/internal/ddsseg/reader/readertest"
	"github.com/pcp-rtime/rtime/pcp"
	"github.com/pcp-rtime/rtime/pmda"
	"github.com/pcp-rtime/rtime/pmdas/dds/internal/account"
)

// TestWhoMayStore: root, the PCP user and the supplier's own user may change what belongs to
// the supplier. Only root and the PCP user may change what applies to all. Nobody else may
// change anything.
func TestWhoMayStore(t *testing.T) {
	const owner, stranger = 65534, 1
	l := newLab(t)
	supl(t).Publish(l.dir, owner)
	name := "SpmiSupl@" + account.NameOf(owner)
	l.is("rtime.dds.supplier.timeout", name+"=30")
	pcpUser, _, err := pmda.PCPUser()
	must(t, err)
	for slot, c := range []struct {
		uid      int
		own, all bool
	}{{os.Getuid(), true, true}, {pcpUser, true, true}, {owner, true, false}, {stranger, false, false}, {-1, false, false}} {
		if c.uid >= 0 {
			l.Client(int32(slot+1), c.uid, c.uid, 1)
		} else {
			l.Slot = int32(slot + 1) // pmcd does not know whose client that is
		}
		may := func(metric, inst string, v uint32, want bool) {
			t.Helper()
			if err := l.Store(metric, inst, pcp.Num(v)); want && err != nil || !want && !errors.Is(err, pcp.ErrPermission) {
				t.Errorf("user %d stores into %s: %v", c.uid, metric, err)
			}
		}
		may("rtime.dds.control.timeout", "", 45, c.all)
		may("rtime.dds.supplier.timeout", name, 60, c.own)
		may("rtime.dds.control.goaway", name, 1, c.own)
		if c.own {
			l.is("rtime.dds.supplier.timeout", name+"=60")
		}
	}
	l.is("rtime.dds.control.timeout", "=45")
	l.is("rtime.dds.control.goaway", name+"=1")
	l.Slot = 1
	for metric, bad := range map[string]uint32{"rtime.dds.supplier.timeout": 14, "rtime.dds.control.goaway": 2} {
		if err := l.Store(metric, name, pcp.Num(bad)); !errors.Is(err, pcp.ErrBadStore) {
			t.Errorf("%s takes %d: %v", metric, bad, err)
		}
	}
	if err := l.Store("rtime.dds.control.timeout", "", pcp.Num(uint32(601))); !errors.Is(err, pcp.ErrBadStore) {
		t.Errorf("601 is taken: %v", err)
	}
}

// TestGoAway: a supplier that a client sends away finds the word set. It has no values until
// a client takes that back, even if it goes on with its work.
func TestGoAway(t *testing.T) {
	l := newLab(t)
	s := supl(t)
	s.Put64(s.Data[1], 22)
	s.Publish(l.dir, -1)
	l.is("dds.IBM.Test.gadgets", "=22")
	l.is("rtime.dds.control.goaway", title(t)+"=0")
	l.Client(1, os.Getuid(), 0, 4711)
	must(t, l.Store("rtime.dds.control.goaway", title(t), pcp.Num(uint32(1))))
	if s.Notice().GoAway == 0 {
		t.Error("it was not told")
	}
	l.is("dds.IBM.Test.gadgets", pcp.ErrValue.Error())
	l.is("rtime.dds.supplier.state", title(t)+"=stale")
	l.is("rtime.dds.supplier.reason", title(t)+"=wanted by user 0, process 4711")
	s.Stamp(time.Now().Add(time.Second)) // it ignores the word
	l.second()
	l.is("rtime.dds.control.goaway", title(t)+"=1")
	must(t, l.Store("rtime.dds.control.goaway", title(t), pcp.Num(uint32(0))))
	l.second()
	l.is("rtime.dds.control.goaway", title(t)+"=0")
	if s.Notice().GoAway != 0 {
		t.Error("it is still told")
	}
	l.is("dds.IBM.Test.gadgets", "=22")
}

// TestTimeouts: the time-outs that programs have given to SpmiInit decide when a supplier
// counts as stale. A time-out that a client has stored overrides them.
func TestTimeouts(t *testing.T) {
	l := newLab(t)
	for name, timeout := range map[string]uint32{"a": 0, "b": 100} {
		s := readertest.New(t, name, 0, readertest.Context{Path: "DDS/v/" + name, Stats: []readertest.Stat{stat("n", 0)}})
		s.Put32(layout.HdrTimeOut, timeout)
		s.Publish(l.dir, map[string]int{"a": 1, "b": 65534}[name])
	}
	a, b := "a@"+account.NameOf(1), "b@"+account.NameOf(65534)
	l.is("rtime.dds.supplier.timeout", a+"=30 "+b+"=100")
	l.Client(1, 1, 1, 1)
	must(t, l.Store("rtime.dds.supplier.timeout", a, pcp.Num(uint32(20))))
	l.is("rtime.dds.supplier.timeout", a+"=20 "+b+"=100")
	l.ahead = 21 * time.Second
	l.second()
	l.is("rtime.dds.supplier.state", a+"=stale "+b+"=ready")
	must(t, l.Store("rtime.dds.supplier.timeout", a, pcp.Num(uint32(0))))
	l.second()
	l.is("rtime.dds.supplier.state", a+"=ready "+b+"=ready")
}
