package agent

import (
	"github.com/pcp-rtime/rtime/pcp"
	"github.com/pcp-rtime/rtime/pmdas/lan/internal/probe"
)

// host is what an instance carries: the account of one host as of the present fetch. It is
// copied from the Prober when the first metric asks for it, so all values of a host in one
// fetch belong together, and a fetch does no work for hosts that it does not want.
type host struct {
	agent   *Agent
	id      uint32
	name    string
	account probe.Snapshot
	seen    uint64 // the fetch that account belongs to
	whole   bool   // account.Window is filled, too
}

// now returns the host's account.
func (h *host) now() *probe.Snapshot {
	if h.seen != h.agent.fetches {
		h.agent.prober.Snapshot(h.id, &h.account, false)
		h.seen, h.whole = h.agent.fetches, false
	}
	return &h.account
}

// window returns the statistics of the host's sliding window.
func (h *host) window() *probe.WindowStats {
	if h.seen != h.agent.fetches || !h.whole {
		h.agent.prober.Snapshot(h.id, &h.account, true)
		h.seen, h.whole = h.agent.fetches, true
	}
	return &h.account.Window
}

// labels returns the labels of the host's instance.
func (h *host) labels() pcp.Labels {
	l := pcp.Labels{{Name: "host", Value: h.name}}
	s := h.now()
	if !s.Addr.IsValid() {
		return l
	}
	family := "ipv6"
	if s.Addr.Unmap().Is4() {
		family = "ipv4"
	}
	return append(l, pcp.Label{Name: "address", Value: s.Addr.String()}, pcp.Label{Name: "family", Value: family})
}
