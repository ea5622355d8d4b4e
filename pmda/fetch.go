package pmda

import (
	"runtime/debug"

	"github.com/pcp-rtime/rtime/pcp"
)

// fetch answers a FETCH.
func (s *Server) fetch() {
	head, tail := s.collect(s.in.fetch.PMIDs)
	if !s.tell(head, tail) {
		s.state |= s.raised
	}
	if room := s.result.Cap(); room > s.room+growth {
		s.room = room
		go debug.FreeOSMemory()
	}
}

// growth is how much the room for results must have grown, in bytes, for the agent to give
// the room that it has left behind back to the system at once.
const growth = 1 << 20

// collect makes a RESULT with a value set for each metric, in the order given.
func (s *Server) collect(ids []pcp.PMID) (head, tail []byte) {
	s.fetches++
	s.raised, s.state = s.state, 0
	s.result.Reset(0, s.raised)
	for _, pmid := range ids {
		s.result.Begin(pmid)
		m := s.table.metrics[pmid]
		switch {
		case m == nil:
			s.result.Fail(pcp.ErrPMID)
		case s.excessive(m):
			s.result.Fail(pcp.ErrTooBig)
		default:
			s.get(m)
		}
		s.result.End()
	}
	return s.result.Bytes()
}

// get asks a metric for its values. If that panics, the metric has none.
func (s *Server) get(m *metric) {
	defer s.surviveGet(m)
	s.values.metric = m
	m.Get.fetch(&s.values)
}

func (s *Server) surviveGet(m *metric) {
	if bad := recover(); bad != nil {
		s.panicked("fetch of "+m.Name, bad)
		s.result.Fail(pcp.ErrGeneric)
	}
}

// A client can ask for the same metric thousands of times in one fetch of a few kilobytes,
// which are gigabytes where there are many instances. No honest client does.
const (
	maxRepeats = 4
	maxResult  = 512 << 20 // bytes
)

// excessive counts how often a metric is asked for in the present fetch.
func (s *Server) excessive(m *metric) bool {
	if m.fetch != s.fetches {
		m.fetch, m.times = s.fetches, 0
	}
	m.times++
	return m.times > maxRepeats || s.result.Len() > maxResult
}
