package pmda_test

import (
	"bytes"
	"fmt"
	"reflect"
	"slices"
	"strings"
	"syscall"
	"testing"

	"github.com/pcp-rtime/rtime/pcp"
	"github.com/pcp-rtime/rtime/pdu"
	"github.com/pcp-rtime/rtime/pmda/pmdatest"
)

// exchange is a request and its answer, or the code that it is answered with.
type exchange struct {
	what   string
	ask    pdu.PDU
	answer pdu.PDU
	code   pcp.Error
}

func (e exchange) run(t *testing.T, c *pmdatest.Conn) {
	t.Helper()
	got, err := c.Ask(e.ask)
	switch {
	case e.code != 0:
		if err != e.code {
			t.Errorf("%s: answer %v, error %v, want %v", e.what, got, err, e.code)
		}
	case err != nil:
		t.Errorf("%s: %v", e.what, err)
	case !bytes.Equal(got.Append(nil, 0), e.answer.Append(nil, 0)):
		t.Errorf("%s: answer\n%+v, want\n%+v", e.what, got, e.answer)
	}
}

func runAll(t *testing.T, c *pmdatest.Conn, all []exchange) {
	t.Helper()
	for _, e := range all {
		e.run(t, c)
	}
}

func TestDescAndText(t *testing.T) {
	c, _ := visit(t, newZoo())
	desc := func(item int, typ pcp.Type, d pcp.InDom, sem pcp.Sem, u pcp.Units) *pdu.Desc {
		return &pdu.Desc{Desc: pcp.Desc{PMID: zooID(item), Type: typ, InDom: d, Sem: sem, Units: u}}
	}
	count, beasts := uint32(zooID(itemCount)), uint32(beastDom)
	const one, long, metric, indom = pcp.TextOneLine, pcp.TextHelp, pcp.TextPMID, pcp.TextInDom
	runAll(t, c, []exchange{
		{"desc of one value", &pdu.DescReq{PMID: zooID(itemCount)},
			desc(itemCount, pcp.TypeU32, pcp.InDomNull, pcp.SemInstant, pcp.Count), 0},
		{"desc with instances", &pdu.DescReq{PMID: zooID(itemWeight)},
			desc(itemWeight, pcp.TypeDouble, beastDom, pcp.SemInstant, pcp.None), 0},
		{"desc of Func", &pdu.DescReq{PMID: zooID(itemCustom)},
			desc(itemCustom, pcp.TypeU64, beastDom, pcp.SemInstant, pcp.None), 0},
		{"desc of events", &pdu.DescReq{PMID: zooID(itemHires)},
			desc(itemHires, pcp.TypeHighresEvent, pcp.InDomNull, pcp.SemDiscrete, pcp.None), 0},
		{"desc of bytes", &pdu.DescReq{PMID: zooID(itemBlob)},
			desc(itemBlob, pcp.TypeAggregate, pcp.InDomNull, pcp.SemInstant, pcp.None), 0},
		{"desc of an unknown metric", &pdu.DescReq{PMID: zooID(1000)}, nil, pcp.ErrPMID},
		{"desc of another domain", &pdu.DescReq{PMID: pcp.MakePMID(29, 3, itemCount)}, nil, pcp.ErrPMID},

		{"one line", &pdu.TextReq{Ident: count, Kind: one | metric}, &pdu.Text{Ident: count, Text: "how many"}, 0},
		{"long", &pdu.TextReq{Ident: count, Kind: long | metric}, &pdu.Text{Ident: count, Text: "How many\nanimals."}, 0},
		{"no long", &pdu.TextReq{Ident: uint32(zooID(itemLegs)), Kind: long | metric}, nil, pcp.ErrText},
		{"text of an unknown metric", &pdu.TextReq{Ident: 5, Kind: one | metric}, nil, pcp.ErrPMID},
		{"indom, one line", &pdu.TextReq{Ident: beasts, Kind: one | indom}, &pdu.Text{Ident: beasts, Text: "the animals"}, 0},
		{"indom, long", &pdu.TextReq{Ident: beasts, Kind: long | indom}, &pdu.Text{Ident: beasts, Text: "All animals\nthere are."}, 0},
		{"indom, no long", &pdu.TextReq{Ident: uint32(cageDom), Kind: long | indom}, nil, pcp.ErrText},
		{"text of an unknown indom", &pdu.TextReq{Ident: 5, Kind: one | indom}, nil, pcp.ErrInDom},
	})
}

