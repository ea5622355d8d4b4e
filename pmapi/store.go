package pmapi

import (
	"context"
	"fmt"

	"github.com/pcp-rtime/rtime/pcp"
	"github.com/pcp-rtime/rtime/pdu"
)

// Store stores a value into one instance of a metric; see pmStore(3). inst is pcp.InstNull for
// a metric without an instance domain. The value is converted to the metric's type, as
// pcp.Value.Convert does. The error wraps pcp.ErrPermission if pmcd or the agent does not let
// this client store, or another code that the agent has answered.
//
// A store is never sent twice. If the connection breaks before the answer has come, the value
// may or may not have been stored, and MayRetry is false.
func (r requests) Store(ctx context.Context, m *Metric, inst int32, v pcp.Value) error {
	op := "the store into " + m.Name
	v, err := v.Convert(m.Type)
	if err != nil {
		return fmt.Errorf("pmapi: %s: %w", op, err)
	}
	return r.via.exchange(ctx, &store{op: op, result: pdu.Result{
		Sets: []pdu.ValueSet{{PMID: m.PMID, Values: []pdu.InstValue{{Inst: inst, Value: v}}}}}})
}

type store struct {
	op     string
	result pdu.Result
}

func (s *store) name() string     { return s.op }
func (s *store) repeatable() bool { return false }

func (s *store) append(c *Conn, b []byte) ([]byte, error) {
	if b = s.result.Append(b, 0); len(b) > maxRequest {
		return b[:0], ErrTooLong
	}
	return b, nil
}

func (s *store) take(c *Conn, b []byte) (bool, error) {
	var e pdu.Error
	switch err := e.Parse(b); {
	case err != nil:
		return false, err
	case e.Code > 0:
		return false, fmt.Errorf("%w: it is the notice %d", ErrProtocol, e.Code)
	case e.Code < 0:
		return true, e.Code
	}
	return true, nil
}
