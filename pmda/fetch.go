package pmda

import (
	"runtime/debug"

	"github.com/pcp-rtime/rtime/pcp"
)

// fetch answers a FETCH.
func (s *Server) fetch() {
	head, tail := s.collect(s.in.fetch.PMIDs)
	s.write(head)
	if len(tail) > 0 {
		s.write(tail)
	}
	if room := s.result.Cap(); room > s.room+growth {
		s.room = room
		go debug.FreeOSMemory()
	}
}

// growth is by how much the room for results must have grown for the agent to give
// back at once what the growing has used and left: it will not be needed again.
const growth = 1 << 20

// collect makes a RESULT with a value set for each metric, in the order given.
func (s *Server) collect(ids []pcp.PMID) (head, tail []byte) {
	s.fetches++
	s.raised, s.state = s.state, 0
	s.result.Reset(0, s.raised)
	for _, pmid := range ids {
		s.result.Begin(pmid)
		if m := s.table.metrics[pmid]; m == nil {
			s.result.Fail(pcp.ErrPMID)
		} else {
			s.values.metric = m
			m.Get.fetch(&s.values)
		}
		s.result.End()
	}
	return s.result.Bytes()
}
