package agent

import (
	"strings"
	"time"

	"github.com/pcp-rtime/rtime/pcp"
	"github.com/pcp-rtime/rtime/pmda"
	"github.com/pcp-rtime/rtime/pmdas/lan/internal/probe"
)

// The clusters of the agent's metrics.
const (
	clusterHost = iota
	clusterWindow
	clusterErrors
	clusterControl
	clusterAgent
)

// percent is the units of shares: PCP has no dimension for them.
var percent = pcp.None

func (a *Agent) metrics() []pmda.Metric {
	m := a.oldMetrics()
	m = append(m, a.hostMetrics()...)
	m = append(m, a.windowMetrics()...)
	m = append(m, a.errorMetrics()...)
	m = append(m, a.controlMetrics()...)
	return append(m, a.agentMetrics()...)
}

// oldMetrics are the metrics that SpmiResp had, under its names.
func (a *Agent) oldMetrics() []pmda.Metric {
	per := func(item int, name string, units pcp.Units, get pmda.Getter, oneline, help string) pmda.Metric {
		return pmda.Metric{Name: "rtime.lan." + name, Cluster: clusterHost, Item: item, Sem: pcp.SemInstant,
			Units: units, Get: get, OneLine: oneline, Help: help}
	}
	counter := func(m pmda.Metric) pmda.Metric {
		m.Sem = pcp.SemCounter
		return m
	}
	band := func(b int) pmda.Getter {
		return pmda.Per(a.hosts, func(h *host) (float64, bool) {
			p, ok := h.now().Percent()
			return p[b], ok
		})
	}
	count := func(f func(*probe.Snapshot) uint64) pmda.Getter {
		return pmda.Per(a.hosts, func(h *host) (uint64, bool) { return f(h.now()), true })
	}
	return []pmda.Metric{
		per(0, "resptime", pcp.Milliseconds, pmda.Per(a.hosts, func(h *host) (int32, bool) {
			s := h.now()
			return int32(s.RTT.Milliseconds()), s.Timed()
		}), "latest response time in whole milliseconds",
			"The time from the latest echo request that was answered to its reply, cut to\n"+
				"whole milliseconds. There is no value while the host does not answer.\n"+
				"rtime.lan.rtt is the same unrounded."),
		per(1, "respavg", pcp.Milliseconds, pmda.Per(a.hosts, func(h *host) (float64, bool) {
			s := h.now()
			_, ok := s.Percent()
			return s.Average, ok
		}), "weighted average of the response time",
			"Each reply moves the average: it becomes WEIGHT percent of what it was and\n"+
				"100 - WEIGHT percent of the new response time. The first reply starts it.\n"+
				"WEIGHT is rtime.lan.control.weight. The average stays while a host does not\n"+
				"answer."),
		per(2, "below10", percent, band(probe.Below10), "share of response times below 10 milliseconds",
			"In percent of all replies in time since the host was added. below10, below20,\n"+
				"below100 and above99 add up to 100 once there is a reply."),
		per(3, "below20", percent, band(probe.Below20), "share of response times from 10 to below 20 milliseconds",
			"In percent of all replies in time since the host was added."),
		per(4, "below100", percent, band(probe.Below100), "share of response times from 20 to below 100 milliseconds",
			"In percent of all replies in time since the host was added."),
		per(5, "above99", percent, band(probe.Above99), "share of response times of 100 milliseconds and more",
			"In percent of all replies in time since the host was added."),
		counter(per(6, "requests", pcp.Count, count(func(s *probe.Snapshot) uint64 { return s.Requests }),
			"echo requests sent to the host",
			"requests is the sum of responses, timeouts, failed and in_flight at every\nmoment.")),
		counter(per(7, "responses", pcp.Count, count(func(s *probe.Snapshot) uint64 { return s.Responses }),
			"replies from the host that came in time",
			"The first reply to each request, if it came before the request timed out.\n"+
				"Later ones count in late, further ones in duplicates.")),
	}
}

