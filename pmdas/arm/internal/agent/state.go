package agent

import (
	"github.com/pcp-rtime/rtime/pcp"
	"github.com/pcp-rtime/rtime/pmda"
	"github.com/pcp-rtime/rtime/pmdas/arm/internal/collect"
	"github.com/pcp-rtime/rtime/pmdas/internal/kit"
)

// numbers are figures about the collector, from the latest snapshot.
func (a *Agent) numbers() []kit.Number {
	gauge := func(item int, name, oneline, help string, get func(*collect.Snapshot) uint64) kit.Number {
		return kit.Gauge(item, name, oneline, help, func() uint64 { return get(a.snap) })
	}
	counter := func(item int, name, oneline, help string, get func(*collect.Health) uint64) kit.Number {
		return kit.Counter(item, name, oneline, help, func() uint64 { return get(&a.snap.Health) })
	}
	const logged = "The agent's log says which and why."
	return []kit.Number{
		gauge(0, "transactions", "transactions that the agent knows", "This includes those that are not in use any more.",
			func(s *collect.Snapshot) uint64 { return uint64(len(s.Trans)) }),
		gauge(1, "applications", "applications that the agent knows", "This includes those that are not in use any more.",
			func(s *collect.Snapshot) uint64 { return uint64(len(s.Apps)) }),
		gauge(2, "processes", "processes that measure transactions", "",
			func(s *collect.Snapshot) uint64 { return uint64(s.Health.Processes) }),
		gauge(3, "files", "files of processes that are mapped", "This includes files of processes that have just ended.",
			func(s *collect.Snapshot) uint64 { return uint64(s.Health.Files) }),
		gauge(4, "users", "users who have a file of names", "The file is removed when no process has used it for the time that the\nconfiguration calls timeout.",
			func(s *collect.Snapshot) uint64 { return uint64(s.Health.NameFiles) }),
		gauge(5, "bytes", "size of all files that are mapped", "", func(s *collect.Snapshot) uint64 { return s.Health.Bytes }).In(pcp.Bytes),
		gauge(6, "refused", "files in the directory that are not read",
			"A file is not read if its content is damaged, if its owner is not the user in its\nname, or if it is over a limit. "+logged,
			func(s *collect.Snapshot) uint64 { return uint64(s.Health.Refused) }),
		counter(7, "refusals", "times that a file was refused", logged, func(h *collect.Health) uint64 { return h.RefusedEver }),
		counter(8, "cycles", "rounds of collecting", "", func(h *collect.Health) uint64 { return h.Cycles }),
		gauge(9, "cycle", "time that the last round of collecting took", "",
			func(s *collect.Snapshot) uint64 { return uint64(s.Health.CycleTime.Microseconds()) }).In(pcp.Microseconds),
		counter(10, "cycle_time", "time that all rounds of collecting took", "Its rate is the share of a processor that collecting takes.",
			func(h *collect.Health) uint64 { return uint64(h.CycleTotal.Microseconds()) }).In(pcp.Microseconds),
		counter(11, "folded", "ended processes whose counts were taken over", "", func(h *collect.Health) uint64 { return h.Folds }),
		counter(12, "retired", "files of names that were removed", "No process had used them for the time that the configuration calls timeout.",
			func(h *collect.Health) uint64 { return h.Retired }),
		counter(13, "swept", "left-over files that were removed", "A process that is killed while it makes a file leaves the file unfinished.",
			func(h *collect.Health) uint64 { return h.Swept }),
		counter(14, "errors", "errors of the directory and of the record of the past", logged,
			func(h *collect.Health) uint64 { return h.Errors }),
		counter(15, "damaged", "damaged lines in the record of the past", "What such a line says of ended processes is lost. The file was set aside.",
			func(h *collect.Health) uint64 { return h.Damaged }),
		gauge(16, "over_limit", "transactions that are counted in an instance named other",
			"They are over one of the limits maxperapplication, maxtransactions and\nmaxapplications of the configuration.",
			func(s *collect.Snapshot) uint64 { return s.Health.OverCap }),
		counter(17, "no_room", "starts that found no room in their process's file",
			"Too many transactions run at once, or the file system is full. arm_start returned\nan error to the program.",
			func(h *collect.Health) uint64 { return h.NoRoom }),
		counter(18, "bad_handles", "stops and updates with unknown handles", "The call returned an error to the program.",
			func(h *collect.Health) uint64 { return h.BadHandles }),
		counter(19, "bad_data", "data buffers that were ignored and belong to no transaction", "rtime.arm.bad_data counts those that belong to one.",
			func(h *collect.Health) uint64 { return h.BadData }),
		counter(20, "parents_lost", "parents that found no room in a process's file", "Their children are measured, but count in no instance of rtime.arm.parent.",
			func(h *collect.Health) uint64 { return h.PairsLost }),
		gauge(21, "names_full", "users' files of names that have no room for another name",
			"New applications or transactions of such a user are not measured: arm_init or\n"+
				"arm_getid returns an error to the program. The agent's log says whose file it is.",
			func(s *collect.Snapshot) uint64 { return uint64(s.Health.NamesFull) }),
	}
}

// agentMetrics export the agent's own state.
func (a *Agent) agentMetrics() []pmda.Metric {
	rows := kit.NumberMetrics("rtime.arm.agent.", clusterAgent, a.Numbers)
	text := func(item int, name, oneline, help string, get func(*collect.Health) string) pmda.Metric {
		return pmda.Metric{Name: "rtime.arm.agent." + name, Cluster: clusterAgent, Item: item, Sem: pcp.SemDiscrete,
			OneLine: oneline, Help: help, Get: pmda.Value(func() (string, error) {
				if s := get(&a.snap.Health); s != "" {
					return printable(s), nil
				}
				return "", pmda.ErrNoValue
			})}
	}
	return append(rows,
		text(30, "last_refused", "file that was refused last, and why", "There is no value before the first one.",
			func(h *collect.Health) string { return h.LastRefused }),
		text(31, "last_error", "latest error of the directory or the record of the past", "There is no value before the first one.",
			func(h *collect.Health) string { return h.LastError }),
		pmda.Metric{
			Name: "rtime.arm.agent.unnamed", Cluster: clusterAgent, Item: 32, Sem: pcp.SemInstant, Units: pcp.Count,
			Get:     pmda.Value(func() (uint64, error) { return uint64(a.unnamed), nil }),
			OneLine: "rows that could not become instances",
			Help:    "They are transactions, applications, metrics or parents. The agent's log has the\nreason for the first 20.",
		})
}
