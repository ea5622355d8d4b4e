package pmda

import (
	"slices"
	"time"

	"github.com/pcp-rtime/rtime/pcp"
	"github.com/pcp-rtime/rtime/pdu"
)

// Export is what a metric exports at one moment.
type Export struct {
	Name   string
	Desc   pcp.Desc
	Err    error         // why there are no values
	Values []ExportValue // by instance name
}

// ExportValue is the value of one instance; the name is empty where there is just one.
type ExportValue struct {
	Inst  string
	Value pcp.Value
}

// Export returns what the agent exports, by metric name: the same values as a client
// of pmcd would get, over the same code. It belongs to the serving goroutine; see Do.
func (s *Server) Export() ([]Export, error) {
	list := s.table.list()
	ids := make([]pcp.PMID, len(list))
	for i, m := range list {
		ids[i] = m.desc.PMID
	}
	s.now = time.Now()
	s.profile.set(&pdu.Profile{})
	s.client = &Client{Slot: -1, UID: -1, GID: -1, PID: -1}
	if s.agent.Refresh != nil {
		s.agent.Refresh(&Request{Client: s.client, Fetch: true, PMIDs: ids})
	}
	head, tail := s.collect(ids)
	var r pdu.Result
	if err := r.Parse(slices.Concat(head, tail)); err != nil {
		return nil, err
	}
	out := make([]Export, len(list))
	for i, m := range list {
		var err error
		if out[i], err = export(m, &r.Sets[i]); err != nil {
			return nil, err
		}
	}
	slices.SortFunc(out, func(a, b Export) int { return compare(a.Name, b.Name) })
	return out, nil
}

func export(m *metric, set *pdu.ValueSet) (Export, error) {
	e := Export{Name: m.Name, Desc: m.desc}
	if set.Err != 0 {
		e.Err = set.Err
		return e, nil
	}
	for _, v := range set.Values {
		x, err := v.As(m.desc.Type)
		if err != nil {
			return e, err
		}
		name := ""
		if m.indom != nil {
			name, _ = m.indom.nameOf(v.Inst)
		}
		e.Values = append(e.Values, ExportValue{name, x})
	}
	slices.SortFunc(e.Values, func(a, b ExportValue) int { return compare(a.Inst, b.Inst) })
	return e, nil
}
