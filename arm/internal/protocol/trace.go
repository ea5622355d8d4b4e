package protocol

import (
	"context"
	"encoding/binary"
	"encoding/hex"
	"math/rand/v2"

	"github.com/pcp-rtime/rtime/arm"
)

// Traced returns a context that carries a correlator: a new trace begins where there is
// none.
func Traced(ctx context.Context) context.Context {
	if !arm.CorrelatorFromContext(ctx).IsZero() {
		return ctx
	}
	// Neither id may be 0.
	var ids [24]byte
	binary.NativeEndian.PutUint64(ids[:], rand.Uint64())
	binary.NativeEndian.PutUint64(ids[8:], rand.Uint64()|1)
	binary.NativeEndian.PutUint64(ids[16:], rand.Uint64()|1)
	header := append(make([]byte, 0, 55), "00-"...)
	header = append(hex.AppendEncode(header, ids[:16]), '-')
	header = append(hex.AppendEncode(header, ids[16:]), "-00"...)
	c, err := arm.CorrelatorFromTraceparent(string(header))
	if err != nil {
		return ctx
	}
	return arm.ContextWithCorrelator(ctx, c)
}

// Received returns a context with the correlator of who sent these values of a header
// traceparent, or that of a new trace.
func Received(ctx context.Context, traceparent []string) context.Context {
	if len(traceparent) == 1 {
		if c, err := arm.CorrelatorFromTraceparent(traceparent[0]); err == nil {
			return arm.ContextWithCorrelator(ctx, c)
		}
	}
	return Traced(ctx)
}
