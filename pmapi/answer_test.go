package pmapi

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/pcp-rtime/rtime/pcp"
	"github.com/pcp-rtime/rtime/pdu"
)

// call is one request of each kind, and an answer to it.
type call struct {
	name   string
	do     func(r requests) (any, error)
	ask    pdu.PDU
	answer pdu.PDU
	want   string // the call's result, as fmt prints it
}

func calls() []call {
	ctx := context.Background()
	value := func(v any, err error) (any, error) { return v, err }
	return []call{
		{"names to identifiers", func(r requests) (any, error) { return r.LookupNames(ctx, "a", "b") },
			&pdu.Names{Names: []string{"a", "b"}}, &pdu.IDs{Status: 1, PMIDs: []pcp.PMID{100, pcp.PMIDNull}}, "[0.0.100 PM_ID_NULL]"},
		{"identifier to names", func(r requests) (any, error) { return r.NamesOf(ctx, 100) },
			&pdu.IDs{PMIDs: []pcp.PMID{100}}, &pdu.Names{Names: []string{"a", "b"}}, "[a b]"},
		{"children", func(r requests) (any, error) { return r.Children(ctx, "x") },
			&pdu.Child{Name: "x", Status: true}, &pdu.Names{Names: []string{"a", "b"}, Status: []int32{0, 1}}, "[{a true} {b false}]"},
		{"traverse", func(r requests) (any, error) { return r.Traverse(ctx, "x") },
			&pdu.Traverse{Name: "x"}, &pdu.Names{Names: []string{"x.a", "x.b"}}, "[x.a x.b]"},
		{"descriptor", func(r requests) (any, error) { return r.Desc(ctx, 100) },
			descReq, desc, fmt.Sprint(load.Desc)},
		{"descriptors", func(r requests) (any, error) { return r.Descs(ctx, 100, 101) },
			&pdu.DescIDs{PMIDs: []pcp.PMID{100, 101}}, &pdu.Descs{Descs: []pcp.Desc{load.Desc, reads.Desc}}, fmt.Sprint([]pcp.Desc{load.Desc, reads.Desc})},
		{"instances", func(r requests) (any, error) { return r.Instances(ctx, 7) },
			&pdu.InstanceReq{InDom: 7, Inst: pcp.InstNull}, &pdu.Instance{InDom: 7, Instances: []pcp.Instance{{ID: 3, Name: "c"}}}, "[{3 c}]"},
		{"name of an instance", func(r requests) (any, error) { return r.InstanceName(ctx, 7, 3) },
			&pdu.InstanceReq{InDom: 7, Inst: 3}, &pdu.Instance{InDom: 7, Instances: []pcp.Instance{{ID: -1, Name: "c"}}}, "c"},
		{"number of an instance", func(r requests) (any, error) { return r.LookupInstance(ctx, 7, "c") },
			&pdu.InstanceReq{InDom: 7, Inst: pcp.InstNull, Name: "c"}, &pdu.Instance{InDom: 7, Instances: []pcp.Instance{{ID: 3}}}, "3"},
		{"help", func(r requests) (any, error) { return r.Text(ctx, 100, pcp.TextHelp) },
			&pdu.TextReq{Ident: 100, Kind: pcp.TextPMID | pcp.TextHelp}, &pdu.Text{Ident: 100, Text: "long"}, "long"},
		{"help for an instance domain", func(r requests) (any, error) { return r.InDomText(ctx, 7, pcp.TextOneLine) },
			&pdu.TextReq{Ident: 7, Kind: pcp.TextInDom | pcp.TextOneLine}, &pdu.Text{Ident: 7, Text: "short"}, "short"},
		{"labels", func(r requests) (any, error) { return r.LabelSets(ctx, pcp.LabelDomain, 29) },
			&pdu.LabelReq{Ident: 29, Kind: pcp.LabelDomain}, &pdu.Label{Ident: 29, Kind: pcp.LabelDomain, Sets: []pdu.LabelSet{
				{Inst: -1, Labels: pcp.Labels{{Name: "agent", Value: "x"}}}}}, "[{-1 [{agent x false}]}]"},
		{"labels of instances", func(r requests) (any, error) { return r.InstanceLabels(ctx, 7) },
			&pdu.LabelReq{Ident: 7, Kind: pcp.LabelInstances}, &pdu.Label{Ident: 7, Kind: pcp.LabelInstances, Sets: []pdu.LabelSet{
				{Inst: 3, Labels: pcp.Labels{{Name: "l", Value: "x"}}}}}, "map[3:[{l x false}]]"},
		{"store", func(r requests) (any, error) { return value(nil, r.Store(ctx, reads, 3, pcp.Num(1.0))) },
			&pdu.Result{Sets: []pdu.ValueSet{{PMID: 101, Values: []pdu.InstValue{{Inst: 3, Value: pcp.Num(uint64(1))}}}}}, &pdu.Error{}, "<nil>"},
		{"fetch", func(r requests) (any, error) {
			var s Sample
			err := r.Fetch(ctx, &s, nil, load)
			return s.Sets, err
		}, fetchLoad, loadIs5, "[{0.0.100 PCP error 0 [{3 5}]}]"},
	}
}

