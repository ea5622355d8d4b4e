package lan

import (
	"errors"
	"fmt"
	"strconv"
	"strings"
	"testing"

	"github.com/pcp-rtime/rtime/test/pcptest"
)

// Error codes of PCP.
const (
	errInst       = -12360
	errPermission = -12387
	errAgain      = -12389
)

const lookupScript = `
import sys, cpmapi
from pcp import pmapi
c = pmapi.pmContext(cpmapi.PM_CONTEXT_HOST, sys.argv[1])
d = c.pmLookupDescs(c.pmLookupName("rtime.lan.rtt"))[0]
try:
    print(c.pmLookupInDom(d, sys.argv[2]))
except pmapi.pmErr as e:
    print(e.code)
`

// settled looks an instance up as root until the name server has answered.
func settled(p *pcptest.PCP, t *testing.T, host string) int {
	t.Helper()
	id := errAgain
	pcptest.Eventually(t, "the look-up of "+host+" has a result", func() error {
		if id = lookup(p, t, true, "local:", host); id == errAgain {
			return errors.New("the name server is still being asked")
		}
		return nil
	})
	return id
}

// lookup looks an instance up by name through the PMAPI, as root or as nobody, and
// returns its id or an error code.
func lookup(p *pcptest.PCP, t *testing.T, root bool, context, host string) int {
	t.Helper()
	var r pcptest.Result
	if root {
		r = p.Try("python3", "-c", lookupScript, context, host)
	} else {
		r = p.TryAs(nobody, nogroup, "python3", "-c", lookupScript, context, host)
	}
	n, err := strconv.Atoi(strings.TrimSpace(r.Out))
	if err != nil || r.Code != 0 {
		t.Fatal(r)
	}
	return n
}

func TestCreateByLookup(t *testing.T) {
	t.Parallel()
	engines(t, func(t *testing.T, o pcptest.Options) {
		p := start(t, o, basic)
		contains(t, p.Run("pmval", "-h", "local:", "-s", "1", "-t", "0.2", "-i", "127.0.0.9", "rtime.lan.in_flight"), "127.0.0.9")
		logged(p, t, `host "127.0.0.9" (127.0.0.9) added for uid 0, who looked it up`)
		if id := lookup(p, t, true, "local:", "127.0.0.10"); id != 4 {
			t.Errorf("pmLookupInDom of a new host: %d, want 4", id)
		}
		if id := lookup(p, t, true, "local:", "127.0.0.10"); id != 4 {
			t.Errorf("pmLookupInDom of the host again: %d, want 4", id)
		}
		// A user who may not create hosts may look at those that are there.
		if id := lookup(p, t, false, "local:", "127.0.0.10"); id != 4 {
			t.Errorf("pmLookupInDom of the host by another user: %d, want 4", id)
		}
		if id := settled(p, t, "localhost"); id != 5 {
			t.Errorf("pmLookupInDom of a name: %d, want 5", id)
		}
		p.WriteFile("logger.conf", `log mandatory on 200 msec { rtime.lan.requests [ "127.0.0.11" "127.0.0.1" ] }`+"\n")
		p.Run("pmlogger", "-h", "local:", "-c", p.Path("logger.conf"), "-s", "3", "-l", p.Path("log/logger.log"), p.Path("archive"))
		out := p.Run("pmdumplog", "-i", p.Path("archive"))
		contains(t, out, `"127.0.0.11"`)
		answered(p, t, "127.0.0.1", "::1", "127.0.0.2", "127.0.0.9", "127.0.0.10", "127.0.0.11", "localhost")
		if got := p.Value("rtime.lan.agent.on_demand"); got != "4" {
			t.Errorf("%s hosts on demand, want 4", got)
		}
	})
}

