package pmda

import (
	"errors"
	"runtime/debug"
	"time"

	"github.com/pcp-rtime/rtime/pcp"
	"github.com/pcp-rtime/rtime/pdu"
)

// messages holds the requests that come often, so that reading one allocates nothing.
type messages struct {
	fetch   pdu.Fetch
	profile pdu.Profile
	store   pdu.Result
}

// handle deals with one PDU from pmcd.
func (s *Server) handle(b []byte) {
	h, err := pdu.ParseHeader(b)
	if err != nil {
		s.protocol(err)
		return
	}
	if s.opts.Debug["pdu"] {
		s.log.Printf("recv %x", b)
	}
	s.client = s.clients[h.From]
	if s.opts.Debug["libpmda"] {
		s.trace(h)
	}
	defer s.survive(h.Type)
	if !s.ready && answered(h.Type) {
		s.notYet(h.Type)
		return
	}
	switch h.Type {
	case pdu.TypeFetch:
		if err = s.in.fetch.Parse(b); err == nil {
			s.begin(h.From, true)
			s.fetch()
		}
	case pdu.TypeProfile:
		if err = s.in.profile.Parse(b); err == nil {
			s.profile.set(&s.in.profile)
		}
	case pdu.TypeResult:
		if err = s.in.store.Parse(b); err == nil {
			s.begin(h.From, false)
			s.done(s.store())
		}
	default:
		var p pdu.PDU
		if p, err = pdu.Decode(b); err == nil {
			s.answer(p, h.From)
		}
	}
	if err != nil {
		s.refuse(h.Type, err)
	}
}

// trace writes a line for a PDU from pmcd.
func (s *Server) trace(h pdu.Header) {
	s.log.Printf("%v of %d bytes for client %d (%v)", h.Type, h.Len, h.From, s.client)
}

// notYet answers a request while the agent is not ready. The name space is empty until
// then. It is not an error, because in PCP 7 an error would end a client's whole traversal.
func (s *Server) notYet(t pdu.Type) {
	switch t {
	case pdu.TypeChild, pdu.TypeTraverse:
		s.send(&pdu.Names{})
	default:
		s.send(&pdu.Error{Code: pcp.ErrAgain})
	}
}

// answer deals with the requests that come seldom.
func (s *Server) answer(p pdu.PDU, from int32) {
	switch p := p.(type) {
	case *pdu.Creds: // pmcd's answer to ours
	case *pdu.Error:
		if p.Code == pcp.ErrNotConn {
			s.gone(from)
		}
	case *pdu.Attr:
		s.attr(p, from)
	case *pdu.DescReq:
		s.desc(p)
	case *pdu.TextReq:
		s.text(p)
	case *pdu.InstanceReq:
		s.begin(from, false)
		s.instance(p)
	case *pdu.LabelReq:
		s.begin(from, false)
		s.labels(p)
	case *pdu.Names:
		s.begin(from, false)
		s.namesToIDs(p)
	case *pdu.IDs:
		s.begin(from, false)
		s.idsToNames(p)
	case *pdu.Child:
		s.begin(from, false)
		s.children(p)
	case *pdu.Traverse:
		s.begin(from, false)
		s.traverse(p)
	default:
		s.refuse(p.Type(), errors.New("pmcd sends no such request to an agent"))
	}
}

// survive keeps a panic in a function of the agent from ending the agent: only the request
// fails. Functions are called before the answer is written, so the request still waits
// for its answer.
func (s *Server) survive(t pdu.Type) {
	bad := recover()
	if bad == nil {
		return
	}
	s.panicked(t.String(), bad)
	if t == pdu.TypeFetch {
		s.state |= s.raised
	}
	if answered(t) {
		s.send(&pdu.Error{Code: pcp.ErrGeneric})
	}
}

// panicked logs a panic. A metric that panics does so at every fetch. So the lines for one
// place are limited, and the stack of each place is logged once, for up to maxStacks
// places.
func (s *Server) panicked(where string, bad any) {
	s.panics.Printf(where, "%s: panic: %v", where, bad)
	if len(s.stacks) < maxStacks && !s.stacks[where] {
		s.stacks[where] = true
		s.log.Printf("%s", debug.Stack())
	}
}

// maxStacks is how many stacks of panics are logged.
const maxStacks = 100

