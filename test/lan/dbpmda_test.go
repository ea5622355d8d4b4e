package lan

import (
	"fmt"
	"os"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"github.com/pcp-rtime/rtime/test/pcptest"
)

// requests has every kind of request that dbpmda can make. The attribute 11 is the
// client's user id.
const requests = `getdesc on
desc rtime.lan.rtt
desc 470.9.9
instance 470.0
instance 470.0 1
instance 470.0 "127.0.0.2"
instance 470.0 "127.0.0.60"
instance 470.7
fetch rtime.lan.control.maxrate rtime.lan.in_flight
attr 11 "0"
attr 14 "4711"
instance 470.0 "127.0.0.61"
profile 470.0 none
profile 470.0 add 1
fetch rtime.lan.requests
profile 470.0 all
fetch rtime.lan.address
text rtime.lan.rtt
text indom 470.0
label domain
label indom 470.0
label cluster 470.0
label item rtime.lan.rtt
label instances 470.0
store rtime.lan.control.interval "3"
store rtime.lan.control.interval "99999999"
store rtime.lan.requests "1"
children rtime.lan
traverse rtime.lan.control
pmid rtime.lan.rtt
pmid rtime.lan.unheard
name 470.0.8
name 470.9.9
fetch rtime.lan.control.interval
close
`

// answers are the texts that must be in dbpmda's output, in this order.
var answers = []string{
	"PMID: 470.0.8", "Data Type: double  InDom: 470.0", "Semantics: instant  Units: millisec", "Unknown or illegal metric identifier",
	`inst: 0 name: "127.0.0.1"`, `inst: 1 name: "::1"`, `inst: 2 name: "127.0.0.2"`,
	`inst: 1 name: "::1"`, `inst: 2 name: "127.0.0.2"`, "No permission", "Unknown or illegal instance domain",
	"numpmid: 2", "value 200", "numval: 3",
	"userid=0", "processid=4711", `inst: 3 name: "127.0.0.61"`,
	"numval: 1", "inst [1 or ???]", "numval: 4", `"127.0.0.1"`, `"::1"`, `"127.0.0.2"`, `"127.0.0.61"`,
	"[latest response time, unrounded]", "[hosts whose response time is measured]", `agent="rtlan"`, `host="::1"`,
	"0.5 -> 3", "3 -> 99999999", "Bad input to pmstore", "No permission",
	"leaf above99", "non-leaf agent", "rtime.lan.control.add", "rtime.lan.control.window",
	"470.0.8", "Unknown metric name", "rtime.lan.rtt", "Unknown or illegal metric identifier", "value 3",
}

// session has dbpmda talk to the agent.
func session(t *testing.T, p *pcptest.PCP, open string, want []string) {
	t.Helper()
	r := p.TryIn(nil, open+"\n"+requests+"quit\n", "dbpmda", "-e", "-n", p.Path("files-rtlan", "root"))
	rest := r.Out + r.Err
	for _, a := range want {
		_, after, ok := strings.Cut(rest, a)
		if !ok {
			t.Fatalf("no %q, or not in its place, in what dbpmda says:\n%v", a, r)
		}
		rest = after
	}
}

func TestDbpmdaPipe(t *testing.T) {
	t.Parallel()
	engines(t, func(t *testing.T, o pcptest.Options) {
		o.Agents[0].Args = nil
		p := prepare(t, o, basic)
		session(t, p, "open pipe "+program(t)+" -d 470 --config "+p.Path("rtlan.conf")+" -l "+p.Path("log/rtlan.log"), answers)
		logged(p, t, "uid 0", "127.0.0.61", "added")
		pcptest.Eventually(t, "the agent ends with its pipe", func() error {
			if pids := p.AgentPIDs(program(t)); len(pids) > 0 {
				return fmt.Errorf("processes %v", pids)
			}
			return nil
		})
	})
}

func TestDbpmdaSockets(t *testing.T) {
	t.Parallel()
	for _, kind := range []string{"unix", "inet", "ipv6"} {
		t.Run(kind, func(t *testing.T) {
			t.Parallel()
			p := prepare(t, options(t), basic)
			address := p.Path("run", "rtlan.socket")
			if kind != "unix" {
				address = strconv.Itoa(pcptest.FreePort(t))
			}
			option := map[string]string{"unix": "-u", "inet": "-i", "ipv6": "-6"}[kind]
			agent := p.Spawn(program(t), option, address, "--config", p.Path("rtlan.conf"))
			listening(t, p, address)
			session(t, p, "open socket "+kind+" "+address, answers)
			// The agent waits for the next connection, and has kept what was stored and
			// created.
			again := strings.NewReplacer("0.5 -> 3", "3 -> 3", "numval: 3", "numval: 4").Replace(strings.Join(answers, "\n"))
			session(t, p, "open socket "+kind+" "+address, strings.Split(again, "\n"))
			if !agent.Running() {
				t.Fatalf("the agent has ended: %s", p.Log(name))
			}
			agent.Signal(syscall.SIGTERM)
			if code := agent.Wait(); code != 0 {
				t.Errorf("exit status %d after SIGTERM", code)
			}
			if _, err := os.Lstat(address); kind == "unix" && err == nil {
				t.Error("the agent left its socket behind")
			}
		})
	}
}

// listening waits until an agent that was started has its hosts.
func listening(t *testing.T, p *pcptest.PCP, address string) {
	t.Helper()
	logged(p, t, "probing")
	pcptest.Eventually(t, "there is the socket "+address, func() error {
		if !strings.HasPrefix(address, "/") {
			return nil
		}
		_, err := os.Lstat(address)
		return err
	})
}
