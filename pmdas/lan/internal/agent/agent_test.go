//go:build linux

package agent

import (
	"bytes"
	"context"
	"errors"
	"log"
	"math"
	"net"
	"net/netip"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/pcp-rtime/rtime/pcp"
	"github.com/pcp-rtime/rtime/pmda"
	"github.com/pcp-rtime/rtime/pmda/pmdatest"
	"github.com/pcp-rtime/rtime/pmdas/lan/internal/probe"
)

// names resolves what a test says, at once or never.
type names map[string]string

func (n names) LookupNetIP(ctx context.Context, _, host string) ([]netip.Addr, error) {
	addr, ok := n[host]
	if !ok {
		return nil, &net.DNSError{Err: "no such host", Name: host, IsNotFound: true}
	}
	if addr == "" {
		<-ctx.Done()
		return nil, ctx.Err()
	}
	return []netip.Addr{netip.MustParseAddr(addr)}, nil
}

// journal is a log that a test can read.
type journal struct {
	mu sync.Mutex
	b  bytes.Buffer
}

func (j *journal) Write(b []byte) (int, error) {
	j.mu.Lock()
	defer j.mu.Unlock()
	return j.b.Write(b)
}

func (j *journal) String() string {
	j.mu.Lock()
	defer j.mu.Unlock()
	return j.b.String()
}

// configured serves an agent that has read a configuration.
func configured(t *testing.T, config string, known names) (*rig, *journal, string) {
	t.Helper()
	file := filepath.Join(t.TempDir(), "rtlan.conf")
	if err := os.WriteFile(file, []byte(config), 0o644); err != nil {
		t.Fatal(err)
	}
	a := newAgent()
	a.ConfigFile, a.engineFlag, a.resolver, a.Mute = file, probe.EngineLinux, known, true
	j := new(journal)
	r := &rig{t: t, agent: a}
	r.conn = pmdatest.StartOptions(t, a.declare(), pmda.Options{Log: log.New(j, "", 0), StateDir: t.TempDir()})
	r.conn.Client(0, 0, 0, 1)
	return r, j, file
}

// serve runs f where the agent's fields may be looked at.
func (r *rig) serve(f func()) {
	done := make(chan struct{})
	r.agent.Server.Do(func() { f(); close(done) })
	<-done
}

func TestLookUp(t *testing.T) {
	known := names{"farvel": "127.0.0.3", "router": "127.9.0.1", "slow": "", "many": "224.0.0.1"}
	for _, c := range []struct {
		name   string
		config string
		uid    int
		host   string
		want   error
		rule   string // in the log
	}{
		{"root may", "", 0, "farvel", nil, "for uid 0"},
		{"an address", "", 0, "127.0.0.4", nil, ""},
		{"others may not", "", 12345, "farvel", pcp.ErrPermission, "rule create"},
		{"unless the configuration says so", "create all\n", 12345, "farvel", nil, ""},
		{"nobody", "create none\n", 0, "farvel", pcp.ErrPermission, "rule create"},
		{"denied", "deny 127.9.0.0/16\n", 0, "router", pcp.ErrPermission, "127.9.0.0/16"},
		{"not allowed", "allow 127.0.0.0/24\n", 0, "router", pcp.ErrPermission, "none of the ranges of allow"},
		{"multicast", "", 0, "many", pcp.ErrPermission, "multicast"},
		{"no room", "maxhosts 0\n", 0, "farvel", pcp.ErrPermission, "rule maxhosts"},
		{"unknown name", "", 0, "nosuch", pcp.ErrInst, "no such host"},
		{"no name at all", "", 0, "no/name", pcp.ErrInst, "not a valid host name"},
		{"slow name server", "", 0, "slow", pcp.ErrAgain, "has not answered yet"},
	} {
		t.Run(c.name, func(t *testing.T) {
			r, j, _ := configured(t, c.config, known)
			r.conn.Client(1, c.uid, c.uid, 1)
			id, err := r.conn.Lookup(r.agent.hosts.ID(), c.host)
			for c.want != pcp.ErrAgain && errors.Is(err, pcp.ErrAgain) { // the resolver had no turn yet
				id, err = r.conn.Lookup(r.agent.hosts.ID(), c.host)
			}
			if !errors.Is(err, c.want) || (c.want == nil) != (err == nil) {
				t.Fatalf("look-up of %q: %d, %v; want %v", c.host, id, err, c.want)
			}
			if !strings.Contains(j.String(), c.rule) {
				t.Errorf("the log does not name the rule %q:\n%s", c.rule, j)
			}
			want := 0
			if c.want == nil {
				want = 1
			}
			if got := r.conn.Instances(r.agent.hosts.ID()); len(got) != want {
				t.Errorf("instances %v, want %d", got, want)
			}
		})
	}
}

