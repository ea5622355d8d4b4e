package pmda

import (
	"errors"
	"fmt"
	"io"
	"log"
	"math"
	"os"
	"path/filepath"
	"strconv"
	"sync"
	"time"

	"github.com/pcp-rtime/rtime/internal/ids"
	"github.com/pcp-rtime/rtime/internal/journal"
	"github.com/pcp-rtime/rtime/internal/throttle"
	"github.com/pcp-rtime/rtime/pcp"
	"github.com/pcp-rtime/rtime/pdu"
)

// Options are what the command line, or a test, says about how to run an agent. The
// zero value serves with the agent's own domain and keeps nothing on disk.
type Options struct {
	Domain   int         // 0: the agent's
	StateDir string      // where instance ids are kept; empty: in memory only
	Log      *log.Logger // nil: standard error
	Try      bool        // without PCP; see Agent.Try

	// Debug holds the words of PCP that -D gives: "pdu" and "libpmda" are the library's,
	// "appl0" to "appl9" the agent's.
	Debug map[string]bool

	// Given holds the options that the command line gives, by their long names. It is for
	// an agent that has to tell a default from the same value given.
	Given map[string]bool

	// UID and GID are those of the user that the agent will run as, once Agent.Setup has
	// returned. Main sets them.
	UID, GID int

	keepCaps uint64
	journal  journal.Options // of tests
}

// KeepCapability makes Main keep a capability (numbered as in capabilities(7)) when it
// becomes the user that the agent runs as. It is for Agent.Setup.
func (o *Options) KeepCapability(c int) { o.keepCaps |= 1 << c }

// Server answers pmcd on behalf of one agent. Its methods belong to the serving
// goroutine, except for Do, Stop and Ready, which any goroutine may call.
type Server struct {
	agent *Agent
	opts  Options
	table *table
	log   *log.Logger
	ids   *ids.File // nil until it is needed
	queue *queue

	// Of the connection to pmcd.
	conn       io.ReadWriteCloser
	profile    *profile
	clients    map[int32]*Client
	in         messages
	out        []byte
	result     pdu.ResultWriter
	room       int // of result, when garbage was last given back
	values     Values
	state      uint32 // pcp.StateLabels, pcp.StateNames to raise with the next result
	raised     uint32 // those in the result that is being written
	fetches    uint64
	now        time.Time
	client     *Client
	request    Request
	complaints throttle.Log[int]    // by user; -1 stands for unknown users
	panics     throttle.Log[string] // by where they happened
	stacks     map[string]bool      // the places whose stack is in the log
	greeted    bool                 // pmcd has been told that the agent serves it
	ready      bool                 // the agent answers
	warming    bool                 // Warm was called
	warmed     bool                 // and has returned

	tickers  map[*ticker]bool // that run
	stopOnce sync.Once
	stopped  bool
	cut      cut
}

// New checks the declaration of an agent and makes its server. The error lists all
// mistakes in the declaration.
func New(a *Agent, o Options) (*Server, error) {
	if o.Domain == 0 {
		o.Domain = a.Domain
	}
	if o.Log == nil {
		o.Log = log.New(os.Stderr, a.Name+": ", log.LstdFlags)
	}
	t, err := build(a, o.Domain)
	if err != nil {
		return nil, err
	}
	s := &Server{agent: a, opts: o, table: t, log: o.Log, profile: &profile{gen: 1},
		clients: make(map[int32]*Client), tickers: make(map[*ticker]bool), ready: true}
	s.queue = newQueue(s.serve)
	s.complaints.Print = func(line string) { s.log.Print(line) }
	s.panics.Print, s.stacks = s.complaints.Print, make(map[string]bool)
	s.values.w, s.values.server = &s.result, s
	for id, d := range t.indoms {
		if err := s.openInDom(id, d); err != nil {
			return nil, errors.Join(err, s.Close())
		}
	}
	return s, nil
}

// openInDom gives an instance domain its number, and the source of its ids or, if it keeps
// them, its file.
func (s *Server) openInDom(id pcp.InDom, d domain) error {
	if n := d.source(); n != nil || !d.kept() {
		return d.open(id, n)
	}
	n, err := s.OpenIDs(strconv.Itoa(d.serial()), math.MaxInt32)
	if err != nil {
		return err
	}
	return d.open(id, n)
}