// steps are the messages of a call before its answer, as pmcd sees them.
func (k *call) steps() []step {
	if k.ask == fetchLoad {
		return []step{expect(profile), expect(k.ask)}
	}
	return []step{expect(k.ask)}
}

// TestCalls: each request and its answer, as they are on the wire.
func TestCalls(t *testing.T) {
	for _, k := range calls() {
		t.Run(k.name, func(t *testing.T) {
			c := dialMock(t, append(k.steps(), send(k.answer))...)
			got, err := k.do(c.requests)
			if err != nil || fmt.Sprint(got) != k.want {
				t.Errorf("%v, %v; want %s", got, err, k.want)
			}
		})
	}
}

// TestRefused: if pmcd refuses a request, the error is pmcd's code, the connection stays,
// and the next request is served.
func TestRefused(t *testing.T) {
	for _, k := range calls() {
		if k.name == "descriptors" {
			continue // they are asked for one by one after that; see TestOneByOne
		}
		t.Run(k.name, func(t *testing.T) {
			c := dialMock(t, append(k.steps(), send(&pdu.Error{Code: pcp.ErrPermission}), expect(&pdu.Child{Status: true}), send(&pdu.Names{}))...)
			if _, err := k.do(c.requests); !errors.Is(err, pcp.ErrPermission) {
				t.Error(err)
			}
			if _, err := c.Children(context.Background(), ""); err != nil {
				t.Error(err)
			}
		})
	}
}

// TestOneByOne: if pmcd refuses a request for many descriptors, they are asked for one by
// one.
func TestOneByOne(t *testing.T) {
	c := dialMock(t, expect(&pdu.DescIDs{PMIDs: []pcp.PMID{100, 101}}), send(&pdu.Error{Code: pcp.ErrPMID}),
		expect(descReq), send(desc), expect(&pdu.DescReq{PMID: 101}), send(&pdu.Error{Code: pcp.ErrPMID}))
	descs, err := c.Descs(context.Background(), 100, 101)
	if err != nil || descs[0] != load.Desc || descs[1].PMID != pcp.PMIDNull {
		t.Errorf("%v, %v", descs, err)
	}
}

// TestOtherAnswers: an answer that belongs to another request ends the connection, whatever
// the request was.
func TestOtherAnswers(t *testing.T) {
	all := calls()
	for _, k := range all {
		for _, other := range all {
			if other.answer.Type() == k.answer.Type() {
				continue
			}
			c := dialMock(t, append(k.steps(), send(other.answer))...)
			_, err := k.do(c.requests)
			if !errors.Is(err, pdu.ErrWrongType) && !errors.Is(err, ErrProtocol) || !c.closed.Load() {
				t.Errorf("%s, answered as if it were %s: %v, closed %v", k.name, other.name, err, c.closed.Load())
			}
		}
	}
}

