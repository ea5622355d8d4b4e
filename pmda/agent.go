// Package pmda is a library for writing agents of Performance Co-Pilot in Go: the
// daemons that PCP calls PMDAs, which pmcd asks for the values of metrics. It needs
// neither libpcp nor cgo.
//
// An agent is declared as a table and handed to Main:
//
//	var start = time.Now()
//
//	var agent = &pmda.Agent{
//		Name: "uptime", Domain: 501,
//		Metrics: []pmda.Metric{{
//			Name: "uptime.seconds", Sem: pcp.SemInstant, Units: pcp.Seconds,
//			Get:     pmda.Value(func() (float64, error) { return time.Since(start).Seconds(), nil }),
//			OneLine: "time since the agent was started",
//		}},
//	}
//
//	func main() { os.Exit(pmda.Main(agent)) }
//
// Metrics that come in instances are declared over an InDom. Names that come and go
// while the agent runs live in dynamic subtrees: Server.Add and Server.Remove.
//
// # Concurrency
//
// One goroutine at a time serves pmcd: it reads a request, calls the agent, writes the
// answer. "The serving goroutine" is the one that does so at the moment. All functions that
// an agent declares are called by that goroutine, so they need no locks among each other,
// and the methods of InDom and Server may be called from them freely. Other goroutines hand
// work over with Server.Do. While a function is slow another goroutine goes on reading, so
// that pmcd is delayed and not blocked. But pmcd serves nobody else meanwhile, and drops
// the agent after five seconds. So a function must not wait for a network, for a disk, or
// for a lock that is held for long.
//
// See docs/writing-an-agent.md for a walk through a complete agent, PMDA(3) for what
// PCP expects of one, and package pmdatest for testing without PCP.
package pmda

import (
	"flag"
	"fmt"

	"github.com/pcp-rtime/rtime/pcp"
)

// Agent declares an agent. Only Name, Domain and Metrics or Roots are needed.
type Agent struct {
	// Name is the agent's name in pmcd.conf. The program is called pmdaNAME.
	Name string

	// Domain is the default domain number, 1..510; the option -d overrides it.
	Domain int

	// Version is what --version and the log's first line show, such as "0.1.0". Where it
	// is empty, it is the version of the program's main module as Go's build recorded it.
	Version string

	// Metrics is what the agent exports from the start.
	Metrics []Metric

	// Roots are the nodes of the name space below which names come and go at run
	// time. pmcd asks the agent about all names there, those of Metrics included.
	Roots []string

	// Labels are the labels of all the agent's metrics, beside the label "agent",
	// which is added. ClusterLabels are those of one cluster.
	Labels        pcp.Labels
	ClusterLabels map[int]pcp.Labels

	// Refresh is called before the answer to each request that concerns values, instances,
	// names or labels. Here an agent brings its instance domains up to date and takes a
	// consistent snapshot of what it measures.
	Refresh func(*Request)

	// Gone is called when a client has left, as far as pmcd tells.
	Gone func(*Client)

	// Flags declares options of the agent's own, besides those of Main. On the command line
	// a name of one letter follows one dash, and a longer one follows two. Flags must not
	// declare an option that Main has: that panics.
	Flags func(*flag.FlagSet)

	// Setup is called by Main when the options are known and the agent still has the
	// privileges that it was started with. It opens what needs them. Start is called later,
	// as the user that the agent runs as, with the server that will answer pmcd. Reload is
	// called on SIGHUP and Stop at the end, both by the serving goroutine.
	Setup  func(*Options) error
	Start  func(*Server) error
	Reload func() error
	Stop   func()

	// Warm, if not nil, runs once after pmcd has accepted the agent, in a goroutine of
	// its own. It is for agents that take long to start. Until it returns, requests are answered
	// with pcp.ErrAgain.
	Warm func() error

	// Anonymous agents do not ask pmcd who its clients are. Only these can tell pmcd itself
	// that they are not ready: until Warm has returned, for which the agent's line in
	// pmcd.conf must have the word notready; and with the error pcp.ErrPMDANotReady, until
	// Server.Ready. While an agent that asks who its clients are is not ready, pmcd answers
	// the first request of each new local client, to any agent, with an error. So such an
	// agent does not tell pmcd: its clients get pcp.ErrAgain.
	Anonymous bool

	// NamesNotReady accepts what PCP 7 makes of an Anonymous agent with Warm and Roots:
	// while it is not ready, every client that walks the whole name space, such as pminfo
	// without arguments, gets an error in place of all names, other agents' too. PCP 6
	// leaves out the agent's own. Without NamesNotReady such an agent is not well declared,
	// and pcp.ErrPMDANotReady of a function of an agent with Roots becomes pcp.ErrAgain.
	NamesNotReady bool

	// Try prepares the agent to run without PCP, after Start, with the arguments that
	// follow the options: pmdaNAME --try ARGS. Main then prints what the agent would
	// export, round after round: the metrics TryColumns as a table, or with --json all.
	Try        func(s *Server, args []string) error
	TryColumns []Column
}

