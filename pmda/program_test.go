package pmda_test

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"os/user"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"github.com/pcp-rtime/rtime/pcp"
	"github.com/pcp-rtime/rtime/pmda/pmdatest"
	"github.com/pcp-rtime/rtime/test/pcptest"
	"golang.org/x/sys/unix"
)

// build makes a program as it is installed: without cgo. It lies in a folder that
// every user may enter and write to.
func build(t *testing.T, pkg string) (exe string) {
	t.Helper()
	dir, err := os.MkdirTemp("", "pmdatest")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(dir) })
	if err := os.Chmod(dir, 0o777); err != nil {
		t.Fatal(err)
	}
	exe = filepath.Join(dir, "pmda"+filepath.Base(pkg))
	cmd := exec.Command("go", "build", "-o", exe, pkg)
	cmd.Env = append(os.Environ(), "CGO_ENABLED=0")
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("building %s: %v\n%s", pkg, err, out)
	}
	return exe
}

// program is an agent that runs as pmcd would run it.
type program struct {
	t      *testing.T
	cmd    *exec.Cmd
	dir    string
	in     io.WriteCloser
	out    io.ReadCloser
	err    bytes.Buffer
	exited chan error
}

func start(t *testing.T, exe string, args ...string) *program {
	t.Helper()
	p := &program{t: t, dir: filepath.Dir(exe), exited: make(chan error, 1)}
	p.cmd = exec.Command(exe, append(args, "--state", stateDir(t, p.dir))...)
	p.cmd.Dir = p.dir
	p.cmd.Stderr = &p.err
	var err error
	if p.in, err = p.cmd.StdinPipe(); err != nil {
		t.Fatal(err)
	}
	r, w, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	p.cmd.Stdout, p.out = w, r
	if err := p.cmd.Start(); err != nil {
		t.Fatal(err)
	}
	w.Close()
	over := make(chan struct{})
	go func() {
		p.exited <- p.cmd.Wait()
		close(over)
	}()
	t.Cleanup(func() {
		p.cmd.Process.Kill()
		receive(t, "the end of the program", over)
		r.Close()
	})
	return p
}

// stateDir makes a folder for the ids of one agent: two at a time cannot share one.
func stateDir(t *testing.T, under string) string {
	t.Helper()
	dir, err := os.MkdirTemp(under, "state")
	if err != nil {
		t.Fatal(err)
	}
	if err := os.Chmod(dir, 0o777); err != nil {
		t.Fatal(err)
	}
	return dir
}

func (p *program) Read(b []byte) (int, error)  { return p.out.Read(b) }
func (p *program) Write(b []byte) (int, error) { return p.in.Write(b) }
func (p *program) Close() error                { return errors.Join(p.in.Close(), p.out.Close()) }

// exit waits for the end of the program and returns its status, -1 if by a signal.
func (p *program) exit() int {
	p.t.Helper()
	err := receive(p.t, "the end of the program", p.exited)
	var bad *exec.ExitError
	if err != nil && !errors.As(err, &bad) {
		p.t.Fatal(err)
	}
	return p.cmd.ProcessState.ExitCode()
}

func (p *program) log(name string) string {
	b, err := os.ReadFile(filepath.Join(p.dir, name))
	if err != nil {
		p.t.Error(err)
	}
	return string(b)
}

func checkHello(t *testing.T, c *pmdatest.Conn) {
	t.Helper()
	if v, err := c.Value("hello.uptime", ""); err != nil || v.Type() != pcp.TypeDouble {
		t.Errorf("hello.uptime: %v, %v", v, err)
	}
	if v, err := c.Values("hello.mood"); err != nil || len(v) != 2 {
		t.Errorf("hello.mood: %v, %v", v, err)
	}
}