// TestBadAnswers: answers of the right type with contents that cannot be right.
func TestBadAnswers(t *testing.T) {
	set := func(id pcp.PMID) pdu.ValueSet { return pdu.ValueSet{PMID: id} }
	for name, tt := range map[string]struct {
		call   string
		answer pdu.PDU
	}{
		"too few identifiers":     {"names to identifiers", &pdu.IDs{PMIDs: []pcp.PMID{1}}},
		"too many identifiers":    {"names to identifiers", &pdu.IDs{PMIDs: []pcp.PMID{1, 2, 3}}},
		"children without status": {"children", &pdu.Names{Names: []string{"a"}}},
		"too few descriptors":     {"descriptors", &pdu.Descs{Descs: []pcp.Desc{load.Desc}}},
		"another instance domain": {"instances", &pdu.Instance{InDom: 8}},
		"an instance below 0":     {"instances", &pdu.Instance{InDom: 7, Instances: []pcp.Instance{{ID: -3}}}},
		"no instance":             {"name of an instance", &pdu.Instance{InDom: 7}},
		"two instances":           {"number of an instance", &pdu.Instance{InDom: 7, Instances: make([]pcp.Instance, 2)}},
		"labels of others":        {"labels", &pdu.Label{Ident: 30, Kind: pcp.LabelDomain}},
		"labels of another kind":  {"labels", &pdu.Label{Ident: 29, Kind: pcp.LabelItem}},
		"no sets":                 {"fetch", &pdu.HighresResult{}},
		"too many sets":           {"fetch", &pdu.HighresResult{Sets: []pdu.ValueSet{set(100), set(100)}}},
		"values of another":       {"fetch", &pdu.HighresResult{Sets: []pdu.ValueSet{set(101)}}},
	} {
		for _, k := range calls() {
			if k.name != tt.call {
				continue
			}
			c := dialMock(t, append(k.steps(), send(tt.answer))...)
			if _, err := k.do(c.requests); !errors.Is(err, ErrProtocol) || !c.closed.Load() {
				t.Errorf("%s: %v, closed %v", name, err, c.closed.Load())
			}
		}
	}
}

// TestNegativeNumber: if an agent gives an instance a negative number, that is an error.
func TestNegativeNumber(t *testing.T) {
	c := dialMock(t, expect(&pdu.InstanceReq{InDom: 7, Inst: pcp.InstNull, Name: "c"}),
		send(&pdu.Instance{InDom: 7, Instances: []pcp.Instance{{ID: -2}}}))
	if _, err := c.LookupInstance(context.Background(), 7, "c"); !errors.Is(err, ErrProtocol) {
		t.Error(err)
	}
}

// TestOlderPmcd: a client also works with a pmcd that has neither high resolution nor
// requests for many descriptors.
func TestOlderPmcd(t *testing.T) {
	o := mock(t, after(0, expect(profile), expect(&pdu.Fetch{PMIDs: []pcp.PMID{100}}),
		send(&pdu.Result{Sec: 1000, Usec: 7, Sets: loadIs5.Sets}),
		expect(descReq), send(desc), expect(&pdu.DescReq{PMID: 101}), send(&pdu.Error{Code: pcp.ErrPMID})))
	c, err := Dial(context.Background(), "mock", o)
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	var s Sample
	if err := c.Fetch(context.Background(), &s, nil, load); err != nil || !s.Time.Equal(time.Unix(1000, 7000)) || fmt.Sprint(s.Sets[0].Values) != "[{3 5}]" {
		t.Errorf("%+v, %v", s, err)
	}
	descs, err := c.Descs(context.Background(), 100, 101)
	if err != nil || descs[0] != load.Desc || descs[1].PMID != pcp.PMIDNull {
		t.Errorf("%v, %v", descs, err)
	}
	if _, err := c.LabelSets(context.Background(), pcp.LabelContext, 0); !errors.Is(err, ErrNotOffered) {
		t.Error(err)
	}
}

