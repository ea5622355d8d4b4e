package pmapi

import (
	"context"
	"errors"
	"fmt"

	"github.com/pcp-rtime/rtime/pcp"
	"github.com/pcp-rtime/rtime/pdu"
)

// LookupNames returns the identifiers of metrics by name, in the same order; see
// pmLookupName(3). If pmcd does not know a name, or the name is a node of the name space that
// is not a metric, its identifier is pcp.PMIDNull. There is no limit on the number of names;
// they are asked for in portions.
func (r requests) LookupNames(ctx context.Context, names ...string) ([]pcp.PMID, error) {
	const op = "identifiers of metrics"
	ids := make([]pcp.PMID, 0, len(names))
	for len(names) > 0 {
		n := portion(names)
		request, answer := pdu.Names{Names: names[:n]}, pdu.IDs{}
		err := r.via.exchange(ctx, &query{op: op, request: &request, answer: &answer,
			check: func() error { return sameCount(len(answer.PMIDs), n) }})
		switch {
		case errors.Is(err, pcp.ErrName), errors.Is(err, pcp.ErrNonLeaf): // no name was found
			for range n {
				ids = append(ids, pcp.PMIDNull)
			}
		case err != nil:
			return nil, err
		default:
			ids = append(ids, answer.PMIDs...)
		}
		names = names[n:]
	}
	return ids, nil
}

// portion returns how many names fit into one request, at least one.
func portion(names []string) int {
	size := (&pdu.Names{}).Length()
	for i, name := range names {
		if size += 4 + len(name) + 3; size > maxRequest && i > 0 {
			return i
		}
	}
	return len(names)
}

func sameCount(got, want int) error {
	if got != want {
		return fmt.Errorf("%w: %d items for %d", ErrProtocol, got, want)
	}
	return nil
}

// NamesOf returns the names of a metric, which may have several; see pmNameAll(3). The error
// wraps pcp.ErrPMID if it has none.
func (r requests) NamesOf(ctx context.Context, id pcp.PMID) ([]string, error) {
	var answer pdu.Names
	err := r.ask(ctx, fmt.Sprintf("names of metric %v", id), &pdu.IDs{PMIDs: []pcp.PMID{id}}, &answer)
	return answer.Names, err
}

// Child is a name just below a node of the name space.
type Child struct {
	Name string // one part of a metric's name
	Leaf bool   // it is a metric; otherwise there are names below it
}

// Children returns the names just below a node of the name space; "" is its root. See
// pmGetChildrenStatus(3). A metric has no names below it. The error wraps pcp.ErrName if
// there is no such node.
func (r requests) Children(ctx context.Context, node string) ([]Child, error) {
	var answer pdu.Names
	err := r.via.exchange(ctx, &query{op: fmt.Sprintf("names below %.80q", node),
		request: &pdu.Child{Name: node, Status: true}, answer: &answer,
		check: func() error { return sameCount(len(answer.Status), len(answer.Names)) }})
	if err != nil {
		return nil, err
	}
	list := make([]Child, len(answer.Names))
	for i, name := range answer.Names {
		list[i] = Child{name, answer.Status[i] == 0}
	}
	return list, nil
}

// Traverse returns the full names of all metrics at and below a node of the name space; "" is
// its root. See pmTraversePMNS(3). The error wraps pcp.ErrName if there is no such node.
func (r requests) Traverse(ctx context.Context, node string) ([]string, error) {
	var answer pdu.Names
	err := r.ask(ctx, fmt.Sprintf("metrics below %.80q", node), &pdu.Traverse{Name: node}, &answer)
	return answer.Names, err
}
