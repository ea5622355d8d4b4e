package agent

import (
	"fmt"
	"time"

	"github.com/pcp-rtime/rtime/internal/ddsseg/layout"
	"github.com/pcp-rtime/rtime/pcp"
	"github.com/pcp-rtime/rtime/pmda"
	"github.com/pcp-rtime/rtime/pmdas/internal/kit"
)

const timeoutHelp = "0, or 15 to 600 seconds; 0 is for ever. "

// controlMetrics are the metrics that clients store to. They change the agent,
// and what it tells suppliers, while it runs.
func (a *Agent) controlMetrics() []pmda.Metric {
	return []pmda.Metric{{
		Name: "rtime.dds.control.timeout", Cluster: clusterControl, Item: 0, Sem: pcp.SemDiscrete, Units: pcp.Seconds,
		Get:     pmda.Value(func() (uint32, error) { return uint32(a.conf.Timeout.Seconds()), nil }),
		Store:   pmda.StoreAs(a.storeTimeout),
		OneLine: "how old a supplier's time stamp may become",
		Help: timeoutHelp + "For the suppliers of which nothing else is said, see\n" +
			"rtime.dds.supplier.timeout. Root and the user that PCP runs as may store. What is\n" +
			"stored lasts until the agent ends or reads a configuration that says otherwise.",
	}, {
		Name: "rtime.dds.control.goaway", Cluster: clusterControl, Item: 1, Sem: pcp.SemDiscrete,
		Get: pmda.Per(a.roster.rows, func(r *row) (uint32, bool) {
			if r.src == nil {
				return 0, false
			}
			if r.src.sup.Stale() {
				return 1, true
			}
			return 0, true
		}),
		Store:   pmda.StoreAs(a.storeGoAway),
		OneLine: "whether the supplier was told to go away: 1 or 0",
		Help: "Storing 1 sets SiShGoAway: the supplier is to end, and its contexts are not exported\n" +
			"any more. Storing 0 takes that back. Root, the user that PCP runs as and the\n" +
			"supplier's own user may store.",
	}, {
		Name: "rtime.dds.supplier.timeout", Cluster: clusterSupplier, Item: 11, Sem: pcp.SemDiscrete, Units: pcp.Seconds,
		Get: pmda.Per(a.roster.rows, func(r *row) (uint32, bool) {
			if r.src == nil {
				return 0, false
			}
			return uint32(a.supply.Timeout(r.src.sup).Seconds()), true
		}),
		Store:   pmda.StoreAs(a.storeSupplierTimeout),
		OneLine: "how old the supplier's time stamp may become",
		Help: timeoutHelp + "It is the largest of\n" +
			"rtime.dds.control.timeout and what programs have given to SpmiInit, and 0 if one of\n" +
			"them is 0; programs of root and of the user that PCP runs as count for all suppliers,\n" +
			"those of others for suppliers of the same user. What is stored holds instead until\n" +
			"the supplier ends. Root, the user that PCP runs as and the supplier's own user may\n" +
			"store.",
	}}
}

// checkTimeout returns the time-out that a client has stored.
func checkTimeout(st *pmda.Store, v uint32) (time.Duration, error) {
	if v != 0 && (v < layout.TimeOutLeast || v > layout.TimeOutMost) {
		return 0, fmt.Errorf("%w: %s %d is neither 0 nor within %d..%d", pcp.ErrBadStore, st.Name, v, layout.TimeOutLeast, layout.TimeOutMost)
	}
	return time.Duration(v) * time.Second, nil
}

func (a *Agent) storeTimeout(st *pmda.Store, v uint32) error {
	if err := kit.MayStore(st); err != nil {
		return err
	}
	timeout, err := checkTimeout(st, v)
	if err != nil {
		return err
	}
	a.conf.Timeout = timeout
	a.Log.Printf("timeout set to %v by %v", timeout, st.Client)
	return nil
}

// sourceOf finds the supplier that a client stores for. It returns an error if
// the client may not.
func (a *Agent) sourceOf(st *pmda.Store) (*source, error) {
	r, there := a.roster.rows.ByID(st.Inst.ID)
	if !there || r.src == nil {
		return nil, pcp.ErrInst
	}
	if st.Client.Known() && uint32(st.Client.UID) == r.user.UID {
		return r.src, nil
	}
	return r.src, kit.MayStore(st)
}

func (a *Agent) storeGoAway(st *pmda.Store, v uint32) error {
	s, err := a.sourceOf(st)
	if err != nil {
		return err
	}
	switch v {
	case 0:
		a.supply.CallBack(s.sup)
	case 1:
		a.supply.SendAway(s.sup, fmt.Sprintf("wanted by %v", st.Client))
	default:
		return fmt.Errorf("%w: %s %d is neither 0 nor 1", pcp.ErrBadStore, st.Name, v)
	}
	return nil
}

func (a *Agent) storeSupplierTimeout(st *pmda.Store, v uint32) error {
	s, err := a.sourceOf(st)
	if err != nil {
		return err
	}
	timeout, err := checkTimeout(st, v)
	if err != nil {
		return err
	}
	a.supply.SetTimeout(s.sup, timeout)
	a.complain(uint32(st.Client.UID), "supplier %s: timeout set to %v by %v", s.row.title, timeout, st.Client)
	return nil
}
