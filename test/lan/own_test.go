package lan

import (
	"encoding/binary"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"regexp"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/pcp-rtime/rtime/test/pcptest"
)

// TestIdle: probing pauses when no client asks, and resumes with the next fetch. Meanwhile
// the test watches the MMV file, because the agent does not notice that.
func TestIdle(t *testing.T) {
	t.Parallel()
	engines(t, func(t *testing.T, o pcptest.Options) {
		o.MMV = true
		p := start(t, o, basic+"idle 1\n")
		answered(p, t, "127.0.0.1", "::1", "127.0.0.2")
		paused := func(want string) {
			t.Helper()
			pcptest.Eventually(t, "mmv.rtlan.paused is "+want, func() error {
				v, err := p.TryValues("mmv.rtlan.paused")
				if err == nil && v[""].Text != want {
					err = fmt.Errorf("%v", v)
				}
				return err
			})
		}
		paused("1")
		sent := p.Value("mmv.rtlan.sent")
		alive := p.Number("mmv.rtlan.alive", "")
		pcptest.Eventually(t, "the file has been written again", func() error {
			if now := p.Number("mmv.rtlan.alive", ""); now < alive+3 {
				return fmt.Errorf("alive is %v, was %v", now, alive)
			}
			return nil
		})
		if now := p.Value("mmv.rtlan.sent"); now != sent {
			t.Errorf("requests sent while probing paused: %s, before %s", now, sent)
		}
		// A client that asks for no values does not end the pause.
		p.Run("pminfo", "-h", "local:", "-dT", "rtime.lan")
		requests := p.Number("rtime.lan.requests", "127.0.0.1")
		pcptest.Eventually(t, "requests are sent again", func() error {
			if now := p.Number("rtime.lan.requests", "127.0.0.1"); now < requests+3 {
				return fmt.Errorf("%v, were %v", now, requests)
			}
			return nil
		})
		if up := p.Number("rtime.lan.up", "127.0.0.1"); up != 1 {
			t.Errorf("up is %v after the pause", up)
		}
		paused("1")
	})
}

var statusLine = regexp.MustCompile(`(?m)^(\w+):\s+(.*)$`)

// TestPrivileges: once it runs, the agent is the user pcp, without capabilities, or with
// CAP_NET_RAW for the engine that opens sockets all the time.
func TestPrivileges(t *testing.T) {
	t.Parallel()
	const netRaw = 1 << 13
	for engine, want := range map[string]uint64{"linux": 0, "pro-bing": netRaw} {
		for _, root := range []bool{false, true} {
			t.Run(fmt.Sprintf("%s-%v", engine, root), func(t *testing.T) {
				t.Parallel()
				o := options(t, "--engine", engine)
				o.Root = root
				p := start(t, o, basic)
				answered(p, t, "127.0.0.1", "::1")
				privileges(t, p, want)
			})
		}
	}
}

func privileges(t *testing.T, p *pcptest.PCP, caps uint64) {
	t.Helper()
	uid, gid := pcptest.UID(t)
	pid := p.AgentPID(program(t))
	tasks, err := os.ReadDir(fmt.Sprintf("/proc/%d/task", pid))
	if err != nil || len(tasks) == 0 {
		t.Fatalf("no threads of %d: %v", pid, err)
	}
	for _, task := range tasks {
		text, err := os.ReadFile(fmt.Sprintf("/proc/%d/task/%s/status", pid, task.Name()))
		if errors.Is(err, os.ErrNotExist) || errors.Is(err, syscall.ESRCH) {
			continue // the thread has ended
		}
		if err != nil {
			t.Fatal(err)
		}
		got := make(map[string]string)
		for _, m := range statusLine.FindAllStringSubmatch(string(text), -1) {
			got[m[1]] = strings.Join(strings.Fields(m[2]), " ")
		}
		four := func(n int) string { return fmt.Sprintf("%d %d %d %d", n, n, n, n) }
		if got["Uid"] != four(uid) || got["Gid"] != four(gid) {
			t.Errorf("thread %s: Uid %s, Gid %s", task.Name(), got["Uid"], got["Gid"])
		}
		if g := got["Groups"]; g != "" && g != strconv.Itoa(gid) {
			t.Errorf("thread %s: groups %s", task.Name(), g)
		}
		for set, want := range map[string]uint64{"CapEff": caps, "CapPrm": caps, "CapInh": 0, "CapAmb": 0} {
			if n, err := strconv.ParseUint(got[set], 16, 64); err != nil || n != want {
				t.Errorf("thread %s: %s is %s, want %x", task.Name(), set, got[set], want)
			}
		}
	}
}

