package pmdatest_test

import (
	"fmt"
	"io"
	"runtime"
	"strings"
	"testing"

	"github.com/pcp-rtime/rtime/pcp"
	"github.com/pcp-rtime/rtime/pdu"
	"github.com/pcp-rtime/rtime/pmda"
	"github.com/pcp-rtime/rtime/pmda/pmdatest"
)

// shop is a small agent.
func shop() *pmda.Agent {
	goods := &pmda.InDom[*float64]{Serial: 4, Name: "goods", OneLine: "goods", Help: "All goods.",
		InstanceLabels: func(*float64) pcp.Labels { return pcp.Labels{{Name: "fresh", Value: true}} }}
	return &pmda.Agent{Name: "shop", Domain: 300,
		Start: func(*pmda.Server) error {
			for i, name := range []string{"apple", "brown bread"} {
				price := float64(i) + 0.5
				if _, err := goods.Add(name, &price); err != nil {
					return err
				}
			}
			return nil
		},
		Metrics: []pmda.Metric{
			{Name: "shop.open", Item: 0, Sem: pcp.SemDiscrete, OneLine: "whether it is open", Help: "At length.",
				Get: pmda.Value(func() (uint32, error) { return 1, nil })},
			{Name: "shop.goods.price", Item: 1, Sem: pcp.SemInstant, OneLine: "price",
				Get: pmda.Per(goods, func(p *float64) (float64, bool) { return *p, true }),
				Store: func(s *pmda.Store) error {
					if s.Client.UID != 0 {
						return pcp.ErrPermission
					}
					p, _ := goods.Get(s.Inst.Name)
					f, err := s.Value.Float64()
					*p = f
					return err
				}},
			{Name: "shop.shut", Item: 2, Sem: pcp.SemInstant, OneLine: "never there",
				Get: pmda.Value(func() (string, error) { return "", pcp.ErrAppVersion })},
		}}
}

func TestDump(t *testing.T) {
	c := pmdatest.Start(t, shop())
	want := `shop.goods.price 300.0.1 DOUBLE 300.4 instant "": price
	[apple] 0.5
	[brown bread] 1.5
shop.open 300.0.0 U32 PM_INDOM_NULL discrete "": whether it is open
	[] 1
shop.shut 300.0.2 STRING PM_INDOM_NULL instant "": never there
	Metric not supported by this version of monitored application
`
	if got := c.Dump(""); got != want {
		t.Errorf("Dump:\n%swant\n%s", got, want)
	}
	if got := c.Dump("shop.open"); !strings.HasPrefix(want[strings.Index(want, "shop.open"):], got) || got == "" {
		t.Errorf("Dump of one metric:\n%s", got)
	}
	if c.Creds.Version != 2 {
		t.Errorf("creds %+v", c.Creds)
	}
}

func TestQuestions(t *testing.T) {
	c := pmdatest.Start(t, shop())
	indom := pcp.MakeInDom(300, 4)
	if _, err := c.PMID("shop.none"); err != pcp.ErrName {
		t.Errorf("PMID of an unknown name: %v", err)
	}
	if n, err := c.NameOf(pcp.MakePMID(300, 0, 2)); n != "shop.shut" || err != nil {
		t.Errorf("NameOf: %q, %v", n, err)
	}
	if _, err := c.NameOf(5); err != pcp.ErrPMID {
		t.Errorf("NameOf of an unknown number: %v", err)
	}
	if _, err := c.Desc("shop"); err != pcp.ErrNonLeaf {
		t.Errorf("Desc of a node: %v", err)
	}
	if one, long := c.Text("shop.open"); one != "whether it is open" || long != "At length." {
		t.Errorf("Text: %q, %q", one, long)
	}
	if one, long := c.Text("shop.shut"); one != "never there" || long != "" {
		t.Errorf("Text without a long one: %q, %q", one, long)
	}
	if one, long := c.InDomText(indom); one != "goods" || long != "All goods." {
		t.Errorf("InDomText: %q, %q", one, long)
	}
	if names, leaf := c.Children("shop"); fmt.Sprint(names, leaf) != "[goods open shut] [false true true]" {
		t.Errorf("Children: %v, %v", names, leaf)
	}
	if l := c.Labels(uint32(indom), pcp.LabelInstances); len(l) != 2 || l[0][0].Name != "fresh" {
		t.Errorf("Labels: %v", l)
	}
	if v, err := c.Value("shop.goods.price", "brown bread"); err != nil || v.String() != "1.5" {
		t.Errorf("Value: %v, %v", v, err)
	}
	if _, err := c.Value("shop.goods.price", "cheese"); err != pcp.ErrValue {
		t.Errorf("Value of an unknown instance: %v", err)
	}
	if _, err := c.Values("shop.shut"); err != pcp.ErrAppVersion {
		t.Errorf("Values of a metric that fails: %v", err)
	}
	apple, err := c.Lookup(indom, "apple")
	if err != nil {
		t.Error(err)
	}
	c.Profile(pdu.InDomProfile{InDom: indom, State: pdu.Exclude, List: []int32{apple}})
	if v, err := c.Values("shop.goods.price"); err != nil || len(v) != 1 || v["apple"].String() != "0.5" {
		t.Errorf("Values under a profile: %v, %v", v, err)
	}
	c.Profile()
	if v, _ := c.Values("shop.goods.price"); len(v) != 2 {
		t.Errorf("Values without a profile: %v", v)
	}
}

