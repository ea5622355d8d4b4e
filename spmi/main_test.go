//go:build linux

package spmi_test

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/pcp-rtime/rtime/internal/ddsseg/layout"
	segreader "github.com/pcp-rtime/rtime/internal/ddsseg/reader"
	"github.com/pcp-rtime/rtime/spmi"
)

const (
	childEnv = "SPMI_TEST_CHILD"
	nobody   = 65534
)

// TestMain also runs as the other processes that tests need.
func TestMain(m *testing.M) {
	if args := os.Getenv(childEnv); args != "" {
		child(strings.Split(args, "|"))
		return
	}
	os.Exit(m.Run())
}

// child becomes another user, does one thing, reports the result and stays until its
// input ends.
func child(args []string) {
	job, dir, path := args[0], args[1], args[2]
	uid, _ := strconv.Atoi(args[3])
	if uid != 0 {
		if err := errors.Join(syscall.Setgroups(nil), syscall.Setresgid(uid, uid, uid), syscall.Setresuid(uid, uid, uid)); err != nil {
			fmt.Println(err)
			return
		}
	}
	switch job {
	case "limited":
		if err := syscall.Setrlimit(syscall.RLIMIT_FSIZE, &syscall.Rlimit{Cur: 512, Max: 512}); err != nil {
			fmt.Println(err)
		}
		c := make(chan os.Signal, 1)
		signal.Notify(c, syscall.SIGXFSZ)
		_, err := supplyHits(dir, path)
		select {
		case got := <-c:
			fmt.Println(got)
		case <-time.After(100 * time.Millisecond):
			fmt.Println(err)
		}
	case "supply":
		s, err := supplyHits(dir, path)
		if s != nil {
			defer s.Close()
		}
		fmt.Println(err)
	case "lock": // sets a lock of the given type and length on the byte of the path's claim
		file, kind, length := args[4], args[5], args[6]
		n, _ := strconv.ParseInt(length, 10, 64)
		flags, l := os.O_RDWR|os.O_CREATE, syscall.Flock_t{Type: syscall.F_WRLCK, Start: layout.ClaimOffset(path), Len: n}
		if kind == "read" {
			flags, l.Type = os.O_RDONLY, syscall.F_RDLCK
		}
		f, err := os.OpenFile(filepath.Join(dir, layout.ClaimsDir, file), flags, layout.ClaimMode)
		if err == nil {
			defer f.Close()
			err = syscall.FcntlFlock(f.Fd(), syscall.F_SETLK, &l)
		}
		fmt.Println(err)
	}
	io.Copy(io.Discard, os.Stdin)
}

func supplyHits(dir, path string) (*spmi.Supplier, error) {
	var hits spmi.Counter
	s, err := spmi.Open(spmi.Options{Dir: dir}, &spmi.Context{Path: path, Stats: []spmi.Stat{{Name: "hits", To: &hits}}})
	if err == nil {
		err = s.Err()
	}
	return s, err
}

type process struct {
	t   *testing.T
	cmd *exec.Cmd
	in  io.Closer
	out *bufio.Reader
}

// start runs a child and returns what it said.
func start(t *testing.T, args ...string) (*process, string) {
	t.Helper()
	cmd := exec.Command("/proc/self/exe")
	// By default the race detector makes a process wait for a second at its end.
	cmd.Env = append(os.Environ(), "GORACE=atexit_sleep_ms=0", childEnv+"="+strings.Join(args, "|"))
	in, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	cmd.Stderr = os.Stderr
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	p := &process{t, cmd, in, bufio.NewReader(out)}
	t.Cleanup(p.stop)
	said, err := p.out.ReadString('\n')
	if err != nil {
		t.Fatalf("child %v: %v", args, err)
	}
	return p, strings.TrimSpace(said)
}

func (p *process) stop() {
	p.in.Close()
	p.cmd.Wait()
}

func (p *process) kill() {
	p.cmd.Process.Kill()
	p.cmd.Wait()
}

// segments makes a directory that every user can reach, as the agent does.
func segments(t testing.TB) string {
	t.Helper()
	dir, err := os.MkdirTemp("", "spmi-test-")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(dir) })
	prepare(t, dir)
	return dir
}

