package pmda_test

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"syscall"
	"testing"
	"time"

	"github.com/pcp-rtime/rtime/pmda"
	"github.com/pcp-rtime/rtime/pmda/pmdatest"
)

func TestMain(m *testing.M) {
	if os.Getenv(claimEnv) != "" {
		if err := claim(); err != nil {
			fmt.Println(err)
			os.Exit(1)
		}
		os.Exit(0)
	}
	os.Exit(m.Run())
}

// patience is how long a test waits for what must happen at some time.
const patience = 60 * time.Second

// eventually waits until f is true.
func eventually(t testing.TB, what string, f func() bool) {
	t.Helper()
	for end := time.Now().Add(patience); !f(); time.Sleep(5 * time.Millisecond) {
		if time.Now().After(end) {
			t.Fatalf("waited in vain: %s", what)
		}
	}
}

// receive waits for a value.
func receive[T any](t testing.TB, what string, c <-chan T) T {
	t.Helper()
	select {
	case v := <-c:
		return v
	case <-time.After(patience):
		t.Fatalf("waited in vain: %s", what)
		panic("not reached")
	}
}

// asNobody makes a command that runs this test program as user nobody.
func asNobody(t *testing.T, env ...string) *exec.Cmd {
	t.Helper()
	if os.Geteuid() != 0 {
		t.Fatal("needs root, to start a program as another user")
	}
	dir, err := os.MkdirTemp("", "pmdatest")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(dir) })
	self, err := os.ReadFile("/proc/self/exe")
	if err != nil {
		t.Fatal(err)
	}
	exe := filepath.Join(dir, "child")
	if err := os.WriteFile(exe, self, 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.Chmod(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(exe, "-test.run=^$")
	cmd.Env = append(os.Environ(), env...)
	cmd.Dir = "/"
	cmd.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: nobody, Gid: nobody}}
	return cmd
}

const nobody = 65534

// listen serves an agent on l until the test ends; the channel gets what Listen
// returns.
func listen(t *testing.T, a *pmda.Agent, l *pmda.Listener) (*pmda.Server, <-chan error) {
	t.Helper()
	s, err := pmda.New(a, pmda.Options{Log: logTo(t)})
	if err != nil {
		t.Fatal(err)
	}
	ended, result := make(chan struct{}), make(chan error, 1)
	go func() {
		defer close(ended)
		result <- s.Listen(l)
	}()
	t.Cleanup(func() {
		s.Stop()
		receive(t, "the end of Listen", ended)
	})
	return s, result
}

// startOn starts an agent whose log is the test's.
func startOn(t *testing.T, a *pmda.Agent) *pmdatest.Conn {
	t.Helper()
	return pmdatest.Start(t, a)
}