func TestUnknownClientMayNothing(t *testing.T) {
	r, _, _ := configured(t, "create all\n", names{"farvel": "127.0.0.3"})
	r.conn.Slot = 9 // pmcd told nothing of this one: it came over TCP
	if _, err := r.conn.Lookup(r.agent.hosts.ID(), "farvel"); !errors.Is(err, pcp.ErrPermission) {
		t.Errorf("look-up: %v", err)
	}
	if err := r.conn.Store("rtime.lan.control.interval", "", pcp.Num(1.0)); !errors.Is(err, pcp.ErrPermission) {
		t.Errorf("store: %v", err)
	}
}

func TestControl(t *testing.T) {
	r, j, _ := configured(t, "", names{"farvel": "127.0.0.3"})
	for _, c := range []struct {
		metric string
		value  pcp.Value
		want   error
	}{
		{"interval", pcp.Num(0.5), nil},
		{"interval", pcp.Num(0.0), pcp.ErrBadStore},
		{"maxrate", pcp.Num(50.0), nil},
		{"maxrate", pcp.Num(-1.0), pcp.ErrBadStore},
		{"weight", pcp.Num(20.0), nil},
		{"weight", pcp.Num(101.0), pcp.ErrBadStore},
		{"window", pcp.Num(30.0), nil},
		{"add", pcp.Str("farvel"), nil},
		{"add", pcp.Str("no name"), pcp.ErrBadStore},
		{"add", pcp.Str("224.0.0.1"), pcp.ErrBadStore},
		{"add", pcp.Str("ff02::1"), pcp.ErrBadStore},
		{"add", pcp.Str("0.0.0.0"), pcp.ErrBadStore},
		{"interval", pcp.Num(math.NaN()), pcp.ErrBadStore},
		{"remove", pcp.Str("nosuch"), pcp.ErrInst},
	} {
		err := r.conn.Store("rtime.lan.control."+c.metric, "", c.value)
		if !errors.Is(err, c.want) || (c.want == nil) != (err == nil) {
			t.Errorf("store %v into %s: %v, want %v", c.value, c.metric, err, c.want)
		}
		if c.want == nil {
			got, err := r.conn.Value("rtime.lan.control."+c.metric, "")
			if err != nil || got.String() != c.value.String() {
				t.Errorf("%s = %v, %v after %v was stored", c.metric, got, err, c.value)
			}
		}
	}
	r.until("a response", func() bool { return r.get("responses", "farvel") > 0 })
	if err := r.conn.Store("rtime.lan.control.remove", "", pcp.Str("farvel")); err != nil {
		t.Errorf("remove: %v", err)
	}
	if got := r.conn.Instances(r.agent.hosts.ID()); len(got) != 0 {
		t.Errorf("instances %v after remove", got)
	}
	r.conn.Client(2, 12345, 12345, 1)
	if err := r.conn.Store("rtime.lan.control.add", "", pcp.Str("farvel")); !errors.Is(err, pcp.ErrPermission) {
		t.Errorf("store by another user: %v", err)
	}
	if !strings.Contains(j.String(), "rule store: uid 12345") {
		t.Errorf("the log does not name the rule:\n%s", j)
	}
}

