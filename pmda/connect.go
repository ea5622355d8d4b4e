package pmda

import (
	"io"

	"github.com/pcp-rtime/rtime/pcp"
	"github.com/pcp-rtime/rtime/pdu"
)

func (s *Server) connect(conn io.ReadWriteCloser) {
	s.conn = conn
	s.cut.set(conn)
	s.profile.set(&pdu.Profile{})
	s.forgetClients()
	s.ready = s.agent.Warm == nil
	if !s.greeted {
		s.hello()
	}
	s.greeted = false
	switch {
	case s.agent.Warm == nil:
	case s.warmed:
		s.Ready()
	case !s.warming:
		s.warming = true
		go s.warm()
	}
}

// greet sends pmcd the first word at once. pmcd waits three seconds for it when it starts
// an agent, and Start may take longer. Serve takes the connection later.
func (s *Server) greet(conn io.ReadWriteCloser) {
	s.conn = conn
	s.hello()
	s.conn, s.greeted = nil, true
}

// hello says which protocol the agent speaks.
func (s *Server) hello() {
	c := &pdu.Creds{Version: 2}
	if !s.agent.Anonymous {
		c.Flags = pcp.FeatureAuth
	}
	s.send(c)
}

// warm runs once, even if the connection ends meanwhile.
func (s *Server) warm() {
	if err := s.agent.Warm(); err != nil {
		s.log.Printf("starting: %v", err)
	}
	s.queue.do(func() { s.warmed = true })
	s.Ready()
}

// Ready has the agent answer again, after Warm has ended or after a function of an
// anonymous agent has returned pcp.ErrPMDANotReady. Any goroutine may call it.
func (s *Server) Ready() {
	s.queue.do(func() {
		if s.ready {
			return // pmcd would take it for an answer, and drop the agent
		}
		s.ready = true
		if s.agent.Anonymous {
			s.send(&pdu.Error{Code: pcp.ErrPMDAReady})
		}
	})
}

func (s *Server) disconnect() {
	if s.conn != nil {
		s.conn.Close()
		s.conn = nil
		s.cut.set(nil)
	}
}
