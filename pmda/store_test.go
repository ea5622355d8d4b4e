package pmda_test

import (
	"errors"
	"fmt"
	"math"
	"testing"

	"github.com/pcp-rtime/rtime/pcp"
	"github.com/pcp-rtime/rtime/pdu"
	"github.com/pcp-rtime/rtime/pmda"
)

func storeOf(item int, inst int32, v pcp.Value) *pdu.Result {
	return &pdu.Result{Sec: 0x3df07330, Usec: 0xffffffff, // pmcd sends what lies in memory
		Sets: []pdu.ValueSet{{PMID: zooID(item), Values: []pdu.InstValue{{Inst: inst, Value: v}}}}}
}

func TestStore(t *testing.T) {
	z := newZoo()
	c, j := visit(t, z)
	leo, _ := c.Lookup(beastDom, "leo")
	const null = pcp.InstNull
	for _, x := range []struct {
		what string
		ask  *pdu.Result
		code pcp.Error
		got  string // what reaches Store
	}{
		{"a word", storeOf(itemCount, null, pcp.Num(uint32(math.MaxUint32))), 0, `zoo.count {-1 } U32 4294967295`},
		{"a signed word", storeOf(itemLegs, leo, pcp.Num(int32(-3))), 0, fmt.Sprintf(`zoo.beast.legs {%d leo} 32 -3`, leo)},
		{"a double", storeOf(itemWeight, leo, pcp.Num(2.5)), 0, fmt.Sprintf(`zoo.beast.weight {%d leo} DOUBLE 2.5`, leo)},
		{"a string", storeOf(itemKind, leo, pcp.Str("cat")), 0, fmt.Sprintf(`zoo.beast.kind {%d leo} STRING cat`, leo)},
		{"a float in a store that fails", storeOf(itemMood, null, pcp.Num(float32(1))), pcp.ErrGeneric, ""},
		{"a string for a double", storeOf(itemWeight, leo, pcp.Str("2.5")), pcp.ErrBadStore, ""},
		{"a long for a double", storeOf(itemWeight, leo, pcp.Num(int64(2))), pcp.ErrBadStore, ""},
		{"a word for a double", storeOf(itemWeight, leo, pcp.Num(int32(2))), pcp.ErrBadStore, ""},
		{"a double for a word", storeOf(itemLegs, leo, pcp.Num(2.0)), pcp.ErrBadStore, ""},
		{"an unknown instance", storeOf(itemLegs, 99, pcp.Num(int32(1))), pcp.ErrInst, ""},
		{"no instance", storeOf(itemLegs, null, pcp.Num(int32(1))), pcp.ErrInst, ""},
		{"an unknown metric", storeOf(999, null, pcp.Num(int32(1))), pcp.ErrPMID, ""},
		{"a metric that takes none", storeOf(itemBroken, null, pcp.Num(int64(1))), pcp.ErrPermission, ""},
	} {
		z.stores = nil
		exchange{what: x.what, ask: x.ask, code: x.code, answer: &pdu.Error{}}.run(t, c)
		got := ""
		for _, s := range z.stores {
			got += fmt.Sprintf("%s %v %v %v", s.Name, s.Inst, s.Value.Type(), s.Value)
		}
		if got != x.got {
			t.Errorf("%s: stored %q, want %q", x.what, got, x.got)
		}
	}
	for _, line := range []string{
		"client 0, whose user is unknown may not store 1 into zoo.mood: the keeper is ill",
		`may not store 2.5 into zoo.beast.weight["leo"]: Bad input to pmstore: Impossible value or scale conversion`,
		"may not store 1 into zoo.beast.legs, instance 99: Unknown or illegal instance identifier",
		"may not store 1 into zoo.broken: No permission to perform requested operation",
		"may not store into metric 444.3.999: Unknown or illegal metric identifier",
	} {
		if j.count(line+"\n") != 1 {
			t.Errorf("the log has no line %q:\n%s", line, j)
		}
	}
}

