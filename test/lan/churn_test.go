package lan

import (
	"fmt"
	"strings"
	"sync"
	"syscall"
	"testing"

	"github.com/pcp-rtime/rtime/test/pcptest"
)

// TestChurn has clients fetch, add, remove and look up hosts, all at once, while the
// configuration is read again and again. At the end the agent must be the same process,
// pmcd must have had nothing to complain of, and all requests must be accounted for.
func TestChurn(t *testing.T) {
	t.Parallel()
	engines(t, func(t *testing.T, o pcptest.Options) {
		p := start(t, o, "interval 0.1\nmaxrate 500\nmaxhosts 1000\nhost 127.0.0.1 ::1\n")
		pid := p.AgentPID(program(t))
		const rounds = 12
		work := []func(i int){
			func(i int) { p.Try("pmstore", "-h", "local:", "rtime.lan.control.add", fmt.Sprintf("127.0.4.%d", i%7)) },
			func(i int) {
				p.Try("pmstore", "-h", "local:", "rtime.lan.control.remove", fmt.Sprintf("127.0.4.%d", i%5))
			},
			func(i int) {
				p.Try("pmval", "-h", "local:", "-s", "1", "-i", fmt.Sprintf("127.0.5.%d", i), "rtime.lan.up")
			},
			func(int) { p.Try("pminfo", "-h", "local:", "-flT", "rtime.lan") },
			func(int) { p.Try("pminfo", "-h", "localhost", "-f", "rtime.lan.window", "rtime.lan.errors") },
			func(i int) {
				p.WriteFile("rtlan.conf", fmt.Sprintf("interval 0.%d\nmaxrate 500\nmaxhosts 1000\nhost 127.0.0.1 ::1 127.0.6.%d\n", 1+i%3, i%4))
				signal(p, t, syscall.SIGHUP)
			},
		}
		var wg sync.WaitGroup
		for _, do := range work {
			wg.Add(1)
			go func() {
				defer wg.Done()
				for i := range rounds {
					do(i)
				}
			}()
		}
		wg.Wait()
		if now := p.AgentPIDs(program(t)); len(now) != 1 || now[0] != pid {
			t.Errorf("the agent was process %d and is now %v", pid, now)
		}
		for _, word := range []string{"protocol failure", "timeout", "RESTARTED", "Error"} {
			if log := p.Log("pmcd"); strings.Contains(log, word) {
				t.Errorf("pmcd's log has %q:\n%s", word, log)
			}
		}
		for _, word := range []string{"panic", "writing to pmcd", "from pmcd"} {
			if log := p.Log(name); strings.Contains(log, word) {
				t.Errorf("the agent's log has %q:\n%s", word, log)
			}
		}
		hosts := []string{"127.0.0.1", "::1"}
		answered(p, t, hosts...)
		sums(t, p, hosts)
		bands(t, p, hosts)
	})
}