func TestStore(t *testing.T) {
	c := pmdatest.Start(t, shop())
	price := pcp.Num(int32(9)) // is converted
	if err := c.Store("shop.goods.price", "apple", price); err != pcp.ErrPermission {
		t.Errorf("by nobody known: %v", err)
	}
	c.Client(3, 0, 0, 1)
	if err := c.Store("shop.goods.price", "apple", price); err != nil {
		t.Errorf("by root: %v", err)
	}
	if v, err := c.Value("shop.goods.price", "apple"); err != nil || v.String() != "9" {
		t.Errorf("price %v, %v", v, err)
	}
	c.Gone(3)
	if err := c.Store("shop.goods.price", "apple", price); err != pcp.ErrPermission || c.Slot != 3 {
		t.Errorf("by a slot that was root's: %v, slot %d", err, c.Slot)
	}
	for _, x := range []struct {
		name, inst string
		v          pcp.Value
		want       error
	}{
		{"shop.none", "", price, pcp.ErrName},
		{"shop.goods.price", "cheese", price, pcp.ErrInst},
		{"shop.goods.price", "apple", pcp.Str("9"), pcp.ErrConv},
		{"shop.open", "", price, pcp.ErrPermission},
	} {
		if err := c.Store(x.name, x.inst, x.v); err != x.want {
			t.Errorf("%s[%s] = %v: %v, want %v", x.name, x.inst, x.v, err, x.want)
		}
	}
}

// failure is a test that notes how it fails instead of failing.
type failure struct {
	testing.TB
	text string
}

func (f *failure) Helper() {}

func (f *failure) Fatalf(format string, args ...any) {
	f.text = fmt.Sprintf(format, args...)
	runtime.Goexit()
}

// TestBrokenAgents: what an agent does wrong ends its test.
func TestBrokenAgents(t *testing.T) {
	creds := (&pdu.Creds{Version: 2}).Append(nil, 0)
	for _, x := range []struct {
		says []byte
		want string
	}{
		{nil, "reading from the agent: EOF"},
		{(&pdu.Error{}).Append(nil, 0), "does not begin with CREDS"},
		{append(creds[:20:20], 0, 0, 0, 16), "reading from the agent: unexpected EOF"},
		{append(creds[:20:20], (&pdu.Desc{}).Append(nil, 0)...), "answers with DESC"},
		{append(creds[:20:20], (&pdu.Result{}).Append(nil, 0)...), "1 metrics: 0 value sets"},
		{append(creds[:20:20], (&pdu.Result{Sets: []pdu.ValueSet{{PMID: 6}}}).Append(nil, 0)...), "is that of 0.0.6, want 0.0.5"},
		{append(creds[:20:20], (&pdu.Error{Code: pcp.ErrPMID}).Append(nil, 0)...), pcp.ErrPMID.Error()},
		{append(creds[:20:20], 0, 0, 0, 16, 0, 0, 0x70, 1, 0, 0, 0, 0, 0, 0, 0, 0), "the agent sent"},
	} {
		near, far := pmdatest.Pipe(t)
		go func() {
			far.Write(x.says)
			io.CopyN(io.Discard, far, 20+32) // CREDS and FETCH
			far.Close()
		}()
		f := &failure{TB: t}
		done := make(chan struct{})
		go func() {
			defer close(done)
			pmdatest.Connect(f, near).Fetch(5)
		}()
		if x.says == nil {
			far.Close()
		}
		<-done
		near.Close()
		if !strings.Contains(f.text, x.want) {
			t.Errorf("an agent that says %x: %q, want %q", x.says, f.text, x.want)
		}
	}
}
