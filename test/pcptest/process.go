package pcptest

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"
)

// Deadline is how long to wait for anything that has to happen.
const Deadline = 2 * time.Minute

const poll = 50 * time.Millisecond

// wait polls until f is true; false after the deadline.
func wait(f func() bool) bool {
	for end := time.Now().Add(Deadline); time.Now().Before(end); time.Sleep(poll) {
		if f() {
			return true
		}
	}
	return f()
}

// Eventually waits until f returns nil, and fails the test with its last error if it
// does not.
func (p *PCP) Eventually(what string, f func() error) {
	p.t.Helper()
	Eventually(p.t, what, f)
}

// Eventually waits until f returns nil, and fails the test with its last error if it
// does not.
func Eventually(t testing.TB, what string, f func() error) {
	t.Helper()
	var err error
	if !wait(func() bool { err = f(); return err == nil }) {
		t.Fatalf("in vain: %s: %v", what, err)
	}
}

// Process is a process that belongs to a private PCP.
type Process struct {
	PID  int
	name string
	t    testing.TB
	cmd  *exec.Cmd // nil if the process is not our child

	mu   sync.Mutex
	out  bytes.Buffer // standard output and error
	done chan struct{}
	code int
}

// Write takes what the process prints.
func (q *Process) Write(b []byte) (int, error) {
	q.mu.Lock()
	defer q.mu.Unlock()
	return q.out.Write(b)
}

// Output returns what the process has printed so far.
func (q *Process) Output() string {
	q.mu.Lock()
	defer q.mu.Unlock()
	return q.out.String()
}

// Spawn starts a program of this PCP in the background, in the folder of the logs. If it
// still runs when the test ends, it is ended.
func (p *PCP) Spawn(name string, args ...string) *Process {
	p.t.Helper()
	return p.spawn(p.Env(), p.Path("log"), p.inNamespace(append([]string{p.find(name)}, args...))...)
}

func (p *PCP) spawn(env []string, dir string, args ...string) *Process {
	p.t.Helper()
	q := &Process{name: args[0], t: p.t, done: make(chan struct{})}
	q.cmd = exec.Command(args[0], args[1:]...)
	q.cmd.Env, q.cmd.Dir, q.cmd.Stdout, q.cmd.Stderr = env, dir, q, q
	// Agents that a daemon starts inherit its output; do not wait for their end.
	q.cmd.WaitDelay = 2 * time.Second
	if err := q.cmd.Start(); err != nil {
		p.t.Fatal(err)
	}
	q.PID = q.cmd.Process.Pid
	go func() {
		_ = q.cmd.Wait()
		q.code = q.cmd.ProcessState.ExitCode()
		close(q.done)
	}()
	p.keep(q)
	return q
}

// adopt takes charge of a process that another one has started.
func (p *PCP) adopt(pid int, name string) *Process {
	q := &Process{PID: pid, name: name, t: p.t, done: make(chan struct{})}
	go func() {
		for there(pid) {
			time.Sleep(poll)
		}
		close(q.done)
	}()
	p.keep(q)
	return q
}

// there reports whether a process has not ended yet. One that has ended stays in the table
// until its parent asks for its status.
func there(pid int) bool {
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		return false
	}
	_, state, _ := strings.Cut(string(text), ") ") // after the name
	return !strings.HasPrefix(state, "Z") && !strings.HasPrefix(state, "X")
}

func (p *PCP) keep(q *Process) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.procs = append(p.procs, q)
}

// Running reports whether the process has not ended yet.
func (q *Process) Running() bool {
	select {
	case <-q.done:
		return false
	default:
		return true
	}
}

// Signal sends a signal to the process if it still runs.
func (q *Process) Signal(s syscall.Signal) {
	if q.Running() {
		_ = syscall.Kill(q.PID, s)
	}
}

// Wait waits for the end of the process and returns its exit status.
func (q *Process) Wait() int {
	q.t.Helper()
	if q.ends() {
		return q.code
	}
	q.t.Errorf("%s does not end", q.name)
	_ = syscall.Kill(q.PID, syscall.SIGKILL)
	if q.ends() {
		return q.code
	}
	return -1
}

// ends waits until the process has ended, after which code is valid, and reports whether
// that happened in time.
func (q *Process) ends() bool {
	select {
	case <-q.done:
		return true
	case <-time.After(Deadline):
		return false
	}
}

// Result is what became of a program.
type Result struct {
	Command  string
	Out, Err string
	Code     int
}

// String shows all of it.
func (r Result) String() string {
	return fmt.Sprintf("%s: exit status %d\n%s%s", r.Command, r.Code, r.Out, r.Err)
}

// Try runs one of PCP's tools to its end, as root.
func (p *PCP) Try(name string, args ...string) Result {
	p.t.Helper()
	return p.TryIn(nil, "", name, args...)
}

// Run runs one of PCP's tools, which has to succeed, and returns its output.
func (p *PCP) Run(name string, args ...string) string {
	p.t.Helper()
	r := p.Try(name, args...)
	if r.Code != 0 {
		p.t.Fatal(r)
	}
	return r.Out
}

// TryAs runs one of PCP's tools as another user.
func (p *PCP) TryAs(uid, gid int, name string, args ...string) Result {
	p.t.Helper()
	return p.TryIn(&syscall.Credential{Uid: uint32(uid), Gid: uint32(gid)}, "", name, args...)
}

// TryIn runs one of PCP's tools with an input, as another user unless who is nil.
func (p *PCP) TryIn(who *syscall.Credential, input, name string, args ...string) Result {
	p.t.Helper()
	c := exec.Command(p.find(name), args...)
	var out, errs bytes.Buffer
	c.Stdin, c.Stdout, c.Stderr, c.Env, c.Dir = strings.NewReader(input), &out, &errs, p.Env(), p.Dir
	c.SysProcAttr = &syscall.SysProcAttr{Credential: who}
	c.WaitDelay = Deadline
	if err := c.Start(); err != nil {
		p.t.Fatal(err)
	}
	timer := time.AfterFunc(2*Deadline, func() { _ = c.Process.Kill() })
	defer timer.Stop()
	err := c.Wait()
	var exit *exec.ExitError
	if err != nil && !errors.As(err, &exit) {
		p.t.Fatalf("%s: %v", name, err)
	}
	return Result{name + " " + strings.Join(args, " "), out.String(), errs.String(), c.ProcessState.ExitCode()}
}

// find finds a program in PCP's folders.
func (p *PCP) find(name string) string {
	p.t.Helper()
	if strings.Contains(name, "/") {
		return name
	}
	for _, dir := range []string{"/usr/bin", "/usr/lib/pcp/bin", "/usr/sbin", "/bin"} {
		if _, err := os.Stat(dir + "/" + name); err == nil {
			return dir + "/" + name
		}
	}
	p.t.Fatalf("%s is not installed", name)
	return ""
}
