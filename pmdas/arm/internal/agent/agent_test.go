package agent

import (
	"errors"
	"math"
	"strings"
	"testing"
	"time"

	"github.com/pcp-rtime/rtime/pcp"
	"github.com/pcp-rtime/rtime/pmda"
	"github.com/pcp-rtime/rtime/pmdas/arm/internal/collect"
)

const lastCheck = "CheckingAccountQuery/LastCheckQuery"

func TestControl(t *testing.T) {
	r := newRig(t, "")
	for _, c := range []struct {
		metric string
		value  pcp.Value
		want   error
	}{
		{"interval", pcp.Num(0.5), nil},
		{"interval", pcp.Num(0.05), pcp.ErrBadStore},
		{"interval", pcp.Num(math.NaN()), pcp.ErrBadStore},
		{"weight", pcp.Num(0.0), nil},
		{"weight", pcp.Num(100.5), pcp.ErrBadStore},
		{"window", pcp.Num(10.0), nil},
		{"window", pcp.Num(0.0), pcp.ErrBadStore},
		{"buffers", pcp.Num(5.0), nil},
		{"buffers", pcp.Num(2.5), pcp.ErrBadStore},
		{"buffers", pcp.Num(61.0), pcp.ErrBadStore},
	} {
		name := "rtime.arm.control." + c.metric
		err := r.conn.Store(name, "", c.value)
		if !errors.Is(err, c.want) || (c.want == nil) != (err == nil) {
			t.Errorf("store %v into %s: %v, want %v", c.value, name, err, c.want)
		}
		if c.want == nil {
			r.is("control."+c.metric, "", c.value.String())
		}
	}
	want := collect.DefaultConfig()
	want.Interval, want.Weight, want.Window, want.Buffers = 500*time.Millisecond, 0, 10*time.Second, 5
	r.fake.mu.Lock()
	got := r.fake.conf
	r.fake.mu.Unlock()
	if got != want {
		t.Errorf("the collector has %+v, want %+v", got, want)
	}
	r.is("window.length", "", "10")
	if !strings.Contains(r.log.String(), "weight set to 0 by uid 0") {
		t.Errorf("log: %s", r.log)
	}
}

// TestWhoMayStore: only root and the user pcp may store values. A client that pmcd says
// nothing about may not. No other metrics take values.
func TestWhoMayStore(t *testing.T) {
	r := newRig(t, "")
	r.fake.find(bank)
	for slot, c := range []struct {
		who string
		uid int
		may bool
	}{{"root", 0, true}, {"pcp", pcpUID(t), true}, {"another", 12345, false}, {"unknown", -1, false}} {
		r.conn.Slot = 50 // pmcd tells nothing about this client, as if it had come over TCP
		if c.uid >= 0 {
			r.conn.Client(int32(10+slot), c.uid, c.uid, 1)
		}
		for _, name := range r.conn.Names("rtime.arm") {
			d, err := r.conn.Desc(name)
			if err != nil {
				t.Fatal(err)
			}
			inst := ""
			if d.InDom == r.agent.trans.ID() {
				inst = lastCheck
			} else if d.InDom != pcp.InDomNull {
				continue // tested below, with an instance that exists
			}
			if d.Type > pcp.TypeDouble {
				continue
			}
			err = r.conn.Store(name, inst, pcp.Num(1.0))
			want := c.may && strings.HasPrefix(name, "rtime.arm.control.")
			if want != (err == nil) || err != nil && !errors.Is(err, pcp.ErrPermission) {
				t.Errorf("%s stores into %s: %v", c.who, name, err)
			}
		}
	}
	for _, m := range r.agent.table() {
		if (m.Store != nil) != strings.HasPrefix(m.Name, "rtime.arm.control.") {
			t.Errorf("%s: store %v", m.Name, m.Store != nil)
		}
	}
}

func TestSwitchTracing(t *testing.T) {
	r := newRig(t, "")
	r.fake.find(bank)
	traced := func() string {
		r.fake.mu.Lock()
		defer r.fake.mu.Unlock()
		return strings.Join(r.fake.traced, " ")
	}
	const metric = "rtime.arm.control.trace"
	if err := r.conn.Store(metric, lastCheck, pcp.Num(uint32(1))); err != nil || traced() != lastCheck {
		t.Errorf("%v; %s is traced", err, traced())
	}
	r.is("control.trace", lastCheck, "1")
	r.is("control.trace", "CheckingAccountQuery/new", "0")
	if err := r.conn.Store(metric, lastCheck, pcp.Num(uint32(2))); !errors.Is(err, pcp.ErrBadStore) || traced() != lastCheck {
		t.Errorf("2 is stored: %v", err)
	}
	if err := r.conn.Store(metric, lastCheck, pcp.Num(uint32(0))); err != nil || traced() != "" {
		t.Errorf("%v; %s is traced", err, traced())
	}
	r.is("control.trace", lastCheck, "0")
}

