package agent

import (
	"testing"

	"github.com/pcp-rtime/rtime/internal/ddsseg/reader/readertest"
	"github.com/pcp-rtime/rtime/pmdas/dds/internal/account"
	"github.com/pcp-rtime/rtime/pmdas/dds/internal/conf"
)

// letIn reserves a path for some users.
func letIn(path string, uids ...uint32) func(*Agent) {
	return func(a *Agent) { a.conf.Reserve = append(a.conf.Reserve, conf.Reserve{Path: path, UIDs: uids}) }
}

// payroll is a supplier with the fixed context DDS/v/payroll and volatile ones below.
func payroll(t *testing.T, name string, value uint64) *readertest.Segment {
	s := readertest.New(t, name, 0, readertest.Context{Path: "DDS/v"},
		readertest.Context{Path: "DDS/v/payroll", Stats: []readertest.Stat{stat("paid", 0)}},
		readertest.Context{Path: "DDS/v/payroll/C", Template: true, Stats: []readertest.Stat{stat("n", 0)}})
	s.Put64(s.Data[1], value)
	return s
}

// intruder is a supplier of a volatile context below another's fixed one, and of a fixed one.
func intruder(t *testing.T) *readertest.Segment {
	s := readertest.New(t, "intruder", 0, readertest.Context{Path: "DDS/v"},
		readertest.Context{Path: "DDS/v/payroll/C", Template: true, Stats: []readertest.Stat{stat("n", 0)}},
		readertest.Context{Path: "DDS/v/payroll/fixed", Stats: []readertest.Stat{stat("x", 0)}})
	s.Put64(s.Add(0, 1, "DDS/v/payroll/c3", ""), 666)
	return s
}

// TestBelowOthers: below a user's context another user can add nothing, whichever comes
// first. So he cannot take the place of one of the owner's instances. Root can, and so can
// users whom the configuration lets in.
func TestBelowOthers(t *testing.T) {
	t.Run("refused", func(t *testing.T) {
		l := newLab(t)
		owner := payroll(t, "payroll", 1)
		owner.Publish(l.dir, 1)
		intruder(t).Publish(l.dir, 65534)
		l.is("dds.v.payroll.inst.n", "Unknown metric name")
		owner.Put64(owner.Add(0, 2, "DDS/v/payroll/c3", ""), 7)
		l.is("dds.v.payroll.inst.n", "c3=7")
		l.is("dds.v.payroll.paid", "=1")
		who := "intruder@" + account.NameOf(65534)
		l.is("rtime.dds.supplier.contexts", who+"=0 payroll@"+account.NameOf(1)+"=2")
		l.is("rtime.dds.supplier.reason", who+"=DDS/v/payroll/c3: "+errBelow.Error()+": DDS/v/payroll is "+account.NameOf(1)+
			"'s; reserve in dds.conf can let others in")
		// Once the owner has gone the name is free.
		owner.End()
		l.second()
		l.is("dds.v.payroll.n", "c3=666") // no total counts it any more
	})
	t.Run("let in", func(t *testing.T) {
		l := newLab(t, letIn("DDS/v/payroll", 1, 65534))
		payroll(t, "payroll", 1).Publish(l.dir, 1)
		intruder(t).Publish(l.dir, 65534)
		l.is("dds.v.payroll.inst.n", "c3=666")
	})
	t.Run("root", func(t *testing.T) {
		l := newLab(t)
		payroll(t, "payroll", 1).Publish(l.dir, 1)
		intruder(t).Publish(l.dir, 0)
		l.is("dds.v.payroll.inst.n", "c3=666")
	})
}

// TestReserved: a path that the configuration reserves for some users is open to nobody else,
// even while none of them supplies it.
func TestReserved(t *testing.T) {
	l := newLab(t, letIn("DDS/v", 1))
	payroll(t, "squatter", 666).Publish(l.dir, 65534)
	l.is("rtime.dds.supplier.reason", "squatter@"+account.NameOf(65534)+"=DDS/v/payroll: "+errBelow.Error()+": reserve in dds.conf keeps DDS/v for others")
	payroll(t, "payroll", 1).Publish(l.dir, 1)
	l.is("dds.v.payroll.paid", "=1")
}

// TestRootFirst: what root supplies is shown, even if another user had the path or something
// below it before. That user has it again when root's supplier has gone.
func TestRootFirst(t *testing.T) {
	l := newLab(t)
	squatter := payroll(t, "squatter", 666)
	squatter.Put64(squatter.Add(0, 2, "DDS/v/payroll/c3", ""), 666)
	squatter.Publish(l.dir, 65534)
	l.is("dds.v.payroll.paid", "=666")
	l.is("dds.v.payroll.inst.n", "c3=666")
	root := payroll(t, "payroll", 1)
	root.Publish(l.dir, 0)
	l.is("dds.v.payroll.paid", "=1")
	l.is("dds.v.payroll.inst.n", "")
	root.Put64(root.Add(0, 2, "DDS/v/payroll/c3", ""), 7)
	l.is("dds.v.payroll.inst.n", "c3=7")
	root.End()
	l.second()
	l.is("dds.v.payroll.paid", "=666")
	l.is("dds.v.payroll.inst.n", "c3=666")
}