// Metric declares one metric.
type Metric struct {
	Name    string // full name, such as "rtime.lan.rtt"
	Cluster int    // 0..4095
	Item    int    // 0..1023, unique in its cluster; the same for ever
	Sem     pcp.Sem
	Units   pcp.Units

	// Get says how to get the values; it knows their type and instance domain. See
	// Value, Per and Func.
	Get Getter

	// Store is called with each value that a client stores. If Store is nil, stores are
	// refused. The error goes to the client: a pcp.Error as it is, any other error as
	// ErrGeneric. The log has a line for every store that is refused, with the metric, the
	// client and the error. See StoreAs for a function that takes the value in Go's type.
	Store func(*Store) error

	OneLine string // help in one line, without a final stop
	Help    string // help at length
	Labels  pcp.Labels
}

// Store is a client's request to change a value.
type Store struct {
	Client *Client
	Name   string       // of the metric
	Inst   pcp.Instance // ID InstNull for a metric with one value
	Value  pcp.Value    // of the metric's type
}

// StoreAs makes a function for Metric.Store of one that takes the value as V. A value that
// does not fit into V is refused with pcp.ErrBadStore. Every value fits if V is the
// metric's own type.
func StoreAs[V pcp.Scalar](f func(*Store, V) error) func(*Store) error {
	return func(s *Store) error {
		x, err := pcp.As[V](s.Value)
		if err != nil {
			return fmt.Errorf("%w: %w", pcp.ErrBadStore, err)
		}
		return f(s, x)
	}
}

// Request tells Refresh what is about to be answered.
type Request struct {
	Client *Client
	Fetch  bool // values are asked for: PMIDs says of which metrics
	PMIDs  []pcp.PMID
}

// Client is a client of pmcd as an agent sees it. A number that pmcd does not know is -1.
// pmcd knows the user, group and process of each client on its unix socket from the
// kernel. It knows the user of a remote client only if the client has authenticated.
type Client struct {
	Slot          int32
	UID, GID, PID int
	User          string // the name that a remote client has authenticated as, if any
	Container     string // the container the client asks about, if any
	Data          any    // the agent's own

	attrs uint32 // bits of the attributes received
	left  bool
}

// Known reports whether the user of the client is known by its number.
func (c *Client) Known() bool { return c != nil && c.UID >= 0 }

// String says who the client is: "user 1000, process 4711", "user 1000 (anna), process
// 4711", or "client 3, whose user is unknown".
func (c *Client) String() string {
	if c == nil {
		return "no client"
	}
	who := fmt.Sprintf("client %d", c.Slot)
	switch {
	case c.Known() && c.User != "":
		who = fmt.Sprintf("user %d (%s)", c.UID, c.User)
	case c.Known():
		who = fmt.Sprintf("user %d", c.UID)
	case c.User != "":
		who = fmt.Sprintf("user %q", c.User)
	default:
		return who + ", whose user is unknown"
	}
	if c.PID >= 0 {
		who += fmt.Sprintf(", process %d", c.PID)
	}
	return who
}