// TestHelpInstead: the one-line text replaces missing help. If there is neither, that is an
// error.
func TestHelpInstead(t *testing.T) {
	long := &pdu.TextReq{Ident: 100, Kind: pcp.TextPMID | pcp.TextHelp}
	short := &pdu.TextReq{Ident: 100, Kind: pcp.TextPMID | pcp.TextOneLine}
	c := dialMock(t, expect(long), send(&pdu.Error{Code: pcp.ErrText}), expect(short), send(&pdu.Text{Text: "short"}),
		expect(long), send(&pdu.Text{}), expect(short), send(&pdu.Text{}))
	if got, err := c.Text(context.Background(), 100, pcp.TextHelp); err != nil || got != "short" {
		t.Errorf("%q, %v", got, err)
	}
	if got, err := c.Text(context.Background(), 100, pcp.TextHelp); !errors.Is(err, pcp.ErrText) {
		t.Errorf("%q, %v", got, err)
	}
}

// TestMergedLabels: labels of all levels are merged; of labels with one name, the last is
// kept.
func TestMergedLabels(t *testing.T) {
	level := func(kind pcp.LabelType, ident uint32, labels ...pcp.Label) []step {
		return []step{expect(&pdu.LabelReq{Ident: ident, Kind: kind}),
			send(&pdu.Label{Ident: ident, Kind: kind, Sets: []pdu.LabelSet{{Inst: -1, Labels: labels}}})}
	}
	var steps []step
	steps = append(steps, level(pcp.LabelContext, 0xffffffff, pcp.Label{Name: "a", Value: "1"}, pcp.Label{Name: "z", Value: "1"})...)
	steps = append(steps, level(pcp.LabelDomain, 0, pcp.Label{Name: "a", Value: "2"})...)
	steps = append(steps, expect(&pdu.LabelReq{Ident: 7, Kind: pcp.LabelInDom}), send(&pdu.Error{Code: pcp.ErrNoLabels}))
	steps = append(steps, level(pcp.LabelCluster, 100)...)
	steps = append(steps, level(pcp.LabelItem, 100, pcp.Label{Name: "a", Value: "3"}, pcp.Label{Name: "b", Value: true})...)
	c := dialMock(t, steps...)
	got, err := c.Labels(context.Background(), load.Desc)
	if want := "[{a 3 false} {b true false} {z 1 false}]"; err != nil || fmt.Sprint(got) != want {
		t.Errorf("%v, %v; want %s", got, err, want)
	}
}

// TestPortions: if the names do not fit into one message, they are asked for in several.
func TestPortions(t *testing.T) {
	names := make([]string, 9000)
	for i := range names {
		names[i] = fmt.Sprintf("metric.number%05d", i)
	}
	asked := 0
	answer := func(m *mockConn) error {
		b, err := m.r.Next()
		if err != nil {
			return err
		}
		if len(b) > maxRequest {
			return fmt.Errorf("a message of %d bytes", len(b))
		}
		var p pdu.Names
		if err := p.Parse(b); err != nil {
			return err
		}
		ids := pdu.IDs{PMIDs: make([]pcp.PMID, len(p.Names))}
		for i, name := range p.Names {
			if name != names[asked] {
				return fmt.Errorf("%s instead of %s", name, names[asked])
			}
			ids.PMIDs[i] = pcp.PMID(asked)
			asked++
		}
		_, err = m.Write(ids.Append(nil, 0))
		return err
	}
	c := dialMock(t, answer, answer, answer, answer, expect(&pdu.Names{Names: []string{"a"}}), send(&pdu.Error{Code: pcp.ErrName}))
	ids, err := c.LookupNames(context.Background(), names...)
	if err != nil || len(ids) != len(names) || asked != len(names) {
		t.Fatalf("%d identifiers of %d, %v", len(ids), len(names), err)
	}
	for i, id := range ids {
		if id != pcp.PMID(i) {
			t.Fatalf("%s is %v", names[i], id)
		}
	}
	if ids, err := c.LookupNames(context.Background(), "a"); err != nil || ids[0] != pcp.PMIDNull {
		t.Errorf("%v, %v", ids, err)
	}
}
