package pmdatest

import (
	"errors"
	"strconv"
	"strings"
	"time"

	"github.com/pcp-rtime/rtime/pcp"
	"github.com/pcp-rtime/rtime/pdu"
)

// PMID returns the number of a metric. The agent is asked by name, as pmcd asks about
// dynamic subtrees; agents of package pmda answer this for all their metrics.
func (c *Conn) PMID(name string) (pcp.PMID, error) {
	c.t.Helper()
	p, err := c.Ask(&pdu.Names{Names: []string{name}})
	if err != nil {
		return pcp.PMIDNull, err
	}
	return as[*pdu.IDs](c, p).PMIDs[0], nil
}

// as checks that an answer is of the kind that the request asks for.
func as[P pdu.PDU](c *Conn, p pdu.PDU) P {
	c.t.Helper()
	a, ok := p.(P)
	if !ok {
		c.t.Fatalf("the agent answers with %v", p.Type())
	}
	return a
}

// Names returns the full names of all metrics at and below a node, "" for all.
func (c *Conn) Names(node string) []string {
	c.t.Helper()
	p, err := c.Ask(&pdu.Traverse{Name: node})
	if err != nil {
		c.t.Fatalf("names below %q: %v", node, err)
	}
	return as[*pdu.Names](c, p).Names
}

// Children returns the names just below a node, and for each whether it is a leaf.
func (c *Conn) Children(node string) (names []string, leaf []bool) {
	c.t.Helper()
	p, err := c.Ask(&pdu.Child{Name: node, Status: true})
	if err != nil {
		c.t.Fatalf("children of %q: %v", node, err)
	}
	a := as[*pdu.Names](c, p)
	for _, s := range a.Status {
		leaf = append(leaf, s == 0)
	}
	return a.Names, leaf
}

// NameOf returns the name of a metric.
func (c *Conn) NameOf(id pcp.PMID) (string, error) {
	c.t.Helper()
	p, err := c.Ask(&pdu.IDs{PMIDs: []pcp.PMID{id}})
	if err != nil {
		return "", err
	}
	return as[*pdu.Names](c, p).Names[0], nil
}

// Desc returns the descriptor of a metric.
func (c *Conn) Desc(name string) (pcp.Desc, error) {
	c.t.Helper()
	id, err := c.PMID(name)
	if err != nil {
		return pcp.Desc{}, err
	}
	p, err := c.Ask(&pdu.DescReq{PMID: id})
	if err != nil {
		return pcp.Desc{}, err
	}
	return as[*pdu.Desc](c, p).Desc, nil
}

// Profile restricts later fetches: to the listed instances of d, or to none of all
// the others. Without arguments it lifts all restrictions.
func (c *Conn) Profile(in ...pdu.InDomProfile) {
	c.t.Helper()
	p := &pdu.Profile{InDoms: in}
	if len(in) > 0 {
		p.Default = pdu.Exclude
	}
	c.Send(p)
}

// Fetch asks for metrics by number and returns their value sets, in the same order. It asks
// again while the answer is pcp.ErrAgain, as from an agent whose disk is slow, for Patience at
// most.
func (c *Conn) Fetch(ids ...pcp.PMID) []pdu.ValueSet {
	c.t.Helper()
	p, err := c.Ask(&pdu.Fetch{PMIDs: ids})
	for end := time.Now().Add(Patience); errors.Is(err, pcp.ErrAgain) && time.Now().Before(end); {
		time.Sleep(5 * time.Millisecond)
		p, err = c.Ask(&pdu.Fetch{PMIDs: ids})
	}
	if err != nil {
		c.t.Fatalf("fetch: %v", err)
	}
	r := as[*pdu.Result](c, p)
	if len(r.Sets) != len(ids) {
		c.t.Fatalf("fetch of %d metrics: %d value sets", len(ids), len(r.Sets))
	}
	for i, id := range ids {
		if r.Sets[i].PMID != id {
			c.t.Fatalf("fetch: value set %d is that of %v, want %v", i, r.Sets[i].PMID, id)
		}
	}
	c.State = r.Sec
	return r.Sets
}

// Values returns the values of a metric by instance name; the name of the only value
// of a metric without instances is "".
func (c *Conn) Values(name string) (map[string]pcp.Value, error) {
	c.t.Helper()
	d, err := c.Desc(name)
	if err != nil {
		return nil, err
	}
	set := c.Fetch(d.PMID)[0]
	if set.Err != 0 {
		return nil, set.Err
	}
	names := map[int32]string{pcp.InstNull: ""}
	if d.InDom != pcp.InDomNull {
		for _, i := range c.Instances(d.InDom) {
			names[i.ID] = i.Name
		}
	}
	values := make(map[string]pcp.Value, len(set.Values))
	for _, v := range set.Values {
		x, err := v.As(d.Type)
		if err != nil {
			c.t.Fatalf("%s: instance %d: %v", name, v.Inst, err)
		}
		n, ok := names[v.Inst]
		if !ok {
			n = strconv.Itoa(int(v.Inst))
		}
		values[n] = x
	}
	return values, nil
}

