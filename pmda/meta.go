package pmda

import (
	"fmt"

	"github.com/pcp-rtime/rtime/pcp"
	"github.com/pcp-rtime/rtime/pdu"
)

// desc answers a DESC_REQ.
func (s *Server) desc(p *pdu.DescReq) {
	m := s.table.metrics[p.PMID]
	if m == nil {
		s.send(&pdu.Error{Code: pcp.ErrPMID})
		return
	}
	s.send(&pdu.Desc{Desc: m.desc})
}

// text answers a TEXT_REQ. If there is no long text, the client itself falls back on the
// short one.
func (s *Server) text(p *pdu.TextReq) {
	var one, long string
	if p.Kind&pcp.TextInDom != 0 {
		d := s.table.indoms[pcp.InDom(p.Ident)]
		if d == nil {
			s.send(&pdu.Error{Code: pcp.ErrInDom})
			return
		}
		one, long = d.help()
	} else {
		m := s.table.metrics[pcp.PMID(p.Ident)]
		if m == nil {
			s.send(&pdu.Error{Code: pcp.ErrPMID})
			return
		}
		one, long = m.OneLine, m.Help
	}
	if p.Kind&pcp.TextHelp != 0 {
		one = long
	}
	if one == "" {
		s.send(&pdu.Error{Code: pcp.ErrText})
		return
	}
	s.send(&pdu.Text{Ident: p.Ident, Text: one})
}

// instance answers an INSTANCE_REQ in its three forms.
func (s *Server) instance(p *pdu.InstanceReq) {
	d := s.table.indoms[p.InDom]
	if d == nil {
		s.send(&pdu.Error{Code: pcp.ErrInDom})
		return
	}
	switch {
	case p.Name != "":
		id, err := s.instanceID(d, p.Name)
		if err != nil {
			s.fail(err, fmt.Sprintf("look-up of %q in %s", p.Name, d.title()))
			return
		}
		s.one(p.InDom, pcp.Instance{ID: id, Name: p.Name})
	case p.Inst != pcp.InstNull:
		name, ok := d.nameOf(p.Inst)
		if !ok {
			s.send(&pdu.Error{Code: pcp.ErrInst})
			return
		}
		s.one(p.InDom, pcp.Instance{ID: p.Inst, Name: name})
	default:
		s.send(&pdu.Instance{InDom: p.InDom, Instances: d.instances()})
	}
}

func (s *Server) one(d pcp.InDom, i pcp.Instance) {
	s.send(&pdu.Instance{InDom: d, Instances: []pcp.Instance{i}})
}

// instanceID finds an instance by name, after the agent had the chance to create it.
func (s *Server) instanceID(d domain, name string) (int32, error) {
	if id, ok := d.idOf(name); ok {
		return id, nil
	}
	if err := d.lookup(s.client, name); err != nil {
		return 0, err
	}
	if id, ok := d.idOf(name); ok {
		return id, nil
	}
	return 0, pcp.ErrInst
}

// labels answers a LABEL_REQ. What the agent does not know has no labels.
func (s *Server) labels(p *pdu.LabelReq) {
	answer := &pdu.Label{Ident: p.Ident, Kind: p.Kind}
	if p.Kind == pcp.LabelInstances {
		if d := s.table.indoms[pcp.InDom(p.Ident)]; d != nil {
			for _, l := range d.instanceLabels() {
				answer.Sets = append(answer.Sets, pdu.LabelSet{Inst: l.inst, Labels: l.labels})
			}
		}
	} else if l := s.labelsOf(p); len(l) > 0 {
		answer.Sets = []pdu.LabelSet{{Inst: pcp.InstNull, Labels: l}}
	}
	s.send(answer)
}

func (s *Server) labelsOf(p *pdu.LabelReq) pcp.Labels {
	switch p.Kind {
	case pcp.LabelDomain:
		return s.agent.domainLabels()
	case pcp.LabelInDom:
		if d := s.table.indoms[pcp.InDom(p.Ident)]; d != nil {
			return d.labels()
		}
	case pcp.LabelCluster:
		return s.agent.ClusterLabels[pcp.PMID(p.Ident).Cluster()]
	case pcp.LabelItem:
		if m := s.table.metrics[pcp.PMID(p.Ident)]; m != nil {
			return m.Labels
		}
	}
	return nil
}