func TestRefusedLookups(t *testing.T) {
	t.Parallel()
	engines(t, func(t *testing.T, o pcptest.Options) {
		p := start(t, o, basic+"maxhosts 2\ndeny 127.0.1.0/24 ::/8\nallow 127.0.0.0/16 224.0.0.0/4\n")
		check := func(want int, root bool, context, host string, line ...string) {
			t.Helper()
			if got := lookup(p, t, root, context, host); got != want {
				t.Errorf("look-up of %q: %d, want %d", host, got, want)
			}
			logged(p, t, append(line, fmt.Sprintf("%q", host), "refused")...)
		}
		check(errPermission, false, "local:", "127.0.0.20", "uid 65534", "rule create")
		check(errPermission, true, "localhost", "127.0.0.21", "unknown user", "rule create")
		check(errPermission, true, "local:", "127.0.1.7", "uid 0", "rule allow/deny", "127.0.1.7 is in deny 127.0.1.0/24")
		check(errPermission, true, "local:", "127.1.0.7", "uid 0", "rule allow/deny", "127.1.0.7 is in none of the ranges of allow")
		check(errPermission, true, "local:", "224.0.0.1", "uid 0", "rule allow/deny", "multicast")
		check(errPermission, true, "local:", "::2", "uid 0", "rule allow/deny", "is in deny ::/8")
		check(errInst, true, "local:", "127.1", "not a valid host name")
		check(errInst, true, "local:", "a..b", "not a valid host name")
		for _, host := range []string{"127.0.0.31", "127.0.0.32"} {
			if got := lookup(p, t, true, "local:", host); got < 0 {
				t.Errorf("look-up of %q: %d", host, got)
			}
		}
		check(errPermission, true, "local:", "127.0.0.33", "uid 0", "rule maxhosts")
		present(p, t, "127.0.0.1", "::1", "127.0.0.2", "127.0.0.31", "127.0.0.32")
		if got := p.Value("rtime.lan.agent.refused"); got != "9" {
			t.Errorf("agent.refused is %s, want 9", got)
		}
		// For pmval, a host that was refused does not exist.
		r := p.TryAs(nobody, nogroup, "pmval", "-h", "local:", "-s", "1", "-i", "127.0.0.20", "rtime.lan.rtt")
		if r.Code == 0 {
			t.Errorf("pmval of a host that was refused: %v", r)
		}
		contains(t, r.Err, "instance 127.0.0.20 not available")
	})
}

// TestUnresolvable has no name server: the namespace has nothing but its own
// loopback interface.
func TestUnresolvable(t *testing.T) {
	t.Parallel()
	o := options(t)
	o.Namespace = true
	p := start(t, o, basic+"host nosuch.invalid\n")
	present(p, t, "127.0.0.1", "::1", "127.0.0.2", "nosuch.invalid")
	answered(p, t, "127.0.0.1", "::1", "127.0.0.2")
	if v := p.Values("rtime.lan.address"); len(v) != 3 {
		t.Errorf("a host that cannot be resolved has an address: %v", v)
	}
	if got := p.Number("rtime.lan.requests", "nosuch.invalid"); got != 0 {
		t.Errorf("%v requests to a host without address", got)
	}
	if got := settled(p, t, "unknown.invalid"); got != errInst {
		t.Fatalf("look-up of a name that cannot be resolved: %d", got)
	}
	logged(p, t, `"unknown.invalid"`, "refused", "the name has no usable address")
	present(p, t, "127.0.0.1", "::1", "127.0.0.2", "nosuch.invalid")
	if got := p.Value("rtime.lan.agent.without_address"); got != "1" {
		t.Errorf("agent.without_address is %s, want 1", got)
	}
}

func TestCreateByAll(t *testing.T) {
	t.Parallel()
	p := start(t, options(t), basic+"create all\n")
	if id := lookup(p, t, false, "local:", "127.0.0.40"); id != 3 {
		t.Errorf("look-up by a local user: %d, want 3", id)
	}
	if got := lookup(p, t, true, "localhost", "127.0.0.41"); got != errPermission {
		t.Errorf("look-up over TCP: %d, want %d", got, errPermission)
	}
}

// TestExpiry: a host on demand is removed when nobody has asked for it in a while, even if
// clients ask for others.
func TestExpiry(t *testing.T) {
	t.Parallel()
	p := start(t, options(t), basic+"expire 2\n")
	id := lookup(p, t, true, "local:", "127.0.0.50")
	if id != 3 {
		t.Fatalf("id %d, want 3", id)
	}
	pcptest.Eventually(t, "the host is gone", func() error {
		p.Run("pmval", "-h", "local:", "-s", "1", "-i", "127.0.0.1", "rtime.lan.rtt")
		if got := p.Value("rtime.lan.agent.on_demand"); got != "0" {
			return fmt.Errorf("%s hosts on demand", got)
		}
		return nil
	})
	logged(p, t, `host "127.0.0.50" removed: nobody has asked for it`)
	present(p, t, "127.0.0.1", "::1", "127.0.0.2")
	if again := lookup(p, t, true, "local:", "127.0.0.50"); again != id {
		t.Errorf("the host had the id %d and now has %d", id, again)
	}
}
