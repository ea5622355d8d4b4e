package arm

import (
	"maps"
	"strconv"
	"syscall"
	"testing"
	"time"

	"github.com/pcp-rtime/rtime/test/pcptest"
)

// restart kills the agent, and waits until pmcd has started another.
func restart(t *testing.T, p *pcptest.PCP) {
	t.Helper()
	pid := p.AgentPID(agentProgram(t))
	if err := syscall.Kill(pid, syscall.SIGKILL); err != nil {
		t.Fatal(err)
	}
	again(t, p, pid)
}

// again waits for an agent that is another process than pid. pmcd starts one when a client
// asks. SIGHUP is sent only if pmcd has not started one for a while: a signal that comes
// while pmcd greets the new agent makes it start yet another.
func again(t *testing.T, p *pcptest.PCP, pid int) {
	t.Helper()
	none := 0
	for end := time.Now().Add(pcptest.Deadline); ; time.Sleep(20 * time.Millisecond) {
		_, err := p.TryValues("rtime.arm.agent.cycles")
		pids := p.AgentPIDs(agentProgram(t))
		if err == nil && len(pids) == 1 && pids[0] != pid {
			return
		}
		if len(pids) > 0 {
			none = 0
		}
		if none++; none%50 == 0 {
			p.HangUp()
		}
		if time.Now().After(end) {
			t.Fatalf("no other agent: %v, %v", pids, err)
		}
	}
}

// TestAgentKilled: the agent is killed again and again while programs count, end and are
// killed. Nothing is lost or counted twice, counts never go back, and the instances keep
// their ids.
func TestAgentKilled(t *testing.T) {
	t.Parallel()
	languages(t, func(t *testing.T, exe string) {
		p := start(t, fast)
		total, abandoned := 0, 0
		var ids map[string]int
		stays := run(t, p, exe, nobody)
		stays.do("init Shop")
		stays.do("tran %s", buy)
		for round := range 4 {
			q := run(t, p, exe, 0)
			q.do("init Shop")
			q.do("tran %s", buy)
			q.do("tran Shop/round%d", round)
			q.do("do %s 1000 0 4", buy)
			q.do("start r %s", buy)
			stays.do("do %s 10 0 1", buy)
			total, abandoned = total+4010, abandoned+1
			switch round {
			case 0: // counted before the agent goes, the process after it
				is(t, p, "rtime.arm.count", buy, strconv.Itoa(total))
				restart(t, p)
				q.kill()
			case 1: // the process goes while there is no agent
				pid := p.AgentPID(agentProgram(t))
				if err := syscall.Kill(pid, syscall.SIGKILL); err != nil {
					t.Fatal(err)
				}
				q.kill()
				again(t, p, pid)
			case 2: // taken over, and then the agent goes
				q.kill()
				is(t, p, "rtime.arm.abandoned", buy, strconv.Itoa(abandoned))
				restart(t, p)
			case 3: // both at once
				q.kill()
				restart(t, p)
			}
			all(t, p, buy, "count", strconv.Itoa(total), "abandoned", strconv.Itoa(abandoned), "active", "0")
			now := p.IDs("rtime.arm.count")
			for name, id := range ids {
				if now[name] != id {
					t.Errorf("%s had id %d and has %d", name, id, now[name])
				}
			}
			ids = now
		}
		if want := map[string]bool{buy: true, "Shop/round0": true, "Shop/round1": true, "Shop/round2": true, "Shop/round3": true}; len(ids) != len(want) {
			t.Errorf("instances %v", maps.Clone(ids))
		}
		stays.do("do %s 10 0 1", buy)
		is(t, p, "rtime.arm.count", buy, strconv.Itoa(total+10))
	})
}