// TestRefusedStoreNames the user.
func TestRefusedStoreNames(t *testing.T) {
	z := newZoo()
	c, j := visit(t, z)
	c.Client(3, 1000, 100, 77)
	name := &pdu.Attr{Attr: pcp.AttrUserName, Value: "anna"}
	for _, x := range []struct {
		name bool
		slot int32
		line string
	}{
		{false, 3, "user 1000, process 77 may not store 1 into zoo.broken: "},
		{true, 3, "user 1000 (anna), process 77 may not store 1 into zoo.broken: "},
		{true, 4, `user "anna" may not store 1 into zoo.broken: `},
	} {
		if c.Slot = x.slot; x.name {
			c.Send(name)
		}
		exchange{what: x.line, ask: storeOf(itemBroken, pcp.InstNull, pcp.Num(int64(1))), code: pcp.ErrPermission}.run(t, c)
		if j.count(x.line) != 1 {
			t.Errorf("no line %q:\n%s", x.line, j)
		}
	}
}

// TestStoreAs hands over the value in Go's type.
func TestStoreAs(t *testing.T) {
	z := newZoo()
	var got []any
	z.agent.Metrics[itemLegs].Store = pmda.StoreAs(func(s *pmda.Store, n int32) error { got = append(got, n); return nil })
	z.agent.Metrics[itemWeight].Store = pmda.StoreAs(func(s *pmda.Store, n uint64) error { got = append(got, n); return nil })
	z.agent.Metrics[itemKind].Store = pmda.StoreAs(func(s *pmda.Store, text string) error { got = append(got, s.Inst.Name+text); return nil })
	z.agent.Metrics[itemCount].Store = pmda.StoreAs(func(*pmda.Store, int32) error { return pcp.ErrPermission })
	c, j := visit(t, z)
	for _, x := range []struct {
		name, inst string
		v          pcp.Value
		want       error
	}{
		{"zoo.beast.legs", "leo", pcp.Num(int32(-3)), nil},
		{"zoo.beast.weight", "leo", pcp.Num(2.5), nil},
		{"zoo.beast.weight", "leo", pcp.Num(-2.5), pcp.ErrBadStore},
		{"zoo.beast.kind", "leo", pcp.Str("cat"), nil},
		{"zoo.count", "", pcp.Num(uint32(1 << 31)), pcp.ErrBadStore},
		{"zoo.count", "", pcp.Num(uint32(1)), pcp.ErrPermission},
	} {
		if err := c.Store(x.name, x.inst, x.v); !errors.Is(err, x.want) && err != x.want {
			t.Errorf("%s %v: %v, want %v", x.name, x.v, err, x.want)
		}
	}
	if s := fmt.Sprint(got); s != "[-3 2 leocat]" {
		t.Errorf("stored %s", s)
	}
	if j.count("Negative value in conversion to unsigned") != 1 {
		t.Errorf("the log does not say why:\n%s", j)
	}
}

// TestStoreMany values: those before the first that is refused are stored.
func TestStoreMany(t *testing.T) {
	z := newZoo()
	c, _ := visit(t, z)
	var r pdu.Result
	for i, item := range []int{itemCount, itemCount, itemBroken, itemCount} {
		r.Sets = append(r.Sets, storeOf(item, pcp.InstNull, pcp.Num(uint32(i))).Sets...)
	}
	exchange{what: "the third of four refused", ask: &r, code: pcp.ErrPermission}.run(t, c)
	if len(z.stores) != 2 || z.stores[1].Value.Bits() != 1 {
		t.Errorf("stored %d values, want 2", len(z.stores))
	}
}

