package pmapi

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/pcp-rtime/rtime/pcp"
	"github.com/pcp-rtime/rtime/pdu"
)

// LabelSets returns the labels of one level of the hierarchy, without those of the levels
// above it; see pmLookupLabels(3). ident is the number of a domain, a PMID or a pcp.InDom, as
// the kind demands; pcp.LabelContext ignores it. There is at most one set, except that
// pcp.LabelInstances gives one for each instance. Values have the types that encoding/json
// gives them. It is not an error if there are no labels. ErrNotOffered is an error.
func (r requests) LabelSets(ctx context.Context, kind pcp.LabelType, ident uint32) ([]pdu.LabelSet, error) {
	if kind == pcp.LabelContext {
		ident = ^uint32(0)
	}
	var answer pdu.Label
	err := r.via.exchange(ctx, &query{op: fmt.Sprintf("labels of kind %d of %#x", kind, ident), needs: pcp.FeatureLabels,
		request: &pdu.LabelReq{Ident: ident, Kind: kind}, answer: &answer,
		check: func() error {
			if answer.Ident != ident || answer.Kind != kind {
				return fmt.Errorf("%w: labels of kind %d of %#x", ErrProtocol, answer.Kind, answer.Ident)
			}
			return nil
		}})
	if errors.Is(err, pcp.ErrNoLabels) {
		return nil, nil
	}
	return answer.Sets, err
}

// Labels returns the labels of a metric, merged over the levels context, domain, instance
// domain, cluster and item, and sorted by name. Of labels with the same name the last one is
// kept. InstanceLabels returns those of instances.
func (r requests) Labels(ctx context.Context, d pcp.Desc) (pcp.Labels, error) {
	levels := []struct {
		kind  pcp.LabelType
		ident uint32
	}{
		{pcp.LabelContext, 0},
		{pcp.LabelDomain, uint32(d.PMID.Domain())},
		{pcp.LabelInDom, uint32(d.InDom)},
		{pcp.LabelCluster, uint32(d.PMID)},
		{pcp.LabelItem, uint32(d.PMID)},
	}
	var all pcp.Labels
	for _, l := range levels {
		if l.kind == pcp.LabelInDom && d.InDom == pcp.InDomNull {
			continue
		}
		sets, err := r.LabelSets(ctx, l.kind, l.ident)
		if err != nil {
			return nil, err
		}
		for _, s := range sets {
			all = append(all, s.Labels...)
		}
	}
	return merge(all), nil
}

// merge sorts labels by name and keeps the last of each name.
func merge(labels pcp.Labels) pcp.Labels {
	slices.Reverse(labels)
	byName := func(a, b pcp.Label) int { return cmp.Compare(a.Name, b.Name) }
	slices.SortStableFunc(labels, byName)
	return slices.CompactFunc(labels, func(a, b pcp.Label) bool { return a.Name == b.Name })
}

// InstanceLabels returns the labels of the instances of an instance domain by their numbers,
// without those of the levels above. An instance without labels may be missing.
func (r requests) InstanceLabels(ctx context.Context, d pcp.InDom) (map[int32]pcp.Labels, error) {
	sets, err := r.LabelSets(ctx, pcp.LabelInstances, uint32(d))
	if err != nil {
		return nil, err
	}
	labels := make(map[int32]pcp.Labels, len(sets))
	for _, s := range sets {
		labels[s.Inst] = s.Labels
	}
	return labels, nil
}
