package pmda_test

import (
	"errors"
	"net"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/pcp-rtime/rtime/pcp"
	"github.com/pcp-rtime/rtime/pmda"
	"github.com/pcp-rtime/rtime/pmda/pmdatest"
)

// guarded has one metric that only root may store into.
func guarded() *pmda.Agent {
	value := int32(1)
	return &pmda.Agent{Name: "guarded", Domain: 400, Metrics: []pmda.Metric{{
		Name: "guarded.value", Sem: pcp.SemInstant, OneLine: "a number",
		Get: pmda.Value(func() (int32, error) { return value, nil }),
		Store: func(s *pmda.Store) error {
			if s.Client.UID != 0 {
				return pcp.ErrPermission
			}
			n, err := s.Value.Int64()
			value = int32(n)
			return err
		},
	}}}
}

func value(t *testing.T, c *pmdatest.Conn) int64 {
	t.Helper()
	v, err := c.Value("guarded.value", "")
	if err != nil {
		t.Fatal(err)
	}
	n, err := v.Int64()
	if err != nil {
		t.Fatal(err)
	}
	return n
}

// dial connects as soon as somebody listens.
func dial(t *testing.T, network, address string) net.Conn {
	t.Helper()
	var c net.Conn
	eventually(t, "a connection to "+address, func() (ok bool) {
		var err error
		c, err = net.Dial(network, address)
		return err == nil
	})
	c.SetDeadline(time.Now().Add(patience))
	return c
}

func listenUnix(t *testing.T, path string) *pmda.Listener {
	t.Helper()
	l, err := pmda.ListenUnix(path, nobody, nobody)
	if err != nil {
		t.Fatal(err)
	}
	return l
}

func TestListenUnix(t *testing.T) {
	path := filepath.Join(t.TempDir(), "socket")
	s, result := listen(t, guarded(), listenUnix(t, path))

	checkSocket(t, path)
	for range 3 { // one connection after the other
		c := pmdatest.Connect(t, dial(t, "unix", path))
		if n := value(t, c); n != 1 {
			t.Errorf("value %d, want 1", n)
		}
		c.Close()
	}

	c := pmdatest.Connect(t, dial(t, "unix", path))
	if err := os.Remove(path); err != nil { // while connected
		t.Fatal(err)
	}
	value(t, c)
	c.Close()
	c = pmdatest.Connect(t, dial(t, "unix", path))
	checkSocket(t, path)
	c.Close()

	for range 2 { // while nobody is connected
		if err := os.Remove(path); err != nil {
			t.Fatal(err)
		}
		c = pmdatest.Connect(t, dial(t, "unix", path))
		value(t, c)
		c.Close()
	}

	c = pmdatest.Connect(t, dial(t, "unix", path))
	c.Client(3, 0, 0, 77)
	if err := c.Store("guarded.value", "", pcp.Num(int32(5))); err != nil || value(t, c) != 5 {
		t.Errorf("a store by root through a unix socket: %v", err)
	}
	s.Stop() // while connected
	if err := receive(t, "the end of Listen", result); err != nil {
		t.Errorf("Listen: %v", err)
	}
	if _, err := os.Lstat(path); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("the path is left behind: %v", err)
	}
}

// checkSocket looks at the mode and owner of a socket's path.
func checkSocket(t *testing.T, path string) {
	t.Helper()
	info, err := os.Lstat(path)
	if err != nil {
		t.Fatal(err)
	}
	st := info.Sys().(*syscall.Stat_t)
	if info.Mode() != os.ModeSocket|0o660 || st.Uid != nobody || st.Gid != nobody {
		t.Errorf("the socket has mode %v and belongs to %d:%d", info.Mode(), st.Uid, st.Gid)
	}
}

