package armhttp

import (
	"errors"
	"fmt"
	"hash/fnv"
	"net/http"
	"strings"
	"sync"

	"github.com/pcp-rtime/rtime/arm"
)

// Option is an option of Handler and Transport.
type Option func(*names)

// names gives requests their transactions.
type names struct {
	app   *arm.Application
	name  func(*http.Request) string
	known *sync.Map // name to *arm.Transaction
}

// Naming has a function name the transactions. It may be called by several goroutines at
// once, for a server's request when it is answered. There should be few names: a user has
// room for 65,536, and what has no room is not measured. "" measures nothing.
func Naming(f func(*http.Request) string) Option { return func(n *names) { n.name = f } }

func newNames(app *arm.Application, name func(*http.Request) string, opts []Option) names {
	n := names{app, name, new(sync.Map)}
	for _, opt := range opts {
		opt(&n)
	}
	return n
}

// of returns the transaction of a request; nil measures nothing.
func (n *names) of(r *http.Request) *arm.Transaction {
	name := n.name(r)
	if name == "" {
		return nil
	}
	if t, ok := n.known.Load(name); ok {
		return t.(*arm.Transaction)
	}
	t := n.app.Transaction(short(name), arm.Detail(name[:min(len(name), nameMax)]))
	if !errors.Is(t.Err(), arm.ErrFull) {
		n.known.Store(name, t)
	}
	return t
}

const (
	keyMax  = 31 // what counts of a name, without its blanks
	nameMax = 127
	keepEnd = 16
)

// short keeps long names apart, of which the first 31 bytes would count: it takes out the
// middle and puts a hash in its place.
func short(name string) string {
	key := strings.ReplaceAll(name, " ", "")
	if len(key) <= keyMax {
		return name[:min(len(name), nameMax)]
	}
	h := fnv.New32a()
	h.Write([]byte(key))
	hash := fmt.Sprintf("~%04x~", h.Sum32()&0xffff)
	return key[:keyMax-keepEnd-len(hash)] + hash + key[len(key)-keepEnd:]
}

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
func byPattern(pattern, m string) string {
	switch {
	case pattern == "":
		return method(m) + " other"
	case strings.ContainsAny(pattern, " \t"):
		return pattern // it names its method
	}
	return method(m) + " " + pattern
}

// byHost is the method and the host that a client asks.
func byHost(r *http.Request) string { return method(r.Method) + " " + r.URL.Host }

func statusOf(code int) arm.Status {
	switch {
	case code >= 500:
		return arm.Aborted
	case code >= 400:
		return arm.Failed
	}
	return arm.Good
}
