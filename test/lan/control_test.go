package lan

import (
	"strings"
	"testing"

	"github.com/pcp-rtime/rtime/test/pcptest"
)

const refused = "No permission to perform requested operation"

func TestStore(t *testing.T) {
	t.Parallel()
	engines(t, func(t *testing.T, o pcptest.Options) {
		p := start(t, o, basic)
		for metric, value := range map[string]string{"interval": "2.5", "maxrate": "55", "weight": "60", "window": "30"} {
			metric = "rtime.lan.control." + metric
			p.Run("pmstore", "-h", "local:", metric, value)
			if got := p.Value(metric); got != value {
				t.Errorf("%s: %q was stored, %q is there", metric, value, got)
			}
		}
		logged(p, t, "interval set to 2.5 by uid 0")
		p.Run("pmstore", "-h", "local:", "rtime.lan.control.add", "127.0.0.3")
		present(p, t, "127.0.0.1", "::1", "127.0.0.2", "127.0.0.3")
		answered(p, t, "127.0.0.3")
		p.Run("pmstore", "-h", "local:", "rtime.lan.control.remove", "127.0.0.2")
		present(p, t, "127.0.0.1", "::1", "127.0.0.3")
		if ids := p.IDs("rtime.lan.requests"); ids["127.0.0.3"] != 3 || ids["127.0.0.1"] != 0 {
			t.Errorf("ids: %v", ids)
		}
		p.Run("pmstore", "-h", "local:", "rtime.lan.control.add", "127.0.0.2")
		present(p, t, "127.0.0.1", "::1", "127.0.0.2", "127.0.0.3")
		if ids := p.IDs("rtime.lan.requests"); ids["127.0.0.2"] != 2 {
			t.Errorf("127.0.0.2 had the id 2 and has now, removed and added again: %v", ids)
		}
	})
}

func TestBadStore(t *testing.T) {
	t.Parallel()
	p := start(t, options(t), basic)
	for _, tt := range []struct{ metric, value, want string }{
		{"rtime.lan.control.interval", "0.01", "Bad input to pmstore"},
		{"rtime.lan.control.interval", "86401", "Bad input to pmstore"},
		{"rtime.lan.control.weight", "101", "Bad input to pmstore"},
		{"rtime.lan.control.maxrate", "-1", "Bad input to pmstore"},
		{"rtime.lan.control.window", "0", "Bad input to pmstore"},
		{"rtime.lan.control.add", "not a host", "Bad input to pmstore"},
		{"rtime.lan.control.add", "10.1", "Bad input to pmstore"},
		{"rtime.lan.control.remove", "127.0.0.99", "Unknown or illegal instance identifier"},
		{"rtime.lan.requests", "1", refused},
		{"rtime.lan.agent.hosts", "1", refused},
	} {
		r := p.Try("pmstore", "-h", "local:", tt.metric, tt.value)
		if r.Code == 0 || !strings.Contains(r.Out+r.Err, tt.want) {
			t.Errorf("want %q: %v", tt.want, r)
		}
	}
	logged(p, t, "interval 0.01 is not within 0.1..86400")
	logged(p, t, "weight 101 is not within 0..100")
	logged(p, t, `there is no host "127.0.0.99"`)
	if got := p.Value("rtime.lan.control.interval"); got != "0.5" {
		t.Errorf("interval is %s after stores that were refused", got)
	}
	present(p, t, "127.0.0.1", "::1", "127.0.0.2")
}

func TestStoreByOthers(t *testing.T) {
	t.Parallel()
	engines(t, func(t *testing.T, o pcptest.Options) {
		p := start(t, o, basic)
		uid, gid := pcptest.UID(t)
		if r := p.TryAs(uid, gid, "pmstore", "-h", "local:", "rtime.lan.control.weight", "50"); r.Code != 0 {
			t.Errorf("the user pcp may store: %v", r)
		}
		for _, metric := range []string{"interval", "maxrate", "weight", "window"} {
			r := p.TryAs(nobody, nogroup, "pmstore", "-h", "local:", "rtime.lan.control."+metric, "20")
			if r.Code == 0 || !strings.Contains(r.Out+r.Err, refused) {
				t.Errorf("want %q: %v", refused, r)
			}
			logged(p, t, "rule store", "uid 65534 may not store into rtime.lan.control."+metric)
		}
		for _, metric := range []string{"add", "remove"} {
			r := p.TryAs(nobody, nogroup, "pmstore", "-h", "local:", "rtime.lan.control."+metric, "127.0.0.1")
			if r.Code == 0 || !strings.Contains(r.Out+r.Err, refused) {
				t.Errorf("want %q: %v", refused, r)
			}
			logged(p, t, "rule store", "uid 65534 may not store into rtime.lan.control."+metric)
		}
		r := p.Try("pmstore", "-h", "localhost", "rtime.lan.control.interval", "20")
		if r.Code == 0 || !strings.Contains(r.Out+r.Err, refused) {
			t.Errorf("over TCP: want %q: %v", refused, r)
		}
		logged(p, t, "rule store", "unknown user may not store into rtime.lan.control.interval")
		if got := p.Value("rtime.lan.control.interval"); got != "0.5" {
			t.Errorf("interval is %s after stores that were refused", got)
		}
	})
}
