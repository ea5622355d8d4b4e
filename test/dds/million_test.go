package dds

import (
	"fmt"
	"net"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/pcp-rtime/rtime/pcp"
	"github.com/pcp-rtime/rtime/pdu"
	"github.com/pcp-rtime/rtime/spmi"
	"github.com/pcp-rtime/rtime/test/pcptest"
)

const (
	millionSuppliers = 100
	millionContexts  = 500 // of each supplier
	millionStats     = 20  // of each context
	million          = millionSuppliers * millionContexts * millionStats
)

// twenty are the statistics of a context.
type twenty struct {
	A, B, C, D, E, F, G, H, I, J, K, L, M, N, O, P, Q, R, S, T spmi.Quantity
}

func (v *twenty) list() [millionStats]*spmi.Quantity {
	return [millionStats]*spmi.Quantity{&v.A, &v.B, &v.C, &v.D, &v.E, &v.F, &v.G, &v.H, &v.I, &v.J,
		&v.K, &v.L, &v.M, &v.N, &v.O, &v.P, &v.Q, &v.R, &v.S, &v.T}
}

// TestMillion: a million statistics of one user, within the default limits except that for
// the agent's memory. Each has another value, and one fetch through pmcd returns every one
// of them.
func TestMillion(t *testing.T) {
	p := pcptest.New(t, pcptest.Options{
		Args: []string{"-t", "60"}, // how long pmcd waits for an agent
		Agents: []pcptest.Agent{{Name: name, Domain: domain, Program: program(t),
			Args: []string{"--config", "../dds.conf", "--dir", "../run/dds"}}}})
	p.WriteFile("dds.conf", "maxmemory 200000000\n")
	p.StartPmcd()
	for i := range millionSuppliers {
		supplyMany(t, p.Path("run/dds"), i)
	}
	is(t, p, "rtime.dds.agent.statistics", "", strconv.Itoa(million))
	is(t, p, "rtime.dds.agent.refused", "", "0")

	c := dialPmcd(t, p)
	names := c.do(&pdu.Traverse{Name: "dds.million"}).(*pdu.Names).Names
	ids := c.do(&pdu.Names{Names: names}).(*pdu.IDs).PMIDs
	if len(names) != millionSuppliers*millionStats || len(ids) != len(names) {
		t.Fatalf("%d names, %d numbers", len(names), len(ids))
	}
	insts := make(map[pcp.InDom]map[int32]int) // to the number in the context's name
	var in []map[int32]int                     // those of each metric
	for _, id := range ids {
		d := c.do(&pdu.DescReq{PMID: id}).(*pdu.Desc).Desc.InDom
		if insts[d] == nil {
			insts[d] = make(map[int32]int)
			for _, one := range c.do(&pdu.InstanceReq{InDom: d, Inst: pcp.InstNull}).(*pdu.Instance).Instances {
				insts[d][one.ID] = number(t, one.Name)
			}
		}
		in = append(in, insts[d])
	}
	if _, err := c.w.Write((&pdu.Profile{}).Append(nil, 0)); err != nil {
		t.Fatal(err)
	}
	seen := 0
	for i, set := range c.do(&pdu.Fetch{PMIDs: ids}).(*pdu.Result).Sets {
		part := strings.Split(names[i], ".") // dds.million.sN.a
		s, v := number(t, part[2]), int(part[3][0]-'a')
		if set.PMID != ids[i] || set.Err != 0 || len(set.Values) != millionContexts || len(in[i]) != millionContexts {
			t.Fatalf("%s: %v, error %v, %d values, %d instances", names[i], set.PMID, set.Err, len(set.Values), len(in[i]))
		}
		got := make(map[int]bool, millionContexts)
		for _, value := range set.Values {
			n, there := in[i][value.Inst]
			if x, err := value.Value.Int64(); !there || got[n] || err != nil || x != millionth(s, n, v) {
				t.Fatalf("%s of context %d: %v %v, want %d", names[i], n, value.Value, err, millionth(s, n, v))
			}
			got[n] = true
			seen++
		}
	}
	if seen != million {
		t.Errorf("%d values", seen)
	}
}

// millionth returns the value of a statistic. No other has the same.
func millionth(supplier, context, stat int) int64 {
	return int64((supplier*millionContexts+context)*millionStats + stat + 1)
}

// number returns the number in a name such as s7.
func number(t *testing.T, name string) int {
	t.Helper()
	n, err := strconv.Atoi(name[1:])
	if err != nil {
		t.Fatal(err)
	}
	return n
}

// supplyMany opens a supplier with all its contexts.
func supplyMany(t *testing.T, dir string, number int) {
	t.Helper()
	path := fmt.Sprintf("DDS/million/s%d", number)
	s, err := spmi.Open(spmi.Options{Dir: dir, Name: fmt.Sprintf("s%d", number), Volatile: []*spmi.Context{
		{Path: path + "/any", Values: (*twenty)(nil)}}}, &spmi.Context{Path: "DDS/million"}, &spmi.Context{Path: path})
	if err != nil || s.Err() != nil {
		t.Fatal(number, err, s.Err())
	}
	t.Cleanup(func() { s.Close() })
	for n := range millionContexts {
		v := new(twenty)
		if err := s.Add(&spmi.Context{Path: fmt.Sprintf("%s/c%d", path, n), Values: v}); err != nil {
			t.Fatal(number, n, err)
		}
		for i, q := range v.list() {
			q.Set(millionth(number, n, i))
		}
	}
}

// dialPmcd connects to pmcd as a client does.
func dialPmcd(t *testing.T, p *pcptest.PCP) *ask {
	t.Helper()
	conn, err := net.Dial("tcp", net.JoinHostPort("127.0.0.1", strconv.Itoa(p.Port())))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { conn.Close() })
	if err := conn.SetDeadline(time.Now().Add(2 * time.Minute)); err != nil {
		t.Fatal(err)
	}
	c := &ask{b: t, w: conn, r: pdu.NewReader(conn, 0)}
	raw, err := c.r.Next()
	if err != nil {
		t.Fatal(err)
	}
	var hello pdu.Greeting
	if err := hello.Parse(raw); err != nil || hello.Code < 0 {
		t.Fatal(err, hello.Code)
	}
	if _, err := conn.Write((&pdu.Creds{Version: 2}).Append(nil, 0)); err != nil {
		t.Fatal(err)
	}
	return c
}