// kept returns the file of everything that the agent keeps for ever. It is opened when it
// is first needed. Faults of the file are logged; they are not errors.
func (s *Server) kept() (*ids.File, error) {
	if s.ids != nil {
		return s.ids, nil
	}
	if s.opts.StateDir == "" {
		s.ids = ids.Memory()
		return s.ids, nil
	}
	path := filepath.Join(s.opts.StateDir, s.agent.Name+".ids")
	f, err := ids.OpenWith(path, s.opts.journal)
	if err != nil {
		return nil, fmt.Errorf("pmda: %w", err)
	}
	if d := f.Damage(); d != nil {
		s.log.Print(d)
	}
	if err := f.Err(); err != nil {
		s.log.Printf("%s: new numbers are not kept for now: %v", path, err)
	}
	s.ids = f
	return f, nil
}

// Numbers gives out numbers for names. A name has its number for ever, and no other
// name ever gets it.
type Numbers interface {
	ID(name string) (int32, error)
}

// KeptNumbers are the numbers that Server.OpenIDs returns. Lookup returns the number of a
// name that has one already.
type KeptNumbers interface {
	Numbers
	Lookup(name string) (int32, bool)
}

// OpenIDs returns the numbers 0..max of a part of the agent's own, which are kept for ever
// in its file NAME.ids: the ids of an instance domain, or the item numbers of dynamic
// metrics. part is 1..64 bytes without blank, newline, NUL and slash. It must not be a
// number, because numbers stand for instance domains with Keep. It must always be opened
// with the same max.
//
// Each answer to pmcd waits until the new numbers are in the file, so that a kill does not
// change them after somebody has seen them.
func (s *Server) OpenIDs(part string, max int32) (KeptNumbers, error) {
	f, err := s.kept()
	if err != nil {
		return nil, err
	}
	m, err := f.Space(part, max)
	if err != nil {
		return nil, fmt.Errorf("pmda: %w", err)
	}
	return m, nil
}

// HasIDs reports whether the file of OpenIDs has numbers of a part, or OpenIDs was called
// for it.
func (s *Server) HasIDs(part string) bool {
	f, err := s.kept()
	return err == nil && f.Has(part)
}

// Keep keeps a value under a key, for as long as the file of OpenIDs exists. A nil value
// removes the key. The value is in the file before the next answer to pmcd. A key has 1..4095
// bytes without newline and NUL, a value up to 1 MiB without newline. Without a folder for
// files nothing is kept.
func (s *Server) Keep(key string, value []byte) error {
	f, err := s.kept()
	if err != nil {
		return err
	}
	if err := f.Put(key, value); err != nil {
		return fmt.Errorf("pmda: %w", err)
	}
	return nil
}

// Kept calls each with what was kept, in the order of Keep. each must not hold on to the
// value. Kept waits for the disk; it is for Agent.Start.
func (s *Server) Kept(each func(key string, value []byte)) error {
	f, err := s.kept()
	if err != nil {
		return err
	}
	if err := f.Values(each); err != nil {
		return fmt.Errorf("pmda: %w", err)
	}
	return nil
}

// Do has the serving goroutine call f between two requests. It does not wait. A panic in f
// is logged and ends f alone.
func (s *Server) Do(f func()) {
	s.queue.do(func() {
		defer func() {
			if bad := recover(); bad != nil {
				s.panicked("Server.Do", bad)
			}
		}()
		f()
	})
}

// Stop ends Serve and Listen. It does not wait.
func (s *Server) Stop() {
	s.stopOnce.Do(func() {
		s.queue.do(func() { s.stopped = true })
		go s.cut.short()
	})
}

// Add adds a metric while the agent runs. Its name must lie in a dynamic subtree for
// pmcd to ask for it. Clients are told that names have changed. After an error
// nothing has changed.
func (s *Server) Add(m Metric) error {
	d := m.Get.indom
	if d == nil {
		return s.add(m)
	}
	id := pcp.MakeInDom(s.table.domain, d.serial())
	if s.table.indoms[id] != nil {
		return s.add(m)
	}
	err := s.add(m)
	if err == nil {
		if err = s.openInDom(id, d); err != nil {
			s.table.remove(m.Name)
		}
	}
	if err != nil {
		delete(s.table.indoms, id)
	}
	return err
}