// answered reports whether pmcd waits for an answer to a PDU of this type.
func answered(t pdu.Type) bool {
	switch t {
	case pdu.TypeProfile, pdu.TypeAttr, pdu.TypeError, pdu.TypeCreds:
		return false
	}
	return true
}

// begin lets the agent bring itself up to date.
func (s *Server) begin(from int32, fetch bool) {
	s.now = time.Now()
	if s.client == nil {
		s.client = s.newClient(from)
	}
	if s.agent.Refresh == nil {
		return
	}
	s.request = Request{Client: s.client, Fetch: fetch}
	if fetch {
		s.request.PMIDs = s.in.fetch.PMIDs
	}
	s.agent.Refresh(&s.request)
}

// refuse answers a PDU that cannot be read. Only requests have an answer; other PDUs are
// ignored.
func (s *Server) refuse(t pdu.Type, err error) {
	s.complain("%v from pmcd: %v", t, err)
	if answered(t) {
		s.send(&pdu.Error{Code: pcp.ErrGeneric})
	}
}

// protocol closes a connection after a PDU whose header is wrong: the beginning of the next
// PDU cannot be found.
func (s *Server) protocol(err error) {
	s.log.Printf("from pmcd: %v; closing the connection", err)
	s.disconnect()
}

// done answers a store with an error, or with code 0 if err is nil. No other request may be
// answered with code 0: pmcd crashes when it gets that in answer to some of them.
func (s *Server) done(err error) {
	if err == nil {
		s.send(&pdu.Error{})
		return
	}
	s.failCode(pdu.SafeCode(err)) // it is in the log already
}

// fail answers with an error code that does pmcd no harm.
func (s *Server) fail(err error, what string) { s.failCode(s.code(err, what)) }

func (s *Server) failCode(code pcp.Error) {
	if code == pcp.ErrPMDANotReady {
		if s.agent.Anonymous && (len(s.agent.Roots) == 0 || s.agent.NamesNotReady) {
			// pmcd sends no notices while the agent is not ready, so what is known of
			// clients grows old.
			s.forgetClients()
			s.ready = false
		} else {
			code = pcp.ErrAgain // see Agent.Anonymous and Agent.NamesNotReady
		}
	}
	s.send(&pdu.Error{Code: code})
}

// code finds the code for an error. An error that is not a pcp.Error is logged, because the
// client does not see its text.
func (s *Server) code(err error, what string) pcp.Error {
	code := pdu.SafeCode(err)
	var e pcp.Error
	if !errors.As(err, &e) || e != code || error(e) != err {
		s.complain("%s: %v", what, err)
	}
	return code
}

func (s *Server) newClient(slot int32) *Client {
	c := &Client{Slot: slot, UID: -1, GID: -1, PID: -1}
	s.clients[slot] = c
	return c
}

// forgetClients forgets all clients.
func (s *Server) forgetClients() {
	for slot := range s.clients {
		s.gone(slot)
	}
}

// gone forgets a client.
func (s *Server) gone(slot int32) {
	c := s.clients[slot]
	if c == nil {
		return
	}
	delete(s.clients, slot)
	c.left = true
	if s.agent.Gone != nil {
		s.agent.Gone(c)
	}
}

// attr notes an attribute of a client. If the client has the attribute already, a new client
// has taken the slot, and pmcd did not tell that the old one left.
func (s *Server) attr(p *pdu.Attr, from int32) {
	bit := uint32(1) << (p.Attr & 31)
	if c := s.clients[from]; c != nil && c.attrs&bit != 0 {
		s.gone(from)
	}
	c := s.clients[from]
	if c == nil {
		c = s.newClient(from)
	}
	c.attrs |= bit
	n := number(p.Value)
	switch p.Attr {
	case pcp.AttrContainer:
		c.Container = p.Value
	case pcp.AttrUserName:
		c.User = p.Value
	case pcp.AttrUserID:
		c.UID = n
	case pcp.AttrGroupID:
		c.GID = n
	case pcp.AttrProcessID:
		c.PID = n
	}
}

// number reads a decimal number of up to 31 bits. It returns -1 for any other text.
func number(s string) int {
	n := 0
	for _, r := range s {
		if r < '0' || r > '9' || n > 1<<31/10 {
			return -1
		}
		n = n*10 + int(r-'0')
	}
	if s == "" {
		return -1
	}
	return n
}