func TestProgramOnPipe(t *testing.T) {
	exe := build(t, "../examples/hello")
	t.Run("signals", func(t *testing.T) {
		p := start(t, exe)
		c := pmdatest.Connect(t, p)
		checkHello(t, c)
		p.cmd.Process.Signal(syscall.SIGHUP)
		checkHello(t, c)
		p.cmd.Process.Signal(syscall.SIGTERM)
		if code := p.exit(); code != 0 {
			t.Errorf("status %d after SIGTERM", code)
		}
		if log := p.log("hello.log"); strings.Count(log, "terminated: shutting down") != 1 {
			t.Errorf("log %q", log)
		}
		if p.err.Len() > 0 {
			t.Errorf("standard error: %s", &p.err)
		}
	})
	t.Run("end of input", func(t *testing.T) {
		p := start(t, exe, "-p", "-d", "77", "-l", "other.log")
		c := pmdatest.Connect(t, p)
		if id, err := c.PMID("hello.mood"); err != nil || id != pcp.MakePMID(77, 0, 1) {
			t.Errorf("with -d 77 hello.mood has number %v, %v", id, err)
		}
		p.in.Close()
		if code := p.exit(); code != 0 {
			t.Errorf("status %d after the end of input", code)
		}
		if log := p.log("other.log"); strings.Count(log, "\n") != 1 || !strings.Contains(log, "domain 77, ") {
			t.Errorf("log %q, want the one line of the start", log)
		}
	})
	t.Run("output closed", func(t *testing.T) {
		p := start(t, exe)
		c := pmdatest.Connect(t, p)
		checkHello(t, c)
		p.out.Close()
		p.in.Write([]byte{0, 0, 0, 16, 0, 0, 0x70, 4, 0, 0, 0, 0, 0, 0, 0, 0})
		if code := p.exit(); code != 1 {
			t.Errorf("status %d after its output is closed, want 1", code)
		}
		if log := p.log("hello.log"); !strings.Contains(log, "broken pipe") {
			t.Errorf("log %q", log)
		}
	})
	t.Run("trace to standard error", func(t *testing.T) {
		p := start(t, exe, "-D", "pdu", "-l", "-")
		checkHello(t, pmdatest.Connect(t, p))
		p.in.Close()
		p.exit()
		if !strings.Contains(p.err.String(), "send 000000140000700c") || !strings.Contains(p.err.String(), "recv 0000") {
			t.Errorf("standard error: %s", &p.err)
		}
	})
}

func TestProgramOptions(t *testing.T) {
	exe := build(t, "../examples/hello")
	for _, x := range []struct {
		args []string
		code int
		want string // on standard error or in the log
	}{
		{[]string{"-x"}, 2, "unknown shorthand flag"},
		{[]string{"-d", "x"}, 2, "invalid argument"},
		{[]string{"-d", "511"}, 1, "domain 511 is not within 1..510"},
		{[]string{"-d", "-1"}, 1, "domain -1"},
		{[]string{"surplus"}, 2, `unexpected argument "surplus"`},
		{[]string{"-U", "no.such.user"}, 1, "no.such.user"},
		{[]string{"-i", "99999"}, 1, "99999"},
		{[]string{"-i", "x"}, 2, "invalid argument"},
		{[]string{"-u", "/no/such/folder/socket"}, 1, "/no/such/folder/socket"},
		{[]string{"-l", "/no/such/folder/log"}, 1, "/no/such/folder/log"},
	} {
		p := start(t, exe, x.args...)
		code := p.exit()
		text := p.err.String()
		if b, err := os.ReadFile(filepath.Join(p.dir, "hello.log")); err == nil {
			text += string(b)
		}
		if code != x.code || !strings.Contains(text, x.want) {
			t.Errorf("%q: status %d, want %d; it says\n%swant %s", x.args, code, x.code, text, x.want)
		}
	}
}

// TestProgramSays what it is, on standard output, and nothing else.
func TestProgramSays(t *testing.T) {
	exe := build(t, "../examples/hello")
	for _, x := range []struct {
		arg  string
		want []string
	}{
		{"-?", []string{"Usage: pmdahello [options]\n\nOptions:\n", "-d, --domain NUM", "-?, --help", "-V, --version"}},
		{"--help", []string{"Usage: pmdahello [options]\n\nOptions:\n", "-d, --domain NUM"}},
		{"-h", []string{"Usage: pmdahello [options]"}},
		{"-V", []string{"pmdahello version 1.0\n"}},
		{"--version", []string{"pmdahello version 1.0\n"}},
	} {
		c := exec.Command(exe, x.arg)
		var bad bytes.Buffer
		c.Stderr = &bad
		out, err := c.Output()
		if err != nil || bad.Len() > 0 {
			t.Errorf("%s: %v: %s", x.arg, err, &bad)
		}
		for _, want := range x.want {
			if !strings.Contains(string(out), want) {
				t.Errorf("%s prints %q, want %q in it", x.arg, out, want)
			}
		}
	}
}