// TestFiles: the files that the agent makes belong to the user pcp.
func TestFiles(t *testing.T) {
	t.Parallel()
	p := start(t, options(t), basic)
	uid, _ := pcptest.UID(t)
	for _, path := range []string{p.Path("log/rtlan.log"), p.Path("var/config/pmda/rtlan.ids")} {
		info, err := os.Stat(path)
		if err != nil {
			t.Fatal(err)
		}
		if got := info.Sys().(*syscall.Stat_t).Uid; int(got) != uid || info.Mode().Perm()&0o022 != 0 {
			t.Errorf("%s belongs to %d, mode %v", path, got, info.Mode())
		}
	}
}

// TestHealth: the MMV file is served even while the agent is stuck.
func TestHealth(t *testing.T) {
	t.Parallel()
	engines(t, func(t *testing.T, o pcptest.Options) {
		o.MMV = true
		p := start(t, o, basic)
		answered(p, t, "127.0.0.1", "::1", "127.0.0.2")
		pcptest.Eventually(t, "the MMV file says what there is", func() error {
			v, err := p.TryValues("mmv.rtlan.hosts")
			if err == nil && v[""].Text != "3" {
				err = fmt.Errorf("hosts: %v", v)
			}
			return err
		})
		contains(t, p.Run("pminfo", "-h", "local:", "-dt", "mmv.rtlan.sent"), "Semantics: counter", "echo requests sent")
		signal(p, t, syscall.SIGSTOP)
		alive := p.Number("mmv.rtlan.alive", "")
		time.Sleep(2 * time.Second) // two updates would fall into this
		if now := p.Number("mmv.rtlan.alive", ""); now != alive {
			t.Errorf("alive is %v, was %v when the agent was stopped", now, alive)
		}
		for metric, want := range map[string]float64{"hosts": 3, "probed": 3, "paused": 0} {
			if got := p.Number("mmv.rtlan."+metric, ""); got != want {
				t.Errorf("mmv.rtlan.%s is %v while the agent is stopped, want %v", metric, got, want)
			}
		}
		signal(p, t, syscall.SIGCONT)
		pcptest.Eventually(t, "the agent goes on", func() error {
			if now := p.Number("mmv.rtlan.alive", ""); now <= alive {
				return fmt.Errorf("alive is %v", now)
			}
			return nil
		})
		present(p, t, "127.0.0.1", "::1", "127.0.0.2")
	})
}

// TestOwnStateTakenOver: an agent that starts while another process publishes under its name
// goes without a file of its own state until that process has ended.
func TestOwnStateTakenOver(t *testing.T) {
	t.Parallel()
	o := options(t)
	o.MMV = true
	p := prepare(t, o, basic)
	other := exec.Command("sleep", "1000")
	if err := other.Start(); err != nil {
		t.Fatal(err)
	}
	end := sync.OnceFunc(func() { other.Process.Kill(); other.Wait() })
	t.Cleanup(end)
	const pidOffset = 32 // in the header of the file, mmv(5)
	p.WriteFile("tmp/mmv/rtlan", string(binary.NativeEndian.AppendUint32(make([]byte, pidOffset), uint32(other.Process.Pid))))
	p.StartPmcd()
	logged(p, t, "no MMV file")
	answered(p, t, "127.0.0.1")
	if v, err := p.TryValues("mmv.rtlan.hosts"); err == nil {
		t.Errorf("while the other lives: %v", v)
	}
	end()
	pcptest.Eventually(t, "mmv.rtlan is there", func() error {
		v, err := p.TryValues("mmv.rtlan.hosts")
		if err == nil && v[""].Text != "3" {
			err = fmt.Errorf("%v", v)
		}
		return err
	})
}