// store stores the values of a request one by one, up to the first that is refused.
func (s *Server) store() error {
	for i := range s.in.store.Sets {
		set := &s.in.store.Sets[i]
		m := s.table.metrics[set.PMID]
		if m == nil {
			s.complain("%v may not store into metric %v: %v", s.client, set.PMID, pcp.ErrPMID)
			return pcp.ErrPMID
		}
		for _, v := range set.Values {
			if err := s.storeOne(m, v); err != nil {
				return err
			}
		}
	}
	return nil
}

// storeOne stores a value, or logs why it was refused.
func (s *Server) storeOne(m *metric, v pdu.InstValue) error {
	inst := pcp.Instance{ID: pcp.InstNull}
	where := m.Name
	refuse := func(err error) error {
		s.complain("%v may not store %v into %s: %v", s.client, v.Value, where, err)
		return err
	}
	if m.indom != nil {
		name, ok := m.indom.nameOf(v.Inst)
		inst = pcp.Instance{ID: v.Inst, Name: name}
		where = fmt.Sprintf("%s[%q]", m.Name, name)
		if !ok {
			where = fmt.Sprintf("%s, instance %d", m.Name, v.Inst)
			return refuse(pcp.ErrInst)
		}
	}
	if m.Store == nil {
		return refuse(pcp.ErrPermission)
	}
	value, err := v.As(m.desc.Type)
	if err != nil {
		return refuse(fmt.Errorf("%w: %w", pcp.ErrBadStore, err))
	}
	v.Value = value
	if err := m.Store(&Store{Client: s.client, Name: m.Name, Inst: inst, Value: value}); err != nil {
		return refuse(err)
	}
	return nil
}

// namesToIDs answers a NAMES that asks for identifiers.
func (s *Server) namesToIDs(p *pdu.Names) {
	answer := &pdu.IDs{}
	var last error = pcp.ErrName
	for _, name := range p.Names {
		pmid, err := s.table.names.Lookup(name)
		if err != nil {
			pmid, last = pcp.PMIDNull, err
		} else {
			answer.Status++
		}
		answer.PMIDs = append(answer.PMIDs, pmid)
	}
	if answer.Status == 0 {
		s.send(&pdu.Error{Code: pdu.SafeCode(last)}) // clients often ask for names that do not exist
		return
	}
	if len(p.Names) == 1 {
		answer.Status = 0 // as libpcp's agents answer
	}
	s.send(answer)
}

// idsToNames answers an IDS that asks for names.
func (s *Server) idsToNames(p *pdu.IDs) {
	if len(p.PMIDs) == 1 {
		if m := s.table.metrics[p.PMIDs[0]]; m != nil {
			s.send(&pdu.Names{Names: []string{m.Name}})
			return
		}
	}
	s.send(&pdu.Error{Code: pcp.ErrPMID})
}

// children answers a CHILD with the names just below a node; an unknown node has none.
func (s *Server) children(p *pdu.Child) {
	answer := &pdu.Names{}
	below, err := s.table.names.Children(p.Name)
	if err != nil {
		below = nil
	}
	for _, c := range below {
		answer.Names = append(answer.Names, c.Name)
		if p.Status {
			status := int32(0)
			if !c.Leaf {
				status = 1
			}
			answer.Status = append(answer.Status, status)
		}
	}
	s.send(answer)
}

// traverse answers a TRAVERSE with all names at and below a node. If there are none the
// list is empty, because in PCP 7 an error would end the client's whole traversal.
func (s *Server) traverse(p *pdu.Traverse) {
	answer := &pdu.Names{}
	leaves, err := s.table.names.Traverse(p.Name)
	if err != nil {
		leaves = nil
	}
	for _, l := range leaves {
		answer.Names = append(answer.Names, l.Name)
	}
	s.send(answer)
}