func prepare(t testing.TB, dir string) {
	t.Helper()
	claims := filepath.Join(dir, layout.ClaimsDir)
	if err := os.Mkdir(claims, 0o700); err != nil {
		t.Fatal(err)
	}
	chmod(t, claims, layout.ClaimsMode)
	chmod(t, dir, layout.DirMode)
}

// chmod sets the mode as the system has it: os.Chmod has other bits above the lowest
// nine.
func chmod(t testing.TB, path string, mode uint32) {
	t.Helper()
	if err := syscall.Chmod(path, mode); err != nil {
		t.Fatal(err)
	}
}

func files(t testing.TB, dir string) []string {
	t.Helper()
	names, err := filepath.Glob(filepath.Join(dir, "*"+layout.Suffix))
	if err != nil {
		t.Fatal(err)
	}
	return names
}

// reader opens the only segment that there is. When this process closes it, it gives
// up the lock that says that its own supplier lives. So the test closes it last.
func reader(t testing.TB, dir string) *segreader.Reader {
	t.Helper()
	names := files(t, dir)
	if len(names) != 1 {
		t.Fatalf("segments: %v", names)
	}
	r, err := segreader.Open(names[0], segreader.Limits{Size: 1 << 30, Contexts: 1 << 20, Stats: 1 << 20})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { r.Close() })
	return r
}

// tell writes a notice to the only supplier that there is, as the agent does.
func tell(t testing.TB, dir string, n segreader.Notice) {
	t.Helper()
	if err := os.Mkdir(filepath.Join(dir, layout.NoticeDir), layout.NoticeMode); err != nil && !errors.Is(err, fs.ErrExist) {
		t.Fatal(err)
	}
	if err := n.Write(dir, filepath.Base(files(t, dir)[0])); err != nil {
		t.Fatal(err)
	}
}

// find returns the context with the path.
func find(t testing.TB, contexts []segreader.Context, path string) *segreader.Context {
	t.Helper()
	for i := range contexts {
		if contexts[i].Path == path {
			return &contexts[i]
		}
	}
	t.Fatalf("no context %s", path)
	return nil
}

// values reads all values of a context. The test fails if they cannot be read.
func values(t testing.TB, r *segreader.Reader, c *segreader.Context) []uint64 {
	t.Helper()
	out := make([]uint64, len(c.Stats))
	if ok := collect(t, r, c, out); !ok {
		t.Fatalf("%s cannot be read", c.Path)
	}
	return out
}

func collect(t testing.TB, r *segreader.Reader, c *segreader.Context, out []uint64) bool {
	t.Helper()
	var fields []segreader.Field
	for i := range c.Stats {
		fields = append(fields, c.Stats[i].Field())
	}
	ok, err := r.Collect(&c.Place, fields, out)
	if err != nil {
		t.Fatal(err)
	}
	return ok
}

// watch collects the volatile contexts of a reader.
type watch map[uint32]*segreader.Context

func (w watch) Gone(slot uint32) { delete(w, slot) }
func (w watch) Came(slot uint32, c *segreader.Context, err error) {
	if err != nil {
		panic(err)
	}
	w[slot] = c
}

func (w watch) scan(t testing.TB, r *segreader.Reader) {
	t.Helper()
	if _, err := r.Scan(w, 1<<30); err != nil {
		t.Fatal(err)
	}
}

func (w watch) find(t testing.TB, path string) *segreader.Context {
	t.Helper()
	for _, c := range w {
		if c.Path == path {
			return c
		}
	}
	t.Fatalf("no volatile context %s among %d", path, len(w))
	return nil
}

// open opens a supplier, which must be published.
func open(t testing.TB, o spmi.Options, contexts ...*spmi.Context) *spmi.Supplier {
	t.Helper()
	s, err := spmi.Open(o, contexts...)
	if err == nil {
		t.Cleanup(func() { s.Close() })
		err = s.Err()
	}
	if err != nil {
		t.Fatal(err)
	}
	return s
}