// TestListenUnixFolderGone takes the folder away for longer than it takes to notice.
func TestListenUnixFolderGone(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "run")
	path := filepath.Join(dir, "socket")
	if err := os.Mkdir(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	_, result := listen(t, guarded(), listenUnix(t, path))
	// In one step: a folder emptied first could be given a new socket before it
	// is removed.
	if err := os.Rename(dir, dir+".gone"); err != nil {
		t.Fatal(err)
	}
	time.Sleep(1500 * time.Millisecond)
	select {
	case err := <-result:
		t.Fatalf("Listen has ended: %v", err)
	default:
	}
	if err := os.Mkdir(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	value(t, pmdatest.Connect(t, dial(t, "unix", path)))
}

// TestListenUnixPathTaken puts another's live socket and then a file where the
// agent's own was.
func TestListenUnixPathTaken(t *testing.T) {
	path := filepath.Join(t.TempDir(), "socket")
	_, result := listen(t, guarded(), listenUnix(t, path))
	other, err := net.Listen("unix", path+"2")
	if err != nil {
		t.Fatal(err)
	}
	defer other.Close()
	if err := os.Rename(path+"2", path); err != nil {
		t.Fatal(err)
	}
	time.Sleep(1500 * time.Millisecond)
	select {
	case err := <-result:
		t.Fatalf("another socket in the way ended the agent: %v", err)
	default:
	}
	if err := os.Remove(path); err != nil {
		t.Fatal(err)
	}
	c := pmdatest.Connect(t, dial(t, "unix", path))
	value(t, c)
	c.Close()

	// In one step: a path that is gone for a moment would be made again.
	if err := os.WriteFile(path+"3", []byte("dear"), 0o644); err != nil {
		t.Fatal(err)
	}
	if err := os.Rename(path+"3", path); err != nil {
		t.Fatal(err)
	}
	err = receive(t, "the end of Listen with a file in the way", result)
	if err == nil || !strings.Contains(err.Error(), "is not a socket") {
		t.Errorf("Listen: %v", err)
	}
	if b, err := os.ReadFile(path); err != nil || string(b) != "dear" {
		t.Errorf("the file in the way: %q, %v", b, err)
	}
}

func TestListenUnixInTheWay(t *testing.T) {
	dir := t.TempDir()
	file := filepath.Join(dir, "file")
	if err := os.WriteFile(file, []byte("dear"), 0o644); err != nil {
		t.Fatal(err)
	}
	if _, err := pmda.ListenUnix(file, 0, 0); err == nil || !strings.Contains(err.Error(), file) {
		t.Errorf("a file in the way: %v", err)
	}
	if b, err := os.ReadFile(file); err != nil || string(b) != "dear" {
		t.Errorf("the file in the way: %q, %v", b, err)
	}

	live := filepath.Join(dir, "live")
	l, err := net.Listen("unix", live)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := pmda.ListenUnix(live, 0, 0); !errors.Is(err, syscall.EADDRINUSE) {
		t.Errorf("a live socket in the way: %v", err)
	}
	l.(*net.UnixListener).SetUnlinkOnClose(false)
	l.Close() // the path stays and is stale
	l2, err := pmda.ListenUnix(live, 0, 0)
	if err != nil {
		t.Fatalf("a stale socket in the way: %v", err)
	}
	l2.Close()

	if _, err := pmda.ListenUnix(filepath.Join(dir, "none", "socket"), 0, 0); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("no folder: %v", err)
	}
	if _, err := pmda.ListenUnix(filepath.Join(dir, strings.Repeat("x", 200)), 0, 0); err == nil {
		t.Error("a path too long for a socket is taken")
	}
}

func TestListenInet(t *testing.T) {
	for _, host := range []string{"127.0.0.1", "::1"} {
		l, err := pmda.ListenInet(host, 0)
		if err != nil {
			t.Fatalf("%s: %v", host, err)
		}
		address := l.Addr().String()
		if got, port, _ := net.SplitHostPort(address); got != host || port == "0" {
			t.Errorf("listening on %s, want a port of %s", address, host)
		}
		if _, err := pmda.ListenInet(host, l.Addr().(*net.TCPAddr).Port); !errors.Is(err, syscall.EADDRINUSE) {
			t.Errorf("%s: the same port twice: %v", host, err)
		}
		s, result := listen(t, guarded(), l)
		for i := range int32(2) {
			c := pmdatest.Connect(t, dial(t, "tcp", address))
			c.Client(3, 0, 0, 77)
			if err := c.Store("guarded.value", "", pcp.Num(7+i)); err != nil || value(t, c) != int64(7+i) {
				t.Errorf("%s: a store by root, who is pmcd here: %v", host, err)
			}
			c.Client(4, nobody, nobody, 78)
			if err := c.Store("guarded.value", "", pcp.Num(9+i)); err != pcp.ErrPermission {
				t.Errorf("%s: a store by nobody, whom root vouches for: %v", host, err)
			}
			c.Close()
		}
		s.Stop()
		if err := receive(t, "the end of Listen", result); err != nil {
			t.Errorf("%s: %v", host, err)
		}
	}
}

// TestListenClose closes, stops and connects all at once.
func TestListenClose(t *testing.T) {
	for i := range 50 {
		path := filepath.Join(t.TempDir(), "socket")
		l := listenUnix(t, path)
		s, result := listen(t, guarded(), l)
		go func() {
			if c, err := net.Dial("unix", path); err == nil {
				c.Write([]byte{0, 0, 0, 16, 0, 0, 0x70, 0, 0, 0, 0, 0})
				c.Close()
			}
		}()
		if i%2 == 0 {
			go l.Close()
		}
		if i%3 == 0 {
			go s.Stop()
		} else {
			go func() { s.Do(s.Stop) }()
		}
		if err := receive(t, "the end of Listen", result); err != nil {
			t.Errorf("round %d: %v", i, err)
		}
	}
}