// Value returns one value; ErrValue where the instance has none.
func (c *Conn) Value(name, inst string) (pcp.Value, error) {
	c.t.Helper()
	all, err := c.Values(name)
	if err != nil {
		return pcp.Value{}, err
	}
	v, ok := all[inst]
	if !ok {
		return v, pcp.ErrValue
	}
	return v, nil
}

// Instances returns all instances of an instance domain.
func (c *Conn) Instances(d pcp.InDom) []pcp.Instance {
	c.t.Helper()
	p, err := c.Ask(&pdu.InstanceReq{InDom: d, Inst: pcp.InstNull})
	if err != nil {
		c.t.Fatalf("instances of %v: %v", d, err)
	}
	return as[*pdu.Instance](c, p).Instances
}

// Lookup returns the id of an instance by its name, which may create it.
func (c *Conn) Lookup(d pcp.InDom, name string) (int32, error) {
	c.t.Helper()
	p, err := c.Ask(&pdu.InstanceReq{InDom: d, Inst: pcp.InstNull, Name: name})
	if err != nil {
		return 0, err
	}
	return as[*pdu.Instance](c, p).Instances[0].ID, nil
}

// Text returns the one-line and the long help of a metric.
func (c *Conn) Text(name string) (one, long string) {
	c.t.Helper()
	id, err := c.PMID(name)
	if err != nil {
		c.t.Fatalf("help for %s: %v", name, err)
	}
	return c.text(uint32(id), pcp.TextPMID|pcp.TextOneLine), c.text(uint32(id), pcp.TextPMID|pcp.TextHelp)
}

// InDomText returns the one-line and the long help of an instance domain.
func (c *Conn) InDomText(d pcp.InDom) (one, long string) {
	c.t.Helper()
	return c.text(uint32(d), pcp.TextInDom|pcp.TextOneLine), c.text(uint32(d), pcp.TextInDom|pcp.TextHelp)
}

func (c *Conn) text(ident uint32, kind pcp.TextType) string {
	c.t.Helper()
	p, err := c.Ask(&pdu.TextReq{Ident: ident, Kind: kind})
	if err != nil {
		return ""
	}
	return as[*pdu.Text](c, p).Text
}

// Labels returns the labels of one thing; for LabelInstances, those of all instances,
// by id.
func (c *Conn) Labels(ident uint32, kind pcp.LabelType) map[int32]pcp.Labels {
	c.t.Helper()
	p, err := c.Ask(&pdu.LabelReq{Ident: ident, Kind: kind})
	if err != nil {
		c.t.Fatalf("labels of %#x: %v", ident, err)
	}
	sets := make(map[int32]pcp.Labels)
	for _, s := range as[*pdu.Label](c, p).Sets {
		sets[s.Inst] = s.Labels
	}
	return sets
}

// From a call of Client on, requests are those of another client of pmcd, whose user and
// process pmcd knows. Gone ends it.
func (c *Conn) Client(slot int32, uid, gid, pid int) {
	c.t.Helper()
	c.Slot = slot
	for _, a := range []struct {
		attr pcp.Attr
		n    int
	}{{pcp.AttrProcessID, pid}, {pcp.AttrGroupID, gid}, {pcp.AttrUserID, uid}} {
		c.Send(&pdu.Attr{Attr: a.attr, Value: strconv.Itoa(a.n)})
	}
}

// Gone tells the agent that a client has left.
func (c *Conn) Gone(slot int32) {
	c.t.Helper()
	now := c.Slot
	c.Slot = slot
	c.Send(&pdu.Error{Code: pcp.ErrNotConn})
	c.Slot = now
}

// Store stores a value into one instance of a metric, by name; "" where there is
// just one value. The value is converted to the metric's type.
func (c *Conn) Store(name, inst string, v pcp.Value) error {
	c.t.Helper()
	d, err := c.Desc(name)
	if err != nil {
		return err
	}
	id := pcp.InstNull
	if inst != "" {
		if id, err = c.Lookup(d.InDom, inst); err != nil {
			return err
		}
	}
	if v, err = v.Convert(d.Type); err != nil {
		return err
	}
	_, err = c.Ask(&pdu.Result{Sets: []pdu.ValueSet{{PMID: d.PMID, Values: []pdu.InstValue{{Inst: id, Value: v}}}}})
	return err
}

// Dump returns everything that an agent exports below a node as text: for each metric
// its name, descriptor, help and values. Tests compare it with a golden file.
func (c *Conn) Dump(node string) string {
	c.t.Helper()
	var b strings.Builder
	for _, name := range c.Names(node) {
		c.dump(&b, name)
	}
	return b.String()
}
