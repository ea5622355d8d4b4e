package main

import (
	"github.com/pcp-rtime/rtime/pcp"
	"github.com/pcp-rtime/rtime/pdu"
)

const (
	domain = 400 // of our own agents
	items  = 8   // metrics over each instance domain
)

// shape is what a fetch asks for.
type shape struct {
	name   string
	target float64 // our agent's CPU per fetch as a share of the C agent's; 0: none
	insts  int     // instances of each of the eight metrics; 0: one metric with one value
	wanted int     // how many of them a profile names; 0: all
	anew   bool    // the profile is sent with each fetch, as with clients that differ
	paced  bool    // 100 fetches a second instead of as many as can be
}

var shapes = []shape{
	{name: "1 value", target: 1.2},
	{name: "8 x 10", target: 0.7, insts: 10},
	{name: "8 x 1,000", target: 0.25, insts: 1000},
	{name: "8 x 10,000", target: 0.25, insts: 10000},
	{name: "8 x 1 of 10,000", target: 0.05, insts: 10000, wanted: 1},
	{name: "8 x 1,000 of 10,000", target: 0.05, insts: 10000, wanted: 1000},
	{name: "the same, profile anew", insts: 10000, wanted: 1000, anew: true},
}

var pacedShapes = []shape{
	{name: "1 value, 100/s", target: 3, paced: true},
	{name: "8 x 10, 100/s", target: 3, insts: 10, paced: true},
}

// cluster is the cluster of the shape's metrics in our agents.
func (s shape) cluster() int {
	switch s.insts {
	case 10:
		return 1
	case 1000:
		return 2
	case 10000:
		return 3
	}
	return 0
}

// values is how many instances of each metric are in an answer.
func (s shape) values() int {
	if s.wanted > 0 {
		return s.wanted
	}
	return max(s.insts, 1)
}

// profile names instances at equal distances, so that they lie all over the domain.
func (s shape) profile() *pdu.Profile {
	if s.wanted == 0 {
		return &pdu.Profile{}
	}
	list := make([]int32, s.wanted)
	for i := range list {
		list[i] = int32(i*s.insts/s.wanted + s.insts/s.wanted/2)
	}
	return &pdu.Profile{Default: pdu.Exclude, InDoms: []pdu.InDomProfile{{
		InDom: pcp.MakeInDom(domain, s.cluster()-1), State: pdu.Exclude, List: list,
	}}}
}

// metrics lists the shape's metrics in our agents.
func (s shape) metrics(domain int) []pcp.PMID {
	if s.insts == 0 {
		return []pcp.PMID{pcp.MakePMID(domain, 0, 0)}
	}
	var list []pcp.PMID
	for item := range items {
		list = append(list, pcp.MakePMID(domain, s.cluster(), item))
	}
	return list
}
