package lan

import (
	"fmt"
	"maps"
	"os"
	"syscall"
	"testing"

	"github.com/pcp-rtime/rtime/test/pcptest"
)

// TestKilled kills the agent; pmcd starts it again as soon as a client asks.
func TestKilled(t *testing.T) {
	t.Parallel()
	for kind, root := range map[string]bool{"started by pmcd": false, "started by pmdaroot": true} {
		t.Run(kind, func(t *testing.T) {
			t.Parallel()
			o := options(t)
			o.Root = root
			testKilled(t, o)
		})
	}
}

func testKilled(t *testing.T, o pcptest.Options) {
	p := start(t, o, basic)
	for i, host := range []string{"127.0.0.21", "127.0.0.22", "127.0.0.23"} {
		if id := lookup(p, t, true, "local:", host); id != 3+i {
			t.Fatalf("%s has the id %d", host, id)
		}
	}
	before := p.IDs("rtime.lan.requests")
	old := p.AgentPID(program(t))
	// The first host is now the one that the configuration names first.
	p.WriteFile("rtlan.conf", "interval 0.5\nhost 127.0.0.24 127.0.0.2\nhost 127.0.0.1 ::1\n")
	signal(p, t, syscall.SIGKILL)
	pcptest.Eventually(t, "pmcd has started the agent again", func() error {
		v, err := p.TryValues("rtime.lan.requests")
		if err == nil && len(v) == 0 {
			err = fmt.Errorf("no values")
		}
		return err
	})
	if now := p.AgentPID(program(t)); now == old {
		t.Errorf("the agent is still process %d", now)
	}
	for _, host := range []string{"127.0.0.23", "127.0.0.21"} {
		lookup(p, t, true, "local:", host)
	}
	want := maps.Clone(before)
	delete(want, "127.0.0.22")
	now := p.IDs("rtime.lan.requests")
	if now["127.0.0.24"] < 6 {
		t.Errorf("a new host has the id %d, which another one had before", now["127.0.0.24"])
	}
	delete(now, "127.0.0.24")
	if !maps.Equal(now, want) {
		t.Errorf("ids are %v, were %v", now, before)
	}
	answered(p, t, "127.0.0.1", "::1", "127.0.0.21", "127.0.0.24")
	if s := p.Values("pmcd.agent.status")[name].Text; s != "0" {
		t.Errorf("pmcd.agent.status is %s", s)
	}
}

// TestPmcdRestarted stops pmcd and starts it again. Meanwhile an agent on a socket goes on.
func TestPmcdRestarted(t *testing.T) {
	t.Parallel()
	for _, kind := range []string{"unix", "inet", "ipv6"} {
		for _, root := range []bool{false, true} { // with pmcd run by root and by pcp
			t.Run(fmt.Sprintf("%s-%v", kind, root), func(t *testing.T) {
				t.Parallel()
				testPmcdRestarted(t, kind, root)
			})
		}
	}
}

// back waits until pmcd has the agent again. If pmcd came before the agent had made its
// socket anew, SIGHUP makes pmcd try again.
func back(t *testing.T, p *pcptest.PCP) {
	t.Helper()
	pcptest.Eventually(t, "pmcd is connected to the agent", func() error {
		v, err := p.TryValues("rtime.lan.requests")
		if err == nil && len(v) == 0 {
			err = fmt.Errorf("no values")
		}
		if err != nil {
			p.HangUp()
		}
		return err
	})
}

func testPmcdRestarted(t *testing.T, kind string, root bool) {
	o := options(t)
	o.Root = root
	port := pcptest.FreePort(t)
	switch kind {
	case "inet":
		o.Agents[0].Inet = port
	case "ipv6":
		o.Agents[0].IPv6 = port
		o.Namespace = true // where localhost has an IPv6 address
	default:
		o.Agents[0].Unix = "unset" // until there is a folder
	}
	p := prepare(t, o, basic)
	path := p.Path("run", "rtlan.socket")
	args := []string{"--" + kind, fmt.Sprint(port)}
	if kind == "unix" {
		a := o.Agents[0]
		a.Unix = path
		p.WritePmcdConf(a)
		args = []string{"-u", path}
	}
	agent := p.Spawn(program(t), append(args, "--config", p.Path("rtlan.conf"))...)
	address := ""
	if kind == "unix" {
		address = path
	}
	listening(t, p, address)
	p.StartPmcd()
	answered(p, t, "127.0.0.1", "::1", "127.0.0.2")
	if id := lookup(p, t, true, "local:", "127.0.0.21"); id != 3 {
		t.Errorf("id %d, want 3: the agent does not learn who its clients are", id)
	}
	ids, requests := p.IDs("rtime.lan.requests"), p.Number("rtime.lan.requests", "127.0.0.1")
	for round := range 3 {
		var socket os.FileInfo
		if kind == "unix" {
			socket, _ = os.Lstat(path)
		}
		p.StopPmcd()
		if kind == "unix" && round > 0 { // at first pmcd comes back at once
			pcptest.Eventually(t, "the agent has made its socket anew", func() error {
				now, err := os.Lstat(path)
				if err == nil && now.ModTime().Equal(socket.ModTime()) { // inode numbers come again
					err = fmt.Errorf("it is still the old one")
				}
				return err
			})
		}
		p.StartPmcd()
		back(t, p)
		if now := p.IDs("rtime.lan.requests"); !maps.Equal(now, ids) {
			t.Fatalf("round %d: ids are %v, were %v", round, now, ids)
		}
		if now := p.Number("rtime.lan.requests", "127.0.0.1"); now < requests {
			t.Errorf("round %d: requests are %v, were %v", round, now, requests)
		}
		if !agent.Running() {
			t.Fatal("the agent has ended")
		}
	}
	// The clients of the new pmcd are known, too.
	p.Run("pmstore", "-h", "local:", "rtime.lan.control.interval", "5")
	if r := p.TryAs(nobody, nogroup, "pmstore", "-h", "local:", "rtime.lan.control.interval", "6"); r.Code == 0 {
		t.Errorf("after the restart anybody may store: %v", r)
	}
}

// TestReconfigured takes the agent out of pmcd.conf and puts it back.
func TestReconfigured(t *testing.T) {
	t.Parallel()
	o := options(t)
	p := start(t, o, basic)
	answered(p, t, "127.0.0.1", "::1", "127.0.0.2")
	ids := p.IDs("rtime.lan.requests")
	p.WritePmcdConf()
	p.HangUp()
	pcptest.Eventually(t, "the agent is gone", func() error {
		p.Try("pminfo", "-h", "local:", "-f", "pmcd.version") // pmcd acts on signals when clients call
		if pids := p.AgentPIDs(program(t)); len(pids) > 0 {
			return fmt.Errorf("processes %v", pids)
		}
		return nil
	})
	if v, err := p.TryValues("rtime.lan.requests"); err == nil && len(v) > 0 {
		t.Errorf("values of an agent that is gone: %v", v)
	}
	p.WritePmcdConf(o.Agents...)
	p.HangUp()
	back(t, p)
	if now := p.IDs("rtime.lan.requests"); !maps.Equal(now, ids) {
		t.Errorf("ids are %v, were %v", now, ids)
	}
}