func TestInstances(t *testing.T) {
	z := newZoo()
	c, j := visit(t, z)
	leo, _ := c.Lookup(beastDom, "leo")
	tweety, _ := c.Lookup(beastDom, "tweety")
	byName := func(name string) *pdu.InstanceReq {
		return &pdu.InstanceReq{InDom: beastDom, Inst: pcp.InstNull, Name: name}
	}
	one := func(id int32, name string) *pdu.Instance {
		return &pdu.Instance{InDom: beastDom, Instances: []pcp.Instance{{ID: id, Name: name}}}
	}
	runAll(t, c, []exchange{
		{"id of leo", byName("leo"), one(leo, "leo"), 0},
		{"id by the first word", byName("tweety"), one(tweety, "tweety"), 0},
		{"id by the whole name", byName("tweety 1st"), one(tweety, "tweety 1st"), 0},
		{"id by another whole name", byName("tweety 2nd"), nil, pcp.ErrGeneric}, // Add refuses it
		{"name of leo", &pdu.InstanceReq{InDom: beastDom, Inst: leo}, one(leo, "leo"), 0},
		{"name of tweety", &pdu.InstanceReq{InDom: beastDom, Inst: tweety}, one(tweety, "tweety 1st"), 0},
		{"name of an unknown id", &pdu.InstanceReq{InDom: beastDom, Inst: 1000}, nil, pcp.ErrInst},
		{"name of a negative id", &pdu.InstanceReq{InDom: beastDom, Inst: -2}, nil, pcp.ErrInst},
		{"unknown indom, all", &pdu.InstanceReq{InDom: 5, Inst: pcp.InstNull}, nil, pcp.ErrInDom},
		{"unknown indom, id", &pdu.InstanceReq{InDom: 5, Inst: 1}, nil, pcp.ErrInDom},
		{"unknown indom, name", &pdu.InstanceReq{InDom: 5, Inst: pcp.InstNull, Name: "leo"}, nil, pcp.ErrInDom},
		{"no instances", &pdu.InstanceReq{InDom: cageDom, Inst: pcp.InstNull}, &pdu.Instance{InDom: cageDom}, 0},
		{"a look-up without Lookup", &pdu.InstanceReq{InDom: cageDom, Inst: pcp.InstNull, Name: "x"}, nil, pcp.ErrInst},

		{"a look-up that adds", byName("newt"), one(tweety+leo+1, "newt"), 0}, // 0, 1, then 2
		{"a look-up with a blank", byName("newton the 2nd"), one(3, "newton the 2nd"), 0},
		{"a look-up that adds nothing", byName("nobody"), nil, pcp.ErrInst},
		{"a look-up refused", byName("barred"), nil, pcp.ErrPermission},
		{"a look-up with an errno", byName("absent"), nil, pcp.ErrnoError(syscall.ENOENT)},
		{"a look-up with another error", byName("odd"), nil, pcp.ErrGeneric},
		{"a look-up with a deadly code", byName("deadly"), nil, pcp.ErrGeneric},
		{"a look-up with code 0", byName("zero"), nil, pcp.ErrGeneric},
		{"a look-up that panics", byName("panics"), nil, pcp.ErrGeneric},
		{"a look-up of a bad name", byName("a\nb"), nil, pcp.ErrGeneric},
	})
	if !strings.Contains(j.String(), `look-up of "odd" in beasts: the keeper is ill`) {
		t.Errorf("the log does not name the look-up that failed:\n%s", j)
	}
	if strings.Contains(j.String(), "barred") {
		t.Errorf("an error that the client gets to see is logged:\n%s", j)
	}
	var names []string
	for _, i := range c.Instances(beastDom) {
		names = append(names, i.Name)
	}
	slices.Sort(names)
	if want := []string{"leo", "newt", "newton the 2nd", "tweety 1st"}; !slices.Equal(names, want) {
		t.Errorf("instances %q, want %q", names, want)
	}
}

