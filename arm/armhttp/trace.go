package armhttp

import (
	"context"
	"fmt"
	"math/rand/v2"

	"github.com/pcp-rtime/rtime/arm"
)

// traced returns a context that carries a correlator: a new trace begins where there is
// none.
func traced(ctx context.Context) context.Context {
	if !arm.CorrelatorFromContext(ctx).IsZero() {
		return ctx
	}
	// Neither id may be 0.
	header := fmt.Sprintf("00-%016x%016x-%016x-00", rand.Uint64(), rand.Uint64()|1, rand.Uint64()|1)
	c, err := arm.CorrelatorFromTraceparent(header)
	if err != nil {
		return ctx
	}
	return arm.ContextWithCorrelator(ctx, c)
}
