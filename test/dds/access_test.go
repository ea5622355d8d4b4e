package dds

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"syscall"
	"testing"

	"github.com/pcp-rtime/rtime/test/pcptest"
)

// hangUp makes the agent read its configuration and look at all files again.
func hangUp(t *testing.T, p *pcptest.PCP) {
	t.Helper()
	signalAgent(t, p, syscall.SIGHUP)
}

func signalAgent(t *testing.T, p *pcptest.PCP, s syscall.Signal) {
	t.Helper()
	if err := syscall.Kill(p.AgentPID(program(t)), s); err != nil {
		t.Fatal(err)
	}
}

// TestNoAccess: a segment that the agent may not open affects only its own supplier. The
// agent takes it as soon as it may open it.
func TestNoAccess(t *testing.T) {
	t.Parallel()
	p := start(t, "", false)
	good := startSupplier(t, p, 65534)
	good.do("gadgets")
	is(t, p, "dds.IBM.Test.gadgets", "", "1")
	rogue := startRogue(t, p, good, 1)
	path := p.Path("run/dds", filepath.Base(rogue.path))
	is(t, p, "rtime.dds.agent.suppliers", "", "2")
	hidden := p.Path("run/rogue/hidden") // moved out of the directory and back
	if err := os.Rename(path, hidden); err != nil {
		t.Fatal(err)
	}
	is(t, p, "rtime.dds.agent.suppliers", "", "1")
	if err := os.Chmod(hidden, 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.Rename(hidden, path); err != nil {
		t.Fatal(err)
	}
	is(t, p, "rtime.dds.agent.refused", "", "1")
	logged(t, p, "permission denied")
	is(t, p, "dds.IBM.Test.gadgets", "", "1")
	if err := os.Chmod(path, 0o660); err != nil {
		t.Fatal(err)
	}
	hangUp(t, p)
	is(t, p, "rtime.dds.agent.suppliers", "", "2")
	good.kill()
	is(t, p, "dds.IBM.Test.gadgets", "", "0")
}

// TestInTheWay: another file at the path of a user's claims does not keep the user's suppliers
// from starting, and the agent soon removes it, although it is not root.
func TestInTheWay(t *testing.T) {
	t.Parallel()
	p := start(t, "", false)
	startSupplier(t, p, 65534).do("end")
	const user = 1
	claims := p.Path("run/dds/claims", fmt.Sprint(user))
	for what, block := range map[string]func() error{
		"a file":          func() error { return os.WriteFile(claims, nil, 0o600) },
		"a folder":        func() error { return os.Mkdir(claims, 0o700) },
		"a full folder":   func() error { return os.MkdirAll(filepath.Join(claims, "x"), 0o700) },
		"a symbolic link": func() error { return os.Symlink("/dev/null", claims) },
	} {
		// The agent sleeps until a supplier has met it.
		signalAgent(t, p, syscall.SIGSTOP)
		if err := block(); err != nil {
			t.Fatal(err)
		}
		if out := opened(t, p, user); out != "<nil>\n" {
			t.Errorf("%s: the supplier is told %q", what, out)
		}
		signalAgent(t, p, syscall.SIGCONT)
		pcptest.Eventually(t, what+" is out of the way", func() error {
			info, err := os.Lstat(claims)
			if errors.Is(err, fs.ErrNotExist) {
				return nil
			}
			hangUp(t, p)
			return errors.Join(err, fmt.Errorf("%v", info))
		})
		s := startSupplier(t, p, user)
		is(t, p, "dds.IBM.Test.gadgets", "", "0")
		s.do("end")
		if err := os.Remove(claims); err != nil {
			t.Fatal(err)
		}
	}
	is(t, p, "rtime.dds.agent.removed", "", "4")
}
