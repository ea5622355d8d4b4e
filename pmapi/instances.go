package pmapi

import (
	"context"
	"fmt"

	"github.com/pcp-rtime/rtime/pcp"
	"github.com/pcp-rtime/rtime/pdu"
)

var (
	errOne      = fmt.Errorf("%w: it is not one instance of the domain", ErrProtocol)
	errNegative = fmt.Errorf("%w: an instance has a negative number", ErrProtocol)
)

// Instances returns all instances of an instance domain, in the agent's order; see
// pmGetInDom(3). The error wraps pcp.ErrInDom if the domain is not known.
func (r requests) Instances(ctx context.Context, d pcp.InDom) ([]pcp.Instance, error) {
	answer, err := r.instances(ctx, fmt.Sprintf("instances of %v", d), &pdu.InstanceReq{InDom: d, Inst: pcp.InstNull}, false)
	return answer.Instances, err
}

// InstanceName returns the name of an instance; see pmNameInDom(3). The error wraps pcp.ErrInst
// if there is no such instance.
func (r requests) InstanceName(ctx context.Context, d pcp.InDom, id int32) (string, error) {
	op := fmt.Sprintf("name of instance %d of %v", id, d)
	if id < 0 {
		return "", fmt.Errorf("pmapi: %s: %w", op, pcp.ErrInst) // pmcd would send all
	}
	answer, err := r.instances(ctx, op, &pdu.InstanceReq{InDom: d, Inst: id}, true)
	if err != nil {
		return "", err
	}
	return answer.Instances[0].Name, nil
}

// LookupInstance returns the number of an instance by its name; see pmLookupInDom(3). Some
// agents create an instance that is looked up and does not exist, within their own limits. Most
// agents compare only the part of a name before the first blank. The error wraps pcp.ErrInst if
// there is no such instance and none is created.
func (r requests) LookupInstance(ctx context.Context, d pcp.InDom, name string) (int32, error) {
	op := fmt.Sprintf("number of instance %.80q of %v", name, d)
	if name == "" {
		return 0, fmt.Errorf("pmapi: %s: %w", op, pcp.ErrInst) // pmcd would send all
	}
	answer, err := r.instances(ctx, op, &pdu.InstanceReq{InDom: d, Inst: pcp.InstNull, Name: name}, true)
	switch {
	case err != nil:
		return 0, err
	case answer.Instances[0].ID < 0:
		return 0, fmt.Errorf("pmapi: %s: %w", op, errNegative)
	}
	return answer.Instances[0].ID, nil
}

// instances asks for all instances, or for one whose name or number is known.
func (r requests) instances(ctx context.Context, op string, request *pdu.InstanceReq, one bool) (*pdu.Instance, error) {
	answer := new(pdu.Instance)
	err := r.via.exchange(ctx, &query{op: op, request: request, answer: answer, check: func() error {
		if answer.InDom != request.InDom || one && len(answer.Instances) != 1 {
			return errOne
		}
		for i := range answer.Instances {
			if !one && answer.Instances[i].ID < 0 {
				return errNegative
			}
		}
		return nil
	}})
	return answer, err
}
