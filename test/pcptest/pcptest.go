// Package pcptest runs the real PCP of this machine for tests, without touching what
// is installed: each test has a pmcd of its own, with its own configuration, name
// space, sockets, logs and folders for temporary files, and client tools that talk to
// that pmcd alone. Tests need root, because agents are started as root by pmcd.
package pcptest

import (
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"os/user"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"testing"
)

// Options say what a private PCP consists of.
type Options struct {
	Agents []Agent

	// Root has pmdaroot start the agents, and pmcd become the user pcp, as an
	// installed PCP does. Otherwise pmcd stays root and starts them itself.
	Root bool

	// MMV has pmcd load pmdammv, which serves files of memory mapped values.
	MMV bool

	// Host has pmcd start PCP's agents linux and proc, which measure this machine.
	Host bool

	// Namespace has pmcd and its agents run in a network namespace of their own,
	// in which there is just the loopback interface; see PCP.Silence.
	Namespace bool

	// Access is the text of the section [access] of pmcd.conf; none if empty.
	Access string

	// TLS is the text of tls.conf, which names pmcd's certificate; none if empty.
	TLS string

	// Args are further arguments of pmcd.
	Args []string
}

// Agent is a line of pmcd.conf.
type Agent struct {
	Name    string
	Domain  int
	Program string // path; also asked, with --write, for its name space
	Args    []string

	// Unix, Inet or IPv6 make it an agent that pmcd connects to. It is not started.
	Unix string
	Inet int
	IPv6 int

	NotReady bool
}

// PCP is a private PCP. Its methods may be called by several goroutines unless they
// say otherwise.
type PCP struct {
	Dir string // removed at the end of the test; every user may enter it

	t         testing.TB
	opts      Options
	port      int
	namespace string
	pmcd      *Process

	mu    sync.Mutex
	procs []*Process
}

// New makes the files of a private PCP. Its pmcd is not started yet.
func New(t testing.TB, o Options) *PCP {
	t.Helper()
	if os.Geteuid() != 0 {
		t.Fatal("tests against a real pmcd have to be run by root")
	}
	p := &PCP{t: t, opts: o, port: FreePort(t)}
	p.makeDirs()
	t.Cleanup(p.close)
	p.writeConf()
	p.writeNames()
	if o.Namespace {
		p.addNamespace()
	}
	return p
}

// Start makes a private PCP and starts its pmcd.
func Start(t testing.TB, o Options) *PCP {
	t.Helper()
	p := New(t, o)
	p.StartPmcd()
	return p
}

// Path returns the path of a file of this PCP.
func (p *PCP) Path(elem ...string) string {
	return filepath.Join(append([]string{p.Dir}, elem...)...)
}

// Socket returns the path of pmcd's unix socket.
func (p *PCP) Socket() string { return p.Path("run", "pmcd.socket") }

// Port returns the TCP port of pmcd on 127.0.0.1.
func (p *PCP) Port() int { return p.port }

// WriteFile writes a file that everybody may read and returns its path.
func (p *PCP) WriteFile(name, text string) string {
	p.t.Helper()
	path := p.Path(name)
	// Renamed into place, so that nobody reads half of it.
	if err := os.WriteFile(path+".new", []byte(text), 0o644); err != nil {
		p.t.Fatal(err)
	}
	if err := os.Rename(path+".new", path); err != nil {
		p.t.Fatal(err)
	}
	return path
}

// ReadFile returns a file's text, empty if there is no such file.
func (p *PCP) ReadFile(name ...string) string {
	text, err := os.ReadFile(p.Path(name...))
	if err != nil && !os.IsNotExist(err) {
		p.t.Error(err)
	}
	return string(text)
}

// Log returns the log of an agent, or of pmcd.
func (p *PCP) Log(name string) string { return p.ReadFile("log", name+".log") }

// UID returns the user and group that agents run as.
func UID(t testing.TB) (uid, gid int) {
	t.Helper()
	u, err := user.Lookup("pcp")
	if err != nil {
		t.Fatalf("PCP is not installed: %v", err)
	}
	uid, _ = strconv.Atoi(u.Uid)
	gid, _ = strconv.Atoi(u.Gid)
	return uid, gid
}

// makeDirs makes the folders. The user pcp owns those that it owns in an installed PCP.
func (p *PCP) makeDirs() {
	p.t.Helper()
	dir, err := os.MkdirTemp("/tmp", "pcptest-") // short, for the sake of sockets' paths
	if err != nil {
		p.t.Fatal(err)
	}
	p.Dir = dir
	uid, gid := UID(p.t)
	if err := os.Chmod(dir, 0o755); err != nil {
		p.t.Fatal(err)
	}
	for _, sub := range []string{"log", "run", "tmp/mmv", "tmp/pmlogger", "tmp/pmie", "var/config/pmda"} {
		if err := os.MkdirAll(p.Path(sub), 0o775); err != nil {
			p.t.Fatal(err)
		}
		for at := p.Path(sub); at != dir; at = filepath.Dir(at) {
			if err := os.Chown(at, uid, gid); err != nil {
				p.t.Fatal(err)
			}
		}
	}
	if err := os.MkdirAll(p.Path("var/pmns"), 0o755); err != nil {
		p.t.Fatal(err)
	}
	if err := os.Symlink("/var/lib/pcp/pmdas", p.Path("var/pmdas")); err != nil {
		p.t.Fatal(err)
	}
}

