package armhttp

import (
	"errors"
	"net/http"
	"regexp"
	"strings"
	"sync"

	"github.com/pcp-rtime/rtime/arm"
	"github.com/pcp-rtime/rtime/arm/internal/protocol"
)

// Option is an option of Handler and Transport.
type Option func(*names)

// names gives requests their transactions.
type names struct {
	app    *arm.Application
	route  func(*http.Request) route
	judge  func(code int) arm.Status
	routes sync.Map // route to *arm.Transaction
}

// route is what requests of one transaction have in common. The zero route is not measured.
type route struct {
	method  string // "" where name is all of it
	name    string
	pattern bool // name is a ServeMux's, whose parameters have names of their own
}

// Naming has a function name the transactions. It may be called by several goroutines at
// once, for a server's request when it is answered. There should be few names: a user has
// room for 65,536, and what has no room is not measured. "" measures nothing.
func Naming(f func(*http.Request) string) Option {
	return func(n *names) { n.route = func(r *http.Request) route { return route{name: f(r)} } }
}

// Judging has a function say what a response's status code means, in place of the rule of
// the package. Several goroutines may call it at once.
func Judging(f func(code int) arm.Status) Option { return func(n *names) { n.judge = f } }

func (n *names) init(app *arm.Application, by func(*http.Request) route, opts []Option) {
	n.app, n.route, n.judge = app, by, protocol.HTTP
	for _, opt := range opts {
		opt(n)
	}
}

// of returns the transaction of a request; nil measures nothing. A route is looked up by
// its name once.
func (n *names) of(r *http.Request) *arm.Transaction {
	route := n.route(r)
	if route.name == "" {
		return nil
	}
	if t, ok := n.routes.Load(route); ok {
		return t.(*arm.Transaction)
	}
	name := route.String()
	t := n.app.Transaction(short(name, route.pattern), arm.Detail(protocol.Detail(name)))
	if !errors.Is(t.Err(), arm.ErrFull) {
		n.routes.Store(route, t)
	}
	return t
}

func (r route) String() string {
	if r.method == "" {
		return r.name
	}
	return r.method + " " + r.name
}

// short keeps long names apart, of which only the beginning would count. It leaves out the
// names of a pattern's parameters, without which no two patterns of a ServeMux are the
// same. If that is not enough, a hash stands for the middle.
func short(name string, pattern bool) string {
	if pattern && !protocol.Fits(name) {
		if bare := parameter.ReplaceAllString(name, "{$1}"); protocol.Fits(bare) {
			return bare
		}
	}
	return protocol.Name(name)
}

// parameter is a parameter of a pattern; what follows its name is kept.
var parameter = regexp.MustCompile(`\{[^{}.$]+(\.\.\.)?\}`)

// method keeps a request from naming transactions as it likes: what is no usual method is
// "other".
func method(m string) string {
	switch m {
	case "":
		return http.MethodGet
	case http.MethodGet, http.MethodHead, http.MethodPost, http.MethodPut, http.MethodPatch,
		http.MethodDelete, http.MethodConnect, http.MethodOptions, http.MethodTrace:
		return m
	}
	return "other"
}

// byPattern is the pattern that a ServeMux has found, with the method.
func byPattern(pattern, m string) route {
	switch {
	case pattern == "":
		return route{method: method(m), name: "other"}
	case strings.ContainsAny(pattern, " \t"):
		return route{name: pattern, pattern: true} // it names its method
	}
	return route{method(m), pattern, true}
}

// byHost is the method and the host that a client asks.
func byHost(r *http.Request) route {
	if r.URL.Host == "" {
		return route{name: method(r.Method)}
	}
	return route{method: method(r.Method), name: r.URL.Host}
}