// hostMetrics are those that SpmiResp did not have: one value for each host.
func (a *Agent) hostMetrics() []pmda.Metric {
	counter := func(item int, name, oneline, help string, get func(*probe.Snapshot) uint64) pmda.Metric {
		return pmda.Metric{Name: "rtime.lan." + name, Cluster: clusterHost, Item: item, Sem: pcp.SemCounter,
			Units: pcp.Count, OneLine: oneline, Help: help,
			Get: pmda.Per(a.hosts, func(h *host) (uint64, bool) { return get(h.now()), true })}
	}
	return []pmda.Metric{{
		Name: "rtime.lan.rtt", Cluster: clusterHost, Item: 8, Sem: pcp.SemInstant, Units: pcp.Milliseconds,
		Get: pmda.Per(a.hosts, func(h *host) (float64, bool) {
			s := h.now()
			return milliseconds(s.RTT), s.Timed()
		}),
		OneLine: "latest response time, unrounded",
		Help: "From the moment the request left to the moment the reply arrived, as the kernel\n" +
			"stamped them where it does (see rtime.lan.stamps), with a resolution of a\n" +
			"nanosecond. There is no value while the host does not answer. There is none for\n" +
			"a reply that the kernel failed to stamp, as it may when the agent has just\n" +
			"started, or while the machine's clock is being set.",
	}, {
		Name: "rtime.lan.up", Cluster: clusterHost, Item: 9, Sem: pcp.SemInstant,
		Get: pmda.Per(a.hosts, func(h *host) (uint32, bool) {
			s := h.now()
			if s.Up {
				return 1, true
			}
			return 0, s.Known
		}),
		OneLine: "whether the host answers: 1 or 0",
		Help: "1 if the latest request that is settled was answered in time, 0 if it timed\n" +
			"out, was refused by an ICMP error or could not be sent because there was no\n" +
			"route or no address of our own. A request in flight is not settled. There is no\n" +
			"value before the first request is settled, after the host's address has changed,\n" +
			"after probing paused, and when a request cannot be sent for another reason.",
	}, {
		Name: "rtime.lan.age", Cluster: clusterHost, Item: 10, Sem: pcp.SemInstant, Units: pcp.Seconds,
		Get: pmda.Per(a.hosts, func(h *host) (float64, bool) {
			s := h.now()
			return time.Since(s.LastReply).Seconds(), !s.LastReply.IsZero()
		}),
		OneLine: "time since the last reply",
		Help:    "Late replies count, too. There is no value before the first reply.",
	}, {
		Name: "rtime.lan.address", Cluster: clusterHost, Item: 11, Sem: pcp.SemDiscrete,
		Get: pmda.Per(a.hosts, func(h *host) (string, bool) {
			s := h.now()
			return s.Addr.String(), s.Addr.IsValid()
		}),
		OneLine: "address that is probed",
		Help: "What the host's name stands for now. There is no value while the name\n" +
			"cannot be resolved, or stands for an address that may not be probed.",
	}, {
		Name: "rtime.lan.ttl", Cluster: clusterHost, Item: 12, Sem: pcp.SemInstant,
		Get: pmda.Per(a.hosts, func(h *host) (uint32, bool) {
			s := h.now()
			return uint32(s.TTL), s.TTL > 0 && !s.LastReply.IsZero()
		}),
		OneLine: "time to live, or hop limit, of the last reply",
		Help:    "A change shows that the way to the host has changed.",
	},
		counter(13, "timeouts", "requests without an answer in time",
			"Requests that had no answer when the time that the configuration calls timeout\n"+
				"was over. A request in flight is not yet one of them.",
			func(s *probe.Snapshot) uint64 { return s.Timeouts }),
		counter(14, "late", "replies that came after their request had timed out",
			"They are not in responses, and the response time does not count.",
			func(s *probe.Snapshot) uint64 { return s.Late }),
		counter(15, "duplicates", "further replies to a request that had one",
			"They are not in responses, and their response times do not count.",
			func(s *probe.Snapshot) uint64 { return s.Duplicates }),
		counter(16, "failed", "requests that an ICMP error ended",
			"rtime.lan.errors tells which errors.",
			func(s *probe.Snapshot) uint64 { return s.Failed }),
		counter(17, "send_errors", "requests that could not be sent",
			"They are not in requests. The agent's log has the reason of the\n"+
				"last one, once a minute.",
			func(s *probe.Snapshot) uint64 { return s.SendErrors }),
		{
			Name: "rtime.lan.in_flight", Cluster: clusterHost, Item: 18, Sem: pcp.SemInstant, Units: pcp.Count,
			Get:     pmda.Per(a.hosts, func(h *host) (uint32, bool) { return uint32(h.now().InFlight), true }),
			OneLine: "requests neither answered nor lost yet",
			Help:    "They are in requests, and not yet in responses, timeouts or failed.",
		}, {
			Name: "rtime.lan.stamps", Cluster: clusterHost, Item: 19, Sem: pcp.SemDiscrete,
			Get: pmda.Per(a.hosts, func(h *host) (string, bool) {
				s := h.now()
				return stampNames[s.Stamps], s.Timed()
			}),
			OneLine: "who stamped the times of the latest response time",
			Help: "kernel: the kernel stamped departure and arrival. receive: it stamped the\n" +
				"arrival. user: the agent stamped both, so the response time includes how long\n" +
				"the agent had to wait for the processor.",
		}}
}