func TestReload(t *testing.T) {
	r := newRig(t, "interval 5\nwindow 30\nusers apart\n")
	reload := func(text string) (err error) {
		r.configure(text)
		r.serve(func() { err = r.agent.reload() })
		return err
	}
	conf := func() collect.Config {
		r.fake.mu.Lock()
		defer r.fake.mu.Unlock()
		return r.fake.conf
	}
	before := conf()
	if before.Interval != 5*time.Second || !before.UsersApart {
		t.Errorf("at the start: %+v", before)
	}
	err := reload("interval 1\n\nweight 300\n")
	if err == nil || !strings.Contains(err.Error(), "rtarm.conf:3: weight: 300 is not between 0 and 100") {
		t.Errorf("bad file: %v", err)
	}
	if conf() != before {
		t.Errorf("a bad file changed something: %+v", conf())
	}
	r.is("control.interval", "", "5")
	if err := reload("weight 50\nusers merge\n"); err != nil {
		t.Error(err)
	}
	want := before
	want.Weight = 0.5
	if conf() != want {
		t.Errorf("%+v, want %+v", conf(), want)
	}
	r.is("control.interval", "", "5")
	if err := r.conn.Store("rtime.arm.control.window", "", pcp.Num(20.0)); err != nil {
		t.Fatal(err)
	}
	if err := reload("interval 2\n"); err != nil {
		t.Error(err)
	}
	r.is("control.window", "", "20")
	if err := reload("window 40\n"); err != nil {
		t.Error(err)
	}
	r.is("control.window", "", "40")
	r.is("control.interval", "", "2")
	for _, line := range []string{"users takes effect when the agent is started again", "weight 50"} {
		if !strings.Contains(r.log.String(), line) {
			t.Errorf("no %q in the log: %s", line, r.log)
		}
	}
}

// TestBadConfiguration: the agent starts with the defaults and says why.
func TestBadConfiguration(t *testing.T) {
	r := newRig(t, "interval 5\nwindows 30\n")
	r.is("control.interval", "", "1")
	if !strings.Contains(r.log.String(), `rtarm.conf:2: unknown keyword "windows"`) {
		t.Errorf("log: %s", r.log)
	}
}

func TestLabels(t *testing.T) {
	r := newRig(t, "users apart\n")
	r.fake.find(bank)
	r.fake.find(func(s *collect.Snapshot) {
		s.Apps = append(s.Apps, &collect.App{Name: "carol:shop", User: "carol"})
		put(s, 2, collect.Row{Tran: collect.Tran{Name: "carol:shop/buy", App: 1, Key: "buy", Descr: "bu\xffy\n", User: "carol"}})
	})
	for _, c := range []struct {
		indom      *pmda.InDom[uint32]
		inst, want string
	}{
		{r.agent.trans, lastCheck, "application=CheckingAccountQuery transaction=LastCheckQuery description=Last Check Query"},
		{r.agent.trans, "CheckingAccountQuery/new", "application=CheckingAccountQuery transaction=new"},
		{r.agent.trans, "carol:shop/buy", "application=shop transaction=buy description=bu?y? user=carol"},
		{r.agent.apps, "carol:shop", "application=shop user=carol"},
		{r.agent.apps, "CheckingAccountQuery", "application=CheckingAccountQuery description=Checking Account Query"},
		{r.agent.metrics, lastCheck + "/m3", "application=CheckingAccountQuery transaction=LastCheckQuery description=Last Check Query metric=who?"},
		{r.agent.pairs, "Web/Page>" + lastCheck,
			"application=CheckingAccountQuery transaction=LastCheckQuery description=Last Check Query parent=Web/Page"},
		{r.agent.pairs, "other>other", ""},
	} {
		id, ok := r.instances(c.indom.ID())[c.inst]
		if !ok {
			t.Errorf("no instance %q", c.inst)
			continue
		}
		got := make(map[string]string)
		for _, l := range r.conn.Labels(uint32(c.indom.ID()), pcp.LabelInstances)[id] {
			got[l.Name] = l.Value.(string)
			if l.Optional != (l.Name == "description") {
				t.Errorf("%s of %q: optional %v", l.Name, c.inst, l.Optional)
			}
		}
		var text []string
		for _, name := range []string{"application", "transaction", "description", "user", "metric", "parent"} {
			if v, ok := got[name]; ok {
				text = append(text, name+"="+v)
			}
		}
		if strings.Join(text, " ") != c.want || len(got) != len(text) {
			t.Errorf("labels of %q: %v, want %s", c.inst, got, c.want)
		}
	}
	r.until("clients to be told of labels", func() bool {
		r.is("agent.transactions", "", "3")
		return r.conn.State&pcp.StateLabels != 0
	})
}

func pcpUID(t *testing.T) int {
	t.Helper()
	uid, _, err := pmda.PCPUser()
	if err != nil {
		t.Fatal(err)
	}
	return uid
}
