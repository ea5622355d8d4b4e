package pcptest

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"net"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
)

// FreePort finds a TCP port of the loopback addresses that nobody uses, and keeps it from
// other tests until the test ends. It is below the range from which the kernel gives ports
// to programs that ask for any.
func FreePort(t testing.TB) int {
	t.Helper()
	for range 1000 {
		port := 10000 + rand.IntN(20000)
		mark, err := net.Listen("unix", fmt.Sprintf("@pcptest-port-%d", port))
		if err != nil {
			continue // another test has it
		}
		if free("127.0.0.1", port) && free("::1", port) {
			t.Cleanup(func() { mark.Close() })
			return port
		}
		mark.Close()
	}
	t.Fatal("no free port")
	return 0
}

// free reports whether nobody listens on a port of a host, or the host is not there.
func free(host string, port int) bool {
	l, err := net.Listen("tcp", net.JoinHostPort(host, strconv.Itoa(port)))
	if err == nil {
		l.Close()
	}
	return err == nil || errors.Is(err, syscall.EADDRNOTAVAIL) || errors.Is(err, syscall.EAFNOSUPPORT)
}

// StartPmcd starts pmcd and waits until it serves clients. One goroutine at a time
// may start and stop pmcd.
func (p *PCP) StartPmcd() {
	p.t.Helper()
	args := []string{p.privatePmcd(), "-A", "-i", "127.0.0.1", "-p", strconv.Itoa(p.port), "-s", p.Socket(),
		"-c", p.Path("pmcd.conf"), "-l", p.Path("log/pmcd.log"), "-x", p.Path("log/fatal"), "-H", "pcptest", "-t", patience, "-q", patience}
	root := "0"
	if p.opts.Root {
		root = "1"
	} else {
		args = append(args, "-f")
	}
	env := slices.DeleteFunc(p.Env(), func(e string) bool { return strings.HasPrefix(e, "PMCD_PORT=") })
	env = append(env, "PMCD_ROOT_AGENT="+root, "PMCD_RESTART_AGENTS=1")
	// What an earlier pmcd has left must not be taken for the new one's.
	if err := os.RemoveAll(p.Path("run/pmcd.pid")); err != nil {
		p.t.Fatal(err)
	}
	started := p.spawn(env, p.Path("log"), p.inNamespace(append(args, p.opts.Args...))...)
	if p.opts.Root {
		p.daemon(started)
	} else {
		p.pmcd = started
	}
	p.Eventually("pmcd serves clients", func() error {
		if !p.pmcd.Running() {
			p.t.Fatalf("pmcd ended:\n%s\n%s", p.ReadFile("log/fatal"), p.Log("pmcd"))
		}
		// If there is another way, the unix socket is not used, because with an agent that
		// is not ready yet the first request of a client there fails.
		host := "localhost"
		if p.namespace != "" {
			host = "local:"
		}
		if r := p.Try("pminfo", "-h", host, "-f", "pmcd.agent.status"); r.Code != 0 || !strings.Contains(r.Out, "value") {
			return fmt.Errorf("%v", r)
		}
		return nil
	})
}

// privatePmcd returns another name of pmcd's program. PCP's installation scripts send
// SIGHUP to all processes that are called pmcd, whoever started them.
func (p *PCP) privatePmcd() string {
	p.t.Helper()
	path := p.Path("private-pmcd")
	if err := os.Symlink("/usr/lib/pcp/bin/pmcd", path); err != nil && !os.IsExist(err) {
		p.t.Fatal(err)
	}
	return path
}

// daemon finds the process that pmcd has become in the background.
func (p *PCP) daemon(parent *Process) {
	p.t.Helper()
	p.Eventually("pmcd is in the background", func() error {
		if parent.Running() {
			return fmt.Errorf("process %d is still there", parent.PID)
		}
		pid, err := strconv.Atoi(strings.TrimSpace(p.ReadFile("run/pmcd.pid")))
		if err != nil {
			return fmt.Errorf("%w; %s", err, p.ReadFile("log/fatal"))
		}
		p.pmcd = p.adopt(pid, "pmcd")
		return nil
	})
}

// StopPmcd ends pmcd as its script does.
func (p *PCP) StopPmcd() {
	p.t.Helper()
	p.pmcd.Signal(syscall.SIGTERM)
	p.pmcd.Wait()
}

// Pmcd returns the process of pmcd.
func (p *PCP) Pmcd() *Process { return p.pmcd }

// HangUp has pmcd read its configuration again, and restart agents that are gone.
func (p *PCP) HangUp() { p.pmcd.Signal(syscall.SIGHUP) }

// AgentPIDs returns the processes of this PCP that run a program.
func (p *PCP) AgentPIDs(program string) []int {
	var pids []int
	for _, pid := range p.all() {
		if exe, err := os.Readlink(filepath.Join("/proc", strconv.Itoa(pid), "exe")); err == nil && exe == program {
			pids = append(pids, pid)
		}
	}
	return pids
}

// AgentPID returns the one process of this PCP that runs a program.
func (p *PCP) AgentPID(program string) int {
	p.t.Helper()
	pids := p.AgentPIDs(program)
	if len(pids) != 1 {
		p.t.Fatalf("processes of %s: %v, want one", program, pids)
	}
	return pids[0]
}

// all returns the processes whose environment says that they belong to this PCP.
func (p *PCP) all() []int {
	dirs, _ := filepath.Glob("/proc/[0-9]*")
	mark := "PCP_CONF=" + p.Path("pcp.conf") + "\x00"
	var pids []int
	for _, dir := range dirs {
		env, err := os.ReadFile(filepath.Join(dir, "environ"))
		if err != nil || !strings.Contains(string(env), mark) {
			continue
		}
		if pid, err := strconv.Atoi(filepath.Base(dir)); err == nil {
			pids = append(pids, pid)
		}
	}
	return pids
}

// close ends everything that was started, and complains of what does not end.
func (p *PCP) close() {
	p.mu.Lock()
	procs := p.procs
	p.mu.Unlock()
	for i := len(procs) - 1; i >= 0; i-- {
		procs[i].Signal(syscall.SIGCONT)
		procs[i].Signal(syscall.SIGTERM)
		procs[i].Wait()
	}
	if left := p.waitForNone(); len(left) > 0 {
		for _, pid := range left {
			cmd, _ := os.ReadFile(fmt.Sprintf("/proc/%d/cmdline", pid))
			p.t.Errorf("still running at the end: %d %q", pid, cmd)
			_ = syscall.Kill(pid, syscall.SIGKILL)
		}
	}
	if p.t.Failed() {
		p.dump()
	}
	p.removeNamespace()
	if err := os.RemoveAll(p.Dir); err != nil {
		p.t.Error(err)
	}
}

func (p *PCP) waitForNone() (left []int) {
	wait(func() bool {
		left = p.all()
		return len(left) == 0
	})
	return left
}

// dump shows the logs of a test that failed.
func (p *PCP) dump() {
	logs, _ := filepath.Glob(p.Path("log", "*"))
	for _, path := range logs {
		text, err := os.ReadFile(path)
		if err != nil || strings.ContainsRune(string(text), 0) {
			continue
		}
		if len(text) > 6000 {
			text = text[len(text)-6000:]
		}
		p.t.Logf("%s:\n%s", path, text)
	}
}
