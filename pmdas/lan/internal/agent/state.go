package agent

import (
	"slices"

	"github.com/pcp-rtime/rtime/pcp"
	"github.com/pcp-rtime/rtime/pmda"
	"github.com/pcp-rtime/rtime/pmdas/internal/kit"
)

// numbers are the agent's own state.
func (a *Agent) numbers() []kit.Number {
	return []kit.Number{
		kit.Gauge(0, "hosts", "hosts that the agent knows", "All of them, with and without an address.", func() uint64 { return uint64(a.prober.Stats().Hosts) }),
		kit.Gauge(1, "probed", "hosts with an address that is probed", "The others wait for their names to be resolved: see without_address.",
			func() uint64 { return uint64(a.prober.Stats().Probed) }),
		kit.Gauge(2, "on_demand", "hosts that exist because somebody looked them up",
			"They go when nobody asks for them any more.", func() uint64 { return uint64(a.registry.Stats().OnDemand) }),
		kit.Gauge(3, "in_flight", "requests neither answered nor lost yet, over all hosts", "The sum of rtime.lan.in_flight.",
			func() uint64 { return uint64(a.prober.Stats().InFlight) }),
		kit.Counter(4, "sent", "echo requests sent, over all hosts", "This includes requests to hosts that are gone by now.", func() uint64 { return a.prober.Stats().Sent }),
		kit.Counter(5, "cycles", "cycles completed: each host had its turn",
			"A cycle that a pause cuts short does not count.",
			func() uint64 { return a.prober.Stats().Cycles }),
		kit.Counter(6, "overruns", "cycles that took longer than the interval",
			"By more than 5 percent: either there are more hosts than maxrate lets through in\n"+
				"an interval, or the machine is too busy.", func() uint64 { return a.prober.Stats().Overruns }),
		kit.Counter(7, "drops", "messages lost because the sockets' buffers were full",
			"A reply that was lost this way counts as a timeout of its host.",
			func() uint64 { return a.prober.Stats().Drops }),
		kit.Counter(8, "strays", "ICMP messages that answer none of our requests",
			"They carry a wrong cookie or come from a wrong address. Messages with another\n"+
				"identifier belong to other programs and are ignored.",
			func() uint64 { return a.prober.Stats().Strays }),
		kit.Counter(9, "unmatched", "answers that belong to no request that the agent remembers",
			"The host is gone, or the request is older than its latest 64.",
			func() uint64 { return a.prober.Stats().Unmatched }),
		kit.Counter(10, "lookups", "names looked up", "This includes failed look-ups. An address needs no look-up.", func() uint64 { return a.registry.Stats().Lookups }),
		kit.Counter(11, "lookup_failures", "names that could not be resolved",
			"A host whose name cannot be resolved any more keeps the address it had.",
			func() uint64 { return a.registry.Stats().Failures }),
		kit.Gauge(12, "without_address", "hosts that have no address",
			"Their names do not resolve, or resolve only to addresses that may not be probed.",
			func() uint64 { return uint64(a.registry.Stats().Without) }),
		kit.Gauge(13, "paused", "whether probing paused because nobody asked: 1 or 0",
			"Probing pauses when no value has been asked for during the time that the\n"+
				"configuration calls idle, and resumes with the next fetch: the first one after a\n"+
				"pause says 1. mmv.rtlan.paused tells without ending the pause.", func() uint64 {
				return kit.Truth(a.prober.Stats().Paused)
			}),
	}
}

// agentMetrics are the agent's own state.
func (a *Agent) agentMetrics() []pmda.Metric {
	numbers := slices.Clone(a.Numbers)
	for i := range numbers {
		if numbers[i].Name == "paused" { // a fetch ends the pause, so it tells what was until then
			numbers[i].Get = func() uint64 { return kit.Truth(a.paused) }
		}
	}
	rows := kit.NumberMetrics("rtime.lan.agent.", clusterAgent, numbers)
	return append(rows, pmda.Metric{
		Name: "rtime.lan.agent.cycle", Cluster: clusterAgent, Item: 20, Sem: pcp.SemInstant, Units: pcp.Seconds,
		Get: pmda.Value(func() (float64, error) {
			s := a.prober.Stats()
			if s.Cycles == 0 {
				return 0, pmda.ErrNoValue
			}
			return s.LastCycle.Seconds(), nil
		}),
		OneLine: "length of the last completed cycle",
		Help: "In a cycle each host is asked once. It takes as long as the interval, or longer if\n" +
			"there are more hosts than maxrate lets through. There is no value before the first\ncycle has ended.",
	}, pmda.Metric{
		Name: "rtime.lan.agent.engine", Cluster: clusterAgent, Item: 21, Sem: pcp.SemDiscrete,
		Get:     pmda.Value(func() (string, error) { return a.engineName, nil }),
		OneLine: "engine that sends the requests: linux or pro-bing",
		Help: "linux: one raw socket for each address family, times stamped by the kernel.\n" +
			"pro-bing: the portable engine, times stamped by the agent.",
	}, pmda.Metric{
		Name: "rtime.lan.agent.refused", Cluster: clusterAgent, Item: 22, Sem: pcp.SemCounter, Units: pcp.Count,
		Get:     pmda.Value(func() (uint64, error) { return a.refused, nil }),
		OneLine: "look-ups of new hosts that were refused",
		Help:    "The agent's log tells who asked, and which rule refused.",
	})
}