// TestClientIdentity plays clients that come and go, with and without notice.
func TestClientIdentity(t *testing.T) {
	z := newZoo()
	c, _ := visit(t, z)
	who := func() string {
		z.stores = nil
		if err := c.Store("zoo.count", "", pcp.Num(uint32(1))); err != nil || len(z.stores) != 1 {
			t.Fatalf("store: %v", err)
		}
		k := z.stores[0].Client
		return fmt.Sprintf("slot %d uid %d gid %d pid %d %q known %v", k.Slot, k.UID, k.GID, k.PID, k.Container, k.Known())
	}
	see := func(what, want string) {
		t.Helper()
		if got := who(); got != want {
			t.Errorf("%s: %s, want %s", what, got, want)
		}
	}
	unknown := func(slot int) string {
		return fmt.Sprintf(`slot %d uid -1 gid -1 pid -1 "" known false`, slot)
	}
	attr := func(slot int32, a pcp.Attr, v string) {
		c.Slot = slot
		c.Send(&pdu.Attr{Attr: a, Value: v})
	}
	see("nothing known", unknown(0))
	c.Client(3, 1000, 100, 77)
	see("all known", `slot 3 uid 1000 gid 100 pid 77 "" known true`)
	c.Slot = 0
	see("another", unknown(0))

	c.Slot = 3
	c.Client(3, 1001, 101, 78) // the slot's new client, whose predecessor's end went untold
	see("slot used again", `slot 3 uid 1001 gid 101 pid 78 "" known true`)
	attr(3, pcp.AttrProcessID, "79") // and one of whom only this is known
	see("slot used again, uid not told", `slot 3 uid -1 gid -1 pid 79 "" known false`)
	c.Gone(3)
	c.Slot = 3
	see("after its end", unknown(3))

	attr(4, pcp.AttrContainer, "box")
	attr(4, pcp.AttrUserID, "0")
	see("in a container", `slot 4 uid 0 gid -1 pid -1 "box" known true`)
	for _, bad := range []string{"", "-1", "0x0", "1 ", " 1", "99999999999999999999", "root", "0\x000"} {
		attr(5, pcp.AttrUserID, bad)
		see(fmt.Sprintf("uid %q", bad), unknown(5))
	}
}

// TestGone is told of each client once.
func TestGone(t *testing.T) {
	z := newZoo()
	c, _ := visit(t, z)
	c.Client(1, 10, 10, 10)
	c.Client(2, 20, 20, 20)
	c.Gone(1)
	c.Gone(1)
	c.Gone(7)                 // nobody
	c.Client(2, 21, 21, 21)   // in the place of 20
	c.Fetch(zooID(itemCount)) // so that all is done
	if len(z.gone) != 2 || z.gone[0].UID != 10 || z.gone[1].UID != 20 {
		t.Errorf("gone: %+v, want 10 and 20", z.gone)
	}
}

// TestClientData stays with the client.
func TestClientData(t *testing.T) {
	z := newZoo()
	var seen []any
	z.refresh = func(r *pmda.Request) {
		seen = append(seen, r.Client.Data)
		r.Client.Data = r.Client.Slot
	}
	c, _ := visit(t, z)
	for _, slot := range []int32{1, 2, 1, 2} {
		c.Slot = slot
		c.Fetch(zooID(itemCount))
	}
	c.Gone(1)
	c.Slot = 1
	c.Fetch(zooID(itemCount))
	if got := fmt.Sprint(seen); got != "[<nil> <nil> 1 2 <nil>]" {
		t.Errorf("data %s", got)
	}
}

// TestRefresh is told what is asked for, before each request that it concerns.
func TestRefresh(t *testing.T) {
	z := newZoo()
	var seen []string
	z.refresh = func(r *pmda.Request) { seen = append(seen, fmt.Sprintf("%d %v %v", r.Client.Slot, r.Fetch, r.PMIDs)) }
	c, _ := visit(t, z)
	c.Slot = 5
	for _, x := range []struct {
		ask  pdu.PDU
		want string
	}{
		{&pdu.Fetch{PMIDs: []pcp.PMID{zooID(1), 7}}, "[5 true [444.3.1 0.0.7]]"},
		{&pdu.InstanceReq{InDom: beastDom, Inst: pcp.InstNull}, "[5 false []]"},
		{&pdu.LabelReq{Kind: pcp.LabelDomain}, "[5 false []]"},
		{&pdu.Names{Names: []string{"zoo.count"}}, "[5 false []]"},
		{&pdu.IDs{PMIDs: []pcp.PMID{zooID(0)}}, "[5 false []]"},
		{&pdu.Child{}, "[5 false []]"},
		{&pdu.Traverse{}, "[5 false []]"},
		{storeOf(itemCount, pcp.InstNull, pcp.Num(uint32(1))), "[5 false []]"},
		{&pdu.DescReq{PMID: zooID(0)}, "[]"},
		{&pdu.TextReq{Ident: uint32(zooID(0)), Kind: pcp.TextPMID | pcp.TextOneLine}, "[]"},
	} {
		seen = nil
		if _, err := c.Ask(x.ask); err != nil {
			t.Errorf("%v: %v", x.ask.Type(), err)
		}
		if got := fmt.Sprint(seen); got != x.want {
			t.Errorf("%v: Refresh saw %s, want %s", x.ask.Type(), got, x.want)
		}
	}
}
