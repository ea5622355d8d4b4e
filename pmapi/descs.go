package pmapi

import (
	"context"
	"errors"
	"fmt"

	"github.com/pcp-rtime/rtime/pcp"
	"github.com/pcp-rtime/rtime/pdu"
)

// Descs returns the descriptors of metrics, in the same order; see pmLookupDescs(3). If a
// metric has none, its entry has the PMID pcp.PMIDNull. If pmcd offers it, one request asks
// for many. There is no limit on their number; they are asked for in portions.
func (r requests) Descs(ctx context.Context, ids ...pcp.PMID) ([]pcp.Desc, error) {
	descs := make([]pcp.Desc, 0, len(ids))
	const most = 4096 // their descriptors are 80 KiB
	for len(ids) > 0 {
		n := min(len(ids), most)
		some, err := r.descs(ctx, ids[:n])
		if err != nil {
			return nil, err
		}
		descs, ids = append(descs, some...), ids[n:]
	}
	return descs, nil
}

func (r requests) descs(ctx context.Context, ids []pcp.PMID) ([]pcp.Desc, error) {
	request, answer := pdu.DescIDs{PMIDs: ids}, pdu.Descs{}
	err := r.via.exchange(ctx, &query{op: "descriptors", needs: pcp.FeatureDescs, request: &request, answer: &answer,
		check: func() error { return sameCount(len(answer.Descs), len(ids)) }})
	if err == nil {
		for i := range answer.Descs {
			if d := &answer.Descs[i]; d.PMID != ids[i] {
				d.PMID = pcp.PMIDNull // there is none, or it belongs to another metric
			}
		}
		return answer.Descs, nil
	}
	var code pcp.Error
	if !errors.Is(err, ErrNotOffered) && !errors.As(err, &code) {
		return nil, err
	}
	list := make([]pcp.Desc, len(ids))
	for i, id := range ids {
		switch d, err := r.Desc(ctx, id); {
		case err == nil:
			list[i] = d
		case errors.As(err, &code):
			list[i].PMID = pcp.PMIDNull
		default:
			return nil, err
		}
	}
	return list, nil
}

// Desc returns the descriptor of one metric; see pmLookupDesc(3). The error wraps the answer
// of pmcd or the agent: pcp.ErrPMID if the metric is not known, pcp.ErrNoAgent and so on.
func (r requests) Desc(ctx context.Context, id pcp.PMID) (pcp.Desc, error) {
	var answer pdu.Desc
	op := fmt.Sprintf("descriptor of metric %v", id)
	err := r.via.exchange(ctx, &query{op: op, request: &pdu.DescReq{PMID: id}, answer: &answer,
		check: func() error {
			if answer.Desc.PMID != id {
				return pcp.ErrPMID // the agent has answered for another metric
			}
			return nil
		}})
	if err != nil {
		return pcp.Desc{}, err
	}
	return answer.Desc, nil
}

// Metrics looks up metrics by name and returns them with their descriptors, in the same order.
// A metric without a descriptor has the PMID pcp.PMIDNull, and the error says which metrics
// these are; the others are good even then. The error wraps pcp.ErrName if a name is not
// known, and pcp.ErrPMID if there is no descriptor.
func (r requests) Metrics(ctx context.Context, names ...string) ([]*Metric, error) {
	ids, err := r.LookupNames(ctx, names...)
	if err != nil {
		return nil, err
	}
	known := make([]pcp.PMID, 0, len(ids))
	for _, id := range ids {
		if id != pcp.PMIDNull {
			known = append(known, id)
		}
	}
	descs, err := r.Descs(ctx, known...)
	if err != nil {
		return nil, err
	}
	var errs []error
	all := make([]Metric, len(names))
	list := make([]*Metric, len(names))
	for i, id := range ids {
		m := &all[i]
		list[i] = m
		m.Name, m.PMID = names[i], pcp.PMIDNull
		if id == pcp.PMIDNull {
			errs = append(errs, fmt.Errorf("pmapi: metric %s: %w", names[i], pcp.ErrName))
			continue
		}
		m.Desc, descs = descs[0], descs[1:]
		if m.PMID == pcp.PMIDNull {
			errs = append(errs, fmt.Errorf("pmapi: metric %s: %w", names[i], pcp.ErrPMID))
		}
	}
	return list, errors.Join(errs...)
}