// writeConf writes pcp.conf, which tells all of PCP where its folders are, and
// pmcd.conf.
func (p *PCP) writeConf() {
	p.t.Helper()
	text, err := os.ReadFile("/etc/pcp.conf")
	if err != nil {
		p.t.Fatalf("PCP is not installed: %v", err)
	}
	own := map[string]string{
		"PCP_TMP_DIR": "tmp", "PCP_RUN_DIR": "run", "PCP_LOG_DIR": "log", "PCP_VAR_DIR": "var",
		"PCP_ARCHIVE_DIR": "log", "PCP_PMCDCONF_PATH": "pmcd.conf", "PCP_TLSCONF_PATH": "tls.conf",
	}
	var b strings.Builder
	for _, line := range strings.Split(string(text), "\n") {
		if name, _, ok := strings.Cut(line, "="); ok && own[name] != "" {
			line = name + "=" + p.Path(own[name])
		}
		b.WriteString(line + "\n")
	}
	p.WriteFile("pcp.conf", b.String())
	p.WriteFile("tls.conf", p.opts.TLS)
	p.WritePmcdConf(p.opts.Agents...)
}

// WritePmcdConf writes pmcd.conf anew; see HangUp.
func (p *PCP) WritePmcdConf(agents ...Agent) {
	p.t.Helper()
	var b strings.Builder
	if p.opts.Root {
		b.WriteString("root 1 pipe binary /var/lib/pcp/pmdas/root/pmdaroot\n")
	}
	b.WriteString("pmcd 2 dso pmcd_init /var/lib/pcp/pmdas/pmcd/pmda_pmcd.so\n")
	if p.opts.MMV {
		b.WriteString("mmv 70 dso mmv_init /var/lib/pcp/pmdas/mmv/pmda_mmv.so\n")
	}
	if p.opts.Host {
		b.WriteString("linux 60 pipe binary /var/lib/pcp/pmdas/linux/pmdalinux\n")
		b.WriteString("proc 3 pipe binary /var/lib/pcp/pmdas/proc/pmdaproc -d 3\n")
	}
	for _, a := range agents {
		b.WriteString(a.line() + "\n")
	}
	if p.opts.Access != "" {
		b.WriteString("\n[access]\n" + p.opts.Access + "\n")
	}
	p.WriteFile("pmcd.conf", b.String())
}

func (a Agent) line() string {
	switch {
	case a.Unix != "":
		return fmt.Sprintf("%s %d socket unix %s", a.Name, a.Domain, a.Unix)
	case a.Inet != 0:
		return fmt.Sprintf("%s %d socket inet %d", a.Name, a.Domain, a.Inet)
	}
	if a.IPv6 != 0 {
		return fmt.Sprintf("%s %d socket ipv6 %d", a.Name, a.Domain, a.IPv6)
	}
	binary := "binary"
	if a.NotReady {
		binary = "binary notready"
	}
	return fmt.Sprintf("%s %d pipe %s %s -d %d %s", a.Name, a.Domain, binary, a.Program, a.Domain, strings.Join(a.Args, " "))
}

// writeNames merges the name spaces of pmcd, pmdammv and what the agents write
// themselves.
func (p *PCP) writeNames() {
	p.t.Helper()
	args := []string{"/var/lib/pcp/pmns/root_pmcd"}
	if p.opts.MMV {
		args = append(args, "/var/lib/pcp/pmns/root_mmv")
	}
	if p.opts.Host {
		args = append(args, "/var/lib/pcp/pmns/root_linux", "/var/lib/pcp/pmns/root_proc")
	}
	for _, a := range p.opts.Agents {
		dir := p.Path("files-" + a.Name)
		if err := os.MkdirAll(dir, 0o755); err != nil {
			p.t.Fatal(err)
		}
		p.runPlain(a.Program, "--write", dir)
		args = append(args, filepath.Join(dir, "root"))
	}
	root := p.Path("var/pmns/root")
	p.runPlain("/usr/lib/pcp/bin/pmnsmerge", append(args, root)...)
	if err := os.Chmod(root, 0o644); err != nil {
		p.t.Fatal(err)
	}
}

// runPlain runs a program that needs no pmcd.
func (p *PCP) runPlain(name string, args ...string) {
	p.t.Helper()
	c := exec.Command(name, args...)
	c.Env = p.Env()
	var out bytes.Buffer
	c.Stdout, c.Stderr = &out, &out
	if err := c.Run(); err != nil {
		p.t.Fatalf("%s %s: %v\n%s", name, strings.Join(args, " "), err, &out)
	}
}

// patience is how long PCP's programs wait for each other, in seconds. By default pmcd
// gives an agent up after 5 seconds, and a busy machine may need longer.
const patience = "60"

// Env is the environment of PCP's programs: the test's own, without variables about another
// PCP.
func (p *PCP) Env() []string {
	var env []string
	for _, e := range os.Environ() {
		if !strings.HasPrefix(e, "PCP") && !strings.HasPrefix(e, "PMCD") && !strings.HasPrefix(e, "PATH=") && !strings.HasPrefix(e, "TZ=") {
			env = append(env, e)
		}
	}
	return append(env, "PATH=/usr/lib/pcp/bin:/usr/sbin:/usr/bin:/sbin:/bin", "TZ=UTC",
		"PCP_CONF="+p.Path("pcp.conf"), "PCP_VAR_DIR="+p.Path("var"), "PCP_TMP_DIR="+p.Path("tmp"),
		"PCP_RUN_DIR="+p.Path("run"), "PCP_LOG_DIR="+p.Path("log"),
		"PMCD_SOCKET="+p.Socket(), "PMCD_PORT="+strconv.Itoa(p.port),
		"PMCD_CONNECT_TIMEOUT="+patience, "PMCD_REQUEST_TIMEOUT="+patience)
}
