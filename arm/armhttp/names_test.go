package armhttp

import (
	"net/http"
	"net/http/httptest"
	"testing"

	"github.com/pcp-rtime/rtime/arm"
)

// TestOnce: a route's transaction is looked up without making its name again.
func TestOnce(t *testing.T) {
	app := arm.NewApplication("app", arm.Dir(t.TempDir()))
	defer app.Close()
	r := httptest.NewRequest("GET", "/any", nil)
	r.Pattern = "/any"
	server := Handler(app, http.NotFoundHandler()).(*handler)
	client := Transport(app, nil).(*transport)
	for what, n := range map[string]*names{"server": &server.names, "client": &client.names} {
		first := n.of(r)
		if got := testing.AllocsPerRun(100, func() {
			if n.of(r) != first {
				t.Error("another transaction")
			}
		}); got != 0 || first == nil || first.Err() != nil {
			t.Errorf("%s: %v allocations for %v", what, got, first.Err())
		}
	}
}

func TestShort(t *testing.T) {
	for _, c := range []struct {
		name    string
		pattern bool
		want    string
	}{
		{"GET /accounts/{id}", true, "GET /accounts/{id}"},
		{"GET /accounts/{account}/{$}", true, "GET /accounts/{account}/{$}"},
		{"GET /customers/{customer}/order", true, "GET /customers/{customer}/order"},
		{"POST /customers/{customer}/invoices", true, "POST /customers/{}/invoices"},
		{"POST /customers/{customer}/invoices", false, "POST/cust~9863~stomer}/invoices"},
		{"PUT /customers/{customer}/orders/{order...}", true, "PUT /customers/{}/orders/{...}"},
		{"PUT /customers/{customer}/files/{$}", true, "PUT /customers/{}/files/{$}"},
	} {
		if got := short(c.name, c.pattern); got != c.want {
			t.Errorf("%s: %s, want %s", c.name, got, c.want)
		}
	}
}