var stampNames = map[probe.Stamps]string{
	probe.StampsKernel: "kernel", probe.StampsReceive: "receive", probe.StampsUser: "user",
}

// windowMetrics are computed over the sliding window.
func (a *Agent) windowMetrics() []pmda.Metric {
	const over = "Over the requests settled during the sliding window, whose length is\n" +
		"rtime.lan.control.window; at most the latest 4096 of them."
	answered := func(f func(*probe.WindowStats) time.Duration, least int) pmda.Getter {
		return pmda.Per(a.hosts, func(h *host) (float64, bool) {
			w := h.window()
			return milliseconds(f(w)), w.Answered >= least
		})
	}
	row := func(item int, name string, units pcp.Units, get pmda.Getter, oneline, help string) pmda.Metric {
		return pmda.Metric{Name: "rtime.lan.window." + name, Cluster: clusterWindow, Item: item, Sem: pcp.SemInstant,
			Units: units, Get: get, OneLine: oneline, Help: strings.TrimSpace(over + "\n" + help)}
	}
	const rank = "Nearest rank: the smallest response time observed that is not exceeded by that\nshare of them."
	return []pmda.Metric{
		row(0, "min", pcp.Milliseconds, answered(func(w *probe.WindowStats) time.Duration { return w.Min }, 1),
			"shortest response time in the window", ""),
		row(1, "mean", pcp.Milliseconds, answered(func(w *probe.WindowStats) time.Duration { return w.Mean }, 1),
			"mean response time in the window", ""),
		row(2, "max", pcp.Milliseconds, answered(func(w *probe.WindowStats) time.Duration { return w.Max }, 1),
			"longest response time in the window", ""),
		row(3, "median", pcp.Milliseconds, answered(func(w *probe.WindowStats) time.Duration { return w.Median }, 1),
			"median response time in the window", rank),
		row(4, "p95", pcp.Milliseconds, answered(func(w *probe.WindowStats) time.Duration { return w.P95 }, 1),
			"95th percentile of the response time in the window", rank),
		row(5, "p99", pcp.Milliseconds, answered(func(w *probe.WindowStats) time.Duration { return w.P99 }, 1),
			"99th percentile of the response time in the window", rank),
		row(6, "jitter", pcp.Milliseconds, answered(func(w *probe.WindowStats) time.Duration { return w.Jitter }, 2),
			"mean difference between consecutive response times in the window",
			"The mean of the absolute differences, as RFC 3550 takes them."),
		row(7, "loss", percent, pmda.Per(a.hosts, func(h *host) (float64, bool) {
			w := h.window()
			return w.Loss, w.Completed > 0
		}), "share of requests in the window without an answer in time", "In percent. Requests in flight do not count."),
		row(8, "samples", pcp.Count, pmda.Per(a.hosts, func(h *host) (uint32, bool) {
			return uint32(h.window().Completed), true
		}), "requests in the window that are settled", ""),
	}
}

// errorMetrics count ICMP errors by class.
func (a *Agent) errorMetrics() []pmda.Metric {
	rows := []pmda.Metric{{
		Name: "rtime.lan.errors.total", Cluster: clusterErrors, Item: 0, Sem: pcp.SemCounter, Units: pcp.Count,
		Get: pmda.Per(a.hosts, func(h *host) (uint64, bool) {
			n := uint64(0)
			for _, c := range h.now().Errors {
				n += c
			}
			return n, true
		}),
		OneLine: "ICMP errors that concern requests to the host",
		Help:    "The sum of the other metrics below rtime.lan.errors.",
	}}
	for c := probe.ErrorClass(0); c < probe.NumErrorClasses; c++ {
		rows = append(rows, pmda.Metric{
			Name:    "rtime.lan.errors." + strings.ReplaceAll(c.String(), "-", "_"),
			Cluster: clusterErrors, Item: 1 + int(c), Sem: pcp.SemCounter, Units: pcp.Count,
			Get:     pmda.Per(a.hosts, func(h *host) (uint64, bool) { return h.now().Errors[c], true }),
			OneLine: "ICMP errors of the kind " + c.String(),
			Help:    "Counts messages of ICMP and ICMPv6 that quote a request to the host.",
		})
	}
	return rows
}

func milliseconds(d time.Duration) float64 { return float64(d) / float64(time.Millisecond) }
