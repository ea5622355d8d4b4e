package armgrpc

import (
	"errors"
	"strings"
	"sync"
	"sync/atomic"

	"google.golang.org/grpc/status"

	"github.com/pcp-rtime/rtime/arm"
	"github.com/pcp-rtime/rtime/arm/internal/protocol"
)

// Option is an option of the interceptors.
type Option func(*names)

// Naming has a function name the transactions of full methods, such as
// "/bank.Accounts/Get". It is called once for a method, of the first 10,000; several
// goroutines may call it at once. "" measures nothing. A proxy, whose callers name methods
// as they like, should give them few names: a user has room for 65,536, and what has no
// room is not measured.
func Naming(f func(fullMethod string) string) Option { return func(n *names) { n.name = f } }

// Judging has a function say how calls ended, by their error, which is nil where there is
// none. Several goroutines may call it at once.
func Judging(f func(error) arm.Status) Option { return func(n *names) { n.judge = f } }

// StatusOf says how a call ended that came to an error, by its status of gRPC, and as
// arm.StatusOf where it has none.
func StatusOf(err error) arm.Status {
	s, ok := status.FromError(err)
	if !ok {
		return arm.StatusOf(err)
	}
	return protocol.GRPC(uint32(s.Code()))
}

const methodsMax = 10000

// names gives methods their transactions.
type names struct {
	app   *arm.Application
	name  func(fullMethod string) string // nil for the method itself
	judge func(error) arm.Status

	methods sync.Map // full method to *arm.Transaction
	count   atomic.Int64
}

func newNames(app *arm.Application, opts []Option) *names {
	n := &names{app: app, judge: StatusOf}
	for _, opt := range opts {
		opt(n)
	}
	return n
}

// of returns the transaction of a method; nil measures nothing.
func (n *names) of(fullMethod string) *arm.Transaction {
	if t, ok := n.methods.Load(fullMethod); ok {
		return t.(*arm.Transaction)
	}
	t := n.find(fullMethod)
	if t != nil && errors.Is(t.Err(), arm.ErrFull) || n.count.Add(1) > methodsMax {
		return t
	}
	n.methods.Store(fullMethod, t)
	return t
}

func (n *names) find(fullMethod string) *arm.Transaction {
	if n.name == nil {
		method := strings.TrimPrefix(fullMethod, "/")
		return n.app.Transaction(short(method), arm.Detail(protocol.Detail(method)))
	}
	name := n.name(fullMethod)
	if name == "" {
		return nil
	}
	return n.app.Transaction(protocol.Name(name), arm.Detail(protocol.Detail(strings.TrimPrefix(fullMethod, "/"))))
}

// short takes as many elements off the beginning of a method's package as have no room.
func short(method string) string {
	service, _, _ := strings.Cut(method, "/")
	rest := method
	for range strings.Count(service, ".") {
		if protocol.Fits(rest) {
			return rest
		}
		_, rest, _ = strings.Cut(rest, ".")
	}
	return protocol.Name(rest)
}