func TestLabels(t *testing.T) {
	c, _ := visit(t, newZoo())
	leo, _ := c.Lookup(beastDom, "leo")
	tweety, _ := c.Lookup(beastDom, "tweety")
	for _, x := range []struct {
		what  string
		ident uint32
		kind  pcp.LabelType
		want  map[int32]pcp.Labels
	}{
		{"domain", zooDomain, pcp.LabelDomain, map[int32]pcp.Labels{-1: {{Name: "agent", Value: "zoo"},
			{Name: "entry", Value: 3.5, Optional: true}, {Name: "town", Value: "Ulm"}}}},
		{"indom", uint32(beastDom), pcp.LabelInDom, map[int32]pcp.Labels{-1: {{Name: "fed", Value: true}}}},
		{"cluster", uint32(zooID(0)), pcp.LabelCluster, map[int32]pcp.Labels{-1: {{Name: "wing", Value: "east"}}}},
		{"cluster with item bits", uint32(zooID(77)), pcp.LabelCluster, map[int32]pcp.Labels{-1: {{Name: "wing", Value: "east"}}}},
		{"cluster without labels", uint32(pcp.MakePMID(zooDomain, 4, 0)), pcp.LabelCluster, map[int32]pcp.Labels{}},
		{"item", uint32(zooID(itemCount)), pcp.LabelItem, map[int32]pcp.Labels{-1: {{Name: "counted", Value: "daily"}}}},
		{"item without labels", uint32(zooID(itemLegs)), pcp.LabelItem, map[int32]pcp.Labels{}},
		{"unknown item", 5, pcp.LabelItem, map[int32]pcp.Labels{}},
		{"indom without labels", uint32(cageDom), pcp.LabelInDom, map[int32]pcp.Labels{}},
		{"unknown indom", 5, pcp.LabelInDom, map[int32]pcp.Labels{}},
		{"instances", uint32(beastDom), pcp.LabelInstances, map[int32]pcp.Labels{
			leo: {{Name: "kind", Value: "lion"}}, tweety: {{Name: "kind", Value: "bird"}}}},
		{"instances without labels", uint32(cageDom), pcp.LabelInstances, map[int32]pcp.Labels{}},
		{"instances of an unknown indom", 5, pcp.LabelInstances, map[int32]pcp.Labels{}},
		{"context, which pmcd answers", 0, pcp.LabelContext, map[int32]pcp.Labels{}},
		{"an unknown kind", 0, 0x4000, map[int32]pcp.Labels{}},
	} {
		if got := c.Labels(x.ident, x.kind); !reflect.DeepEqual(got, x.want) {
			t.Errorf("%s: %+v, want %+v", x.what, got, x.want)
		}
	}
}