func TestReload(t *testing.T) {
	r, _, file := configured(t, "interval 5\nhost 127.0.0.2 127.0.0.3\n", nil)
	ids := func() map[string]int32 {
		m := make(map[string]int32)
		for _, i := range r.conn.Instances(r.agent.hosts.ID()) {
			m[i.Name] = i.ID
		}
		return m
	}
	before := ids()
	reload := func(text string) (err error) {
		if err := os.WriteFile(file, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
		r.serve(func() { err = r.agent.reload() })
		return err
	}
	err := reload("interval 1\nweight 300\nhost 127.0.0.9\n")
	if err == nil || !strings.Contains(err.Error(), "rtlan.conf:2") || !strings.Contains(err.Error(), "weight") {
		t.Errorf("bad file: %v", err)
	}
	if got := ids(); len(got) != 2 || r.agent.prober.Settings().Interval != 5*time.Second {
		t.Errorf("a bad file changed something: %v, %+v", got, r.agent.prober.Settings())
	}
	if err := reload("maxrate 20\nhost 127.0.0.3 127.0.0.4\n"); err != nil {
		t.Fatal(err)
	}
	after := ids()
	if len(after) != 2 || after["127.0.0.3"] != before["127.0.0.3"] || after["127.0.0.4"] <= before["127.0.0.3"] {
		t.Errorf("hosts %v before, %v after", before, after)
	}
	if s := r.agent.prober.Settings(); s.MaxRate != 20 || s.Interval != 5*time.Second {
		t.Errorf("settings %+v: what the file does not give is to stay", s)
	}
	if err := r.conn.Store("rtime.lan.control.weight", "", pcp.Num(33.0)); err != nil {
		t.Fatal(err)
	}
	if err := reload("host 127.0.0.2\n"); err != nil {
		t.Fatal(err)
	}
	if s := r.agent.prober.Settings(); s.Weight != 33 {
		t.Errorf("settings %+v: what was stored is to stay, unless the file says otherwise", s)
	}
	if got := ids(); got["127.0.0.2"] != before["127.0.0.2"] {
		t.Errorf("127.0.0.2 comes back as %v, was %v", got, before)
	}
}

func TestExpire(t *testing.T) {
	r, _, _ := configured(t, "expire 1\nhost 127.0.0.2\n", nil)
	if _, err := r.conn.Lookup(r.agent.hosts.ID(), "127.0.0.3"); err != nil {
		t.Fatal(err)
	}
	r.until("the host on demand to go", func() bool {
		r.serve(r.agent.expire)
		return len(r.conn.Instances(r.agent.hosts.ID())) == 1
	})
	if got := r.conn.Instances(r.agent.hosts.ID()); got[0].Name != "127.0.0.2" {
		t.Errorf("%v is left, want the host of the configuration", got)
	}
}

func TestPausesWhenNobodyAsks(t *testing.T) {
	r, _, _ := configured(t, "interval 0.1\nidle 3\nhost 127.0.0.2\n", nil)
	r.until("a response", func() bool { return r.get("responses", "127.0.0.2") > 0 })
	for end := time.Now().Add(patience); !r.agent.prober.Stats().Paused; time.Sleep(50 * time.Millisecond) {
		if time.Now().After(end) {
			t.Fatal("probing does not pause")
		}
	}
	sent := r.agent.prober.Stats().Sent
	if got := r.get("agent.paused", ""); got != 1 {
		t.Errorf("the first fetch after a pause says paused %v", got)
	}
	if got := r.get("agent.paused", ""); got != 0 {
		t.Errorf("the second fetch after a pause says paused %v", got)
	}
	r.until("probing to resume", func() bool { return r.get("agent.sent", "") > float64(sent) })
}

func TestLabels(t *testing.T) {
	r, _, _ := configured(t, "host farvel localhost6\n", names{"farvel": "127.0.0.3", "localhost6": "::1"})
	r.until("addresses", func() bool {
		_, err := r.conn.Value("rtime.lan.address", "farvel")
		_, err6 := r.conn.Value("rtime.lan.address", "localhost6")
		return err == nil && err6 == nil
	})
	want := map[string]string{"farvel": "127.0.0.3 farvel ipv4", "localhost6": "::1 localhost6 ipv6"}
	sets := r.conn.Labels(uint32(r.agent.hosts.ID()), pcp.LabelInstances)
	for _, i := range r.conn.Instances(r.agent.hosts.ID()) {
		values := make(map[string]any)
		for _, l := range sets[i.ID] {
			values[l.Name] = l.Value
		}
		got := strings.Join([]string{values["address"].(string), values["host"].(string), values["family"].(string)}, " ")
		if got != want[i.Name] {
			t.Errorf("labels of %q: %s, want %s", i.Name, got, want[i.Name])
		}
	}
	r.until("clients to be told", func() bool {
		r.get("agent.hosts", "")
		return r.conn.State&pcp.StateLabels != 0
	})
}