// TestProgramTraces what PCP's words say. An unknown word does not end the agent.
func TestProgramTraces(t *testing.T) {
	exe := build(t, "../examples/hello")
	for _, x := range []struct {
		args       []string
		pdu, lines bool
		unknown    int
	}{
		{nil, false, false, 0},
		{[]string{"-D", "appl0,appl1,appl9,fetch,desperate"}, false, false, 0},
		{[]string{"-D", "pdu"}, true, false, 0},
		{[]string{"-D", "pmda"}, false, true, 0},
		{[]string{"-D", "libpmda", "--debug", "pdu"}, true, true, 0},
		{[]string{"-D", "all"}, true, true, 0},
		{[]string{"-D", "1"}, true, false, 0},
		{[]string{"-D", "32769"}, true, true, 0},
		{[]string{"-D", "nosuch,pdu,-,\"x"}, true, false, 3},
	} {
		p := start(t, exe, append(x.args, "-l", "-")...)
		c := pmdatest.Connect(t, p)
		c.Client(3, 1000, 100, 77)
		checkHello(t, c)
		p.in.Close()
		if code := p.exit(); code != 0 {
			t.Errorf("%q: status %d", x.args, code)
		}
		log := p.err.String()
		if pdu := strings.Contains(log, "recv 0000"); pdu != x.pdu {
			t.Errorf("%q: PDUs in the log: %v, want %v", x.args, pdu, x.pdu)
		}
		if lines := strings.Contains(log, "FETCH of 32 bytes for client 3 (user 1000, process 77)\n"); lines != x.lines {
			t.Errorf("%q: requests in the log: %v, want %v\n%s", x.args, lines, x.lines, log)
		}
		if n := strings.Count(log, "-D: the word "); n != x.unknown {
			t.Errorf("%q: %d words unknown, want %d", x.args, n, x.unknown)
		}
	}
}

// TestProgramOnTerminal: a program that is started from a shell says what it is and writes
// no PDU.
func TestProgramOnTerminal(t *testing.T) {
	exe := build(t, "../examples/hello")
	for _, both := range []bool{true, false} {
		master, slave := terminal(t)
		c := exec.Command(exe)
		var text bytes.Buffer
		c.Stdin, c.Stderr, c.Dir = slave, &text, filepath.Dir(exe)
		if both {
			c.Stdout = slave
		}
		err := c.Run()
		slave.Close()
		if code := c.ProcessState.ExitCode(); code != 1 || !strings.Contains(text.String(), "agent of Performance Co-Pilot") {
			t.Errorf("status %d, %v: %s", code, err, &text)
		}
		if b, _ := io.ReadAll(master); len(b) != 0 { // it ends with an error once nobody has the slave
			t.Errorf("on the terminal: %q", b)
		}
		if _, err := os.Stat(filepath.Join(filepath.Dir(exe), "hello.log")); !errors.Is(err, os.ErrNotExist) {
			t.Errorf("it began a log: %v", err)
		}
	}
}

// terminal makes a pseudo-terminal; see pts(4).
func terminal(t *testing.T) (master, slave *os.File) {
	t.Helper()
	master, err := os.OpenFile("/dev/ptmx", os.O_RDWR|syscall.O_NOCTTY, 0)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { master.Close() })
	fd := int(master.Fd())
	if err := unix.IoctlSetPointerInt(fd, unix.TIOCSPTLCK, 0); err != nil {
		t.Fatal(err)
	}
	n, err := unix.IoctlGetInt(fd, unix.TIOCGPTN)
	if err != nil {
		t.Fatal(err)
	}
	if slave, err = os.OpenFile(fmt.Sprintf("/dev/pts/%d", n), os.O_RDWR|syscall.O_NOCTTY, 0); err != nil {
		t.Fatal(err)
	}
	return master, slave
}

// TestProgramLog: as root, the program leaves files alone to which links of the log's name
// lead.
func TestProgramLog(t *testing.T) {
	exe := build(t, "../examples/hello")
	dir := filepath.Dir(exe)
	victim := filepath.Join(dir, "victim")
	if err := os.WriteFile(victim, []byte("dear"), 0o600); err != nil {
		t.Fatal(err)
	}
	for what, plant := range map[string]func(log string) error{
		"symbolic link": func(log string) error { return os.Symlink(victim, log) },
		"hard link":     func(log string) error { return os.Link(victim, log) },
		"pipe":          func(log string) error { return syscall.Mkfifo(log, 0o666) },
		"folder":        func(log string) error { return os.Mkdir(log, 0o777) },
	} {
		log := filepath.Join(dir, "hello.log")
		if err := plant(log); err != nil {
			t.Fatal(err)
		}
		p := start(t, exe)
		if code := p.exit(); code != 1 || !strings.Contains(p.err.String(), "hello.log") {
			t.Errorf("%s: status %d: %s", what, code, &p.err)
		}
		if err := os.Remove(log); err != nil {
			t.Fatal(err)
		}
	}
	info, err := os.Stat(victim)
	if err != nil || info.Size() != 4 || info.Sys().(*syscall.Stat_t).Uid != uint32(os.Getuid()) {
		t.Errorf("another's file now has %d bytes and belongs to %d: %v", info.Size(), info.Sys().(*syscall.Stat_t).Uid, err)
	}

	if err := os.WriteFile(filepath.Join(dir, "hello.log"), []byte("of the last time"), 0o644); err != nil {
		t.Fatal(err)
	}
	for _, file := range []string{"hello.log", "/dev/null"} {
		p := start(t, exe, "-l", file)
		checkHello(t, pmdatest.Connect(t, p))
		p.in.Close()
		if code := p.exit(); code != 0 {
			t.Errorf("log %s: status %d: %s", file, code, &p.err)
		}
	}
	if b, err := os.ReadFile(filepath.Join(dir, "hello.log")); err != nil || strings.Contains(string(b), "of the last time") {
		t.Errorf("the log holds %q, %v", b, err)
	}
	if info, err := os.Stat("/dev/null"); err != nil || info.Sys().(*syscall.Stat_t).Uid != 0 {
		t.Errorf("/dev/null has been given away: %v", err)
	}
}