func TestNames(t *testing.T) {
	c, _ := visit(t, newZoo())
	ids := func(id ...pcp.PMID) *pdu.IDs { return &pdu.IDs{PMIDs: id} }
	names := func(n ...string) *pdu.Names { return &pdu.Names{Names: n} }
	runAll(t, c, []exchange{
		{"id", names("zoo.beast.legs"), ids(zooID(itemLegs)), 0},
		{"id of an unknown name", names("zoo.beast.tail"), nil, pcp.ErrName},
		{"id of a node", names("zoo.beast"), nil, pcp.ErrNonLeaf},
		{"id of the empty name", names(""), nil, pcp.ErrNonLeaf},
		{"id below a leaf", names("zoo.count.more"), nil, pcp.ErrName},
		{"ids, some unknown", names("zoo.count", "zoo.none"), &pdu.IDs{Status: 1, PMIDs: []pcp.PMID{zooID(itemCount), pcp.PMIDNull}}, 0},
		{"ids of nothing", names(), nil, pcp.ErrName},
		{"name", ids(zooID(itemLegs)), &pdu.Names{Names: []string{"zoo.beast.legs"}}, 0},
		{"name of an unknown metric", ids(zooID(999)), nil, pcp.ErrPMID},
		{"names of two", ids(zooID(itemLegs), zooID(itemCount)), nil, pcp.ErrPMID},
		{"names of none", ids(), nil, pcp.ErrPMID},
		{"children without status", &pdu.Child{Name: "zoo.beast"}, &pdu.Names{Names: []string{"kind", "legs", "weight"}}, 0},
		{"children of the root", &pdu.Child{Status: true}, &pdu.Names{Names: []string{"zoo"}, Status: []int32{1}}, 0},
		{"children of a leaf", &pdu.Child{Name: "zoo.count", Status: true}, &pdu.Names{}, 0},
		{"children of an unknown node", &pdu.Child{Name: "zoo.tree", Status: true}, &pdu.Names{}, 0},
		{"children in an empty subtree", &pdu.Child{Name: "zoo2", Status: true}, &pdu.Names{}, 0},
		{"traverse", &pdu.Traverse{Name: "zoo.beast"}, &pdu.Names{Names: []string{"zoo.beast.kind", "zoo.beast.legs", "zoo.beast.weight"}}, 0},
		{"traverse a leaf", &pdu.Traverse{Name: "zoo.count"}, &pdu.Names{Names: []string{"zoo.count"}}, 0},
		{"traverse an unknown node", &pdu.Traverse{Name: "zoo.tree"}, &pdu.Names{}, 0},
		{"traverse an empty subtree", &pdu.Traverse{Name: "zoo2"}, &pdu.Names{}, 0},
	})
	kids, leaf := c.Children("zoo")
	if i := slices.Index(kids, "beast"); i < 0 || leaf[i] {
		t.Errorf("children of zoo: %v, %v: beast is a node", kids, leaf)
	}
	if i := slices.Index(kids, "count"); i < 0 || !leaf[i] {
		t.Errorf("children of zoo: %v, %v: count is a leaf", kids, leaf)
	}
	if all := c.Names(""); len(all) != itemCage+1 {
		t.Errorf("names: %v", all)
	}
}

// TestUnasked: notices have no answer, even if they are malformed. Malformed requests have
// one that does pmcd no harm.
func TestUnasked(t *testing.T) {
	z := newZoo()
	c, j := visit(t, z)
	for _, p := range []pdu.PDU{
		&pdu.Creds{Version: 2}, &pdu.Error{Code: pcp.ErrNotConn}, &pdu.Error{}, &pdu.Error{Code: pcp.ErrGeneric},
		&pdu.Attr{Attr: pcp.AttrUserID, Value: "x"}, &pdu.Attr{Attr: 99, Value: ""}, &pdu.Attr{Attr: 0xffffffff, Value: "1"},
		&pdu.Profile{},
	} {
		c.Send(p)
	}
	answer := &pdu.Desc{Desc: pcp.Desc{PMID: zooID(itemBlob), Type: pcp.TypeAggregate, InDom: pcp.InDomNull, Sem: pcp.SemInstant}}
	exchange{"the first answer", &pdu.DescReq{PMID: zooID(itemBlob)}, answer, 0}.run(t, c)

	for _, p := range []pdu.PDU{ // of a client, or of an agent
		&pdu.HighresFetch{PMIDs: []pcp.PMID{1}}, &pdu.DescIDs{PMIDs: []pcp.PMID{1}}, &pdu.Desc{}, &pdu.Instance{},
		&pdu.Text{}, &pdu.Label{}, &pdu.Descs{}, &pdu.HighresResult{},
	} {
		exchange{fmt.Sprintf("%v", p.Type()), p, nil, pcp.ErrGeneric}.run(t, c)
	}
	exchange{"a fetch of nothing", &pdu.Fetch{}, nil, pcp.ErrGeneric}.run(t, c)
	exchange{"the last answer", &pdu.DescReq{PMID: zooID(itemBlob)}, answer, 0}.run(t, c)
	if j.count("HIGHRES_FETCH from pmcd") != 1 {
		t.Errorf("the log does not name what pmcd sent:\n%s", j)
	}
}
