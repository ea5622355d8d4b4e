package pmda

import "github.com/pcp-rtime/rtime/pcp"

// fetch answers a FETCH: a value set for each metric asked for, in the same order.
func (s *Server) fetch() {
	s.fetches++
	s.result.Reset(0, s.state)
	s.state = 0
	for _, pmid := range s.in.fetch.PMIDs {
		s.result.Begin(pmid)
		if m := s.table.metrics[pmid]; m == nil {
			s.result.Fail(pcp.ErrPMID)
		} else {
			s.values.metric = m
			m.Get.fetch(&s.values)
		}
		s.result.End()
	}
	head, tail := s.result.Bytes()
	s.write(head)
	if len(tail) > 0 {
		s.write(tail)
	}
}