// TestProgramOnSockets ends both while pmcd is there and while it is away.
func TestProgramOnSockets(t *testing.T) {
	exe := build(t, "../examples/hello")
	path := filepath.Join(filepath.Dir(exe), "socket")
	port := strconv.Itoa(pcptest.FreePort(t))
	for _, x := range []struct{ option, where, network, address string }{
		{"-u", path, "unix", path},
		{"-i", port, "tcp", "127.0.0.1:" + port},
		{"-6", port, "tcp", "[::1]:" + port},
	} {
		for _, connected := range []bool{true, false} {
			p := start(t, exe, x.option, x.where, "-l", "-")
			c := pmdatest.Connect(t, dial(t, x.network, x.address))
			checkHello(t, c)
			c.Close()
			c = pmdatest.Connect(t, dial(t, x.network, x.address))
			checkHello(t, c)
			if !connected {
				c.Close()
			}
			p.cmd.Process.Signal(syscall.SIGTERM)
			if code := p.exit(); code != 0 {
				t.Errorf("%s, connected %v: status %d: %s", x.option, connected, code, &p.err)
			}
		}
	}
	if _, err := os.Lstat(path); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("the socket is left behind: %v", err)
	}
}

// TestProgramDropsPrivileges looks at all threads.
func TestProgramDropsPrivileges(t *testing.T) {
	if os.Geteuid() != 0 {
		t.Fatal("needs root, to see it given up")
	}
	hello, keeper := build(t, "../examples/hello"), build(t, "./testdata/keeper")
	for _, x := range []struct {
		exe, user string
		caps      uint64
	}{
		{hello, "", 0}, {hello, "nobody", 0}, {keeper, "", 1 << 13}, {keeper, "nobody", 1 << 13},
	} {
		args := []string{"-l", "-"}
		name := "pcp"
		if x.user != "" {
			args, name = append(args, "-U", x.user), x.user
		}
		p := start(t, x.exe, args...)
		pmdatest.Connect(t, p)
		u, err := user.Lookup(name)
		if err != nil {
			t.Fatal(err)
		}
		groups, err := u.GroupIds()
		if err != nil {
			t.Fatal(err)
		}
		caps := fmt.Sprintf("%016x", x.caps)
		want := map[string]string{"Uid": strings.Repeat(u.Uid+" ", 4), "Gid": strings.Repeat(u.Gid+" ", 4),
			"CapPrm": caps, "CapEff": caps, "CapInh": fmt.Sprintf("%016x", 0), "CapAmb": fmt.Sprintf("%016x", 0),
			"CapBnd": fmt.Sprintf("%016x", 0), "NoNewPrivs": "1"}
		tasks, err := filepath.Glob(fmt.Sprintf("/proc/%d/task/*/status", p.cmd.Process.Pid))
		if err != nil || len(tasks) == 0 {
			t.Fatalf("threads %v, %v", tasks, err)
		}
		for _, task := range tasks {
			status := readStatus(t, task)
			if status == nil {
				continue // the thread has ended
			}
			for field, w := range want {
				if got := status[field]; strings.TrimSpace(w) != got {
					t.Errorf("%s -U %q: %s: %s %s, want %s", filepath.Base(x.exe), x.user, task, field, got, w)
				}
			}
			got := strings.Fields(status["Groups"])
			slices.Sort(got)
			slices.Sort(groups)
			if !slices.Equal(got, groups) {
				t.Errorf("%s -U %q: groups %v, want %v", filepath.Base(x.exe), x.user, got, groups)
			}
		}
	}
}

// readStatus returns the fields of a thread's status, nil if it has ended.
func readStatus(t *testing.T, path string) map[string]string {
	t.Helper()
	b, err := os.ReadFile(path)
	if errors.Is(err, os.ErrNotExist) || errors.Is(err, syscall.ESRCH) {
		return nil
	}
	if err != nil {
		t.Fatal(err)
	}
	fields := make(map[string]string)
	for line := range strings.Lines(string(b)) {
		name, value, _ := strings.Cut(line, ":")
		fields[name] = strings.Join(strings.Fields(value), " ")
	}
	return fields
}