func (s *Server) add(m Metric) error {
	if err := s.table.add(m); err != nil {
		return fmt.Errorf("pmda: %w", err)
	}
	s.state |= pcp.StateNames
	return nil
}

// Remove takes away a metric and reports whether it was there.
func (s *Server) Remove(name string) bool {
	ok := s.table.remove(name)
	if ok {
		s.state |= pcp.StateNames
	}
	return ok
}

// LabelsChanged tells clients, with the next values, to ask for labels again.
func (s *Server) LabelsChanged() { s.state |= pcp.StateLabels }

// PMID returns the number that a cluster and an item have in this agent.
func (s *Server) PMID(cluster, item int) pcp.PMID {
	return pcp.MakePMID(s.table.domain, cluster, item)
}

// Logf writes a line into the agent's log. Any goroutine may call it.
func (s *Server) Logf(format string, args ...any) { s.log.Printf(format, args...) }

// Serve answers pmcd on one connection until it ends or Stop is called. A clean end is no
// error. Serve believes what the far end says about the identities of its clients, so conn
// must lead to pmcd or to somebody who may do what pmcd may. Close of conn must end a Read
// or Write that waits.
func (s *Server) Serve(conn io.ReadWriteCloser) error {
	var end error
	s.attach(conn, func(err error) {
		end = err
		s.stopped = true
	})
	s.run()
	if errors.Is(end, io.EOF) {
		return nil
	}
	return end
}

// attach makes conn the connection to pmcd, and calls done when it ends.
func (s *Server) attach(conn io.ReadWriteCloser, done func(error)) {
	conn = quieten(conn)
	s.queue.do(func() { s.connect(conn) })
	go s.queue.read(conn, func(err error) {
		s.queue.do(func() {
			s.disconnect()
			done(err)
		})
	})
}

// serve deals with one PDU.
func (s *Server) serve(b []byte) {
	if s.conn != nil {
		s.handle(b)
	}
}

// run deals with what is in the queue until the server is stopped.
func (s *Server) run() {
	s.cut.serving.Store(true)
	defer s.cut.serving.Store(false)
	for stopped := false; !stopped; {
		it := s.queue.next()
		if it.do != nil {
			it.do()
		} else {
			s.serve(it.pdu)
		}
		stopped = s.stopped
		if stopped {
			s.stopped = false
			s.disconnect()
		}
		s.queue.yield()
		s.queue.release(it.pdu)
	}
}

// Close writes what is kept on disk. The server must not be used afterwards.
func (s *Server) Close() error {
	for t := range s.tickers {
		t.timer.Stop()
	}
	if s.ids == nil {
		return nil
	}
	return s.ids.Close()
}

// send writes an answer. If the connection does not take it, send closes the connection,
// which ends its reader.
func (s *Server) send(p pdu.PDU) {
	s.out = p.Append(s.out[:0], 0)
	switch p.(type) {
	case *pdu.Error, *pdu.Creds: // they contain no numbers
		s.write(s.out)
	default:
		s.tell(s.out, nil)
	}
	if cap(s.out) > maxOut {
		s.out = nil
	}
}

// maxOut is how much room is kept for answers. Few are longer.
const maxOut = 1 << 20

// tell writes an answer that may hold numbers of which nobody has been told yet, in one
// piece or two. They are in the file before. If the disk is too busy for that, tell answers
// "try again" instead and returns false.
func (s *Server) tell(head, tail []byte) bool {
	if s.ids != nil && s.ids.Commit() != nil {
		s.send(&pdu.Error{Code: pcp.ErrAgain})
		return false
	}
	s.write(head)
	if len(tail) > 0 {
		s.write(tail)
	}
	return true
}

func (s *Server) write(b []byte) {
	if s.conn == nil {
		return
	}
	if s.opts.Debug["pdu"] {
		s.log.Printf("send %x", b)
	}
	s.cut.writes.Add(1)
	_, err := s.conn.Write(b)
	s.cut.writes.Add(1)
	if err != nil {
		s.log.Printf("writing to pmcd: %v", err)
		s.disconnect()
	}
}
