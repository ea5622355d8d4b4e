package main

import (
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"strings"
	"sync/atomic"
	"testing"
)

// TestHandler fetches a page by one proxy, and by one behind it.
func TestHandler(t *testing.T) {
	origin := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path != "/pool/a b" {
			http.NotFound(w, r)
			return
		}
		fmt.Fprint(w, "package")
	}))
	defer origin.Close()
	var passed atomic.Int32
	first := serve(t, "", &passed)
	second := serve(t, first, nil)
	if text, code := raw(t, first, "http://127.0.0.1:1/"); code != http.StatusBadGateway {
		t.Errorf("a server that is not there: %d %q", code, text)
	}
	for i, proxy := range []string{first, second} {
		passed.Store(0)
		text, code := raw(t, proxy, origin.URL+"/pool/a%20b")
		if code != 200 || text != "package" || passed.Load() != 1 {
			t.Errorf("proxy %d: %d %q, %d requests by the first", i+1, code, text, passed.Load())
		}
		if text, code := raw(t, proxy, origin.URL+"/nothing"); code != 404 {
			t.Errorf("proxy %d: nothing: %d %q", i+1, code, text)
		}
	}
	if text, code := raw(t, first, "/pool"); code != http.StatusBadRequest {
		t.Errorf("a path alone: %d %q", code, text)
	}
}

// serve starts a relay that counts its requests.
func serve(t *testing.T, via string, n *atomic.Int32) string {
	t.Helper()
	h, err := handler(via)
	if err != nil {
		t.Fatal(err)
	}
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if n != nil {
			n.Add(1)
		}
		h.ServeHTTP(w, r)
	}))
	t.Cleanup(s.Close)
	return s.URL
}

// raw asks a proxy for a URL as it is given.
func raw(t *testing.T, proxy, address string) (string, int) {
	t.Helper()
	r, err := http.NewRequest("GET", proxy, nil)
	if err != nil {
		t.Fatal(err)
	}
	r.URL.Opaque = address
	resp, err := http.DefaultTransport.RoundTrip(r)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	text, err := io.ReadAll(resp.Body)
	if err != nil {
		t.Fatal(err)
	}
	return string(text), resp.StatusCode
}

// TestListenIn listens in a namespace of its own, where nobody from here can connect.
func TestListenIn(t *testing.T) {
	name := fmt.Sprintf("relay-test-%d", os.Getpid())
	ip := func(args ...string) string {
		t.Helper()
		out, err := exec.Command("ip", args...).CombinedOutput()
		if err != nil {
			t.Fatalf("ip %v: %v: %s", args, err, out)
		}
		return string(out)
	}
	ip("netns", "add", name)
	t.Cleanup(func() { ip("netns", "del", name) })
	ip("-n", name, "link", "set", "lo", "up")
	l, err := listenIn("/run/netns/"+name, "127.0.0.1:3142")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	if out := ip("netns", "exec", name, "ss", "-ltn"); !strings.Contains(out, "127.0.0.1:3142") {
		t.Errorf("nobody listens in the namespace:\n%s", out)
	}
	if _, err := listenIn("/run/netns/nosuch", "127.0.0.1:3142"); err == nil {
		t.Error("listening in a namespace that is not there succeeds")
	}
}
