//go:build linux

package probe

import (
	"errors"
	"fmt"
	"net/netip"
	"os"
	"os/exec"
	"runtime"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/pcp-rtime/rtime/pmdas/lan/internal/probe/probetest"
	"golang.org/x/sys/unix"
)

func openEngine(t *testing.T, open func() (Engine, error)) *labRun {
	t.Helper()
	e, err := open()
	if err != nil {
		t.Fatalf("open: %v (needs root)", err)
	}
	t.Cleanup(func() { e.Close() })
	return &labRun{Engine: e, t: t, began: time.Now()}
}

func TestEnginesLoopback(t *testing.T) {
	for _, en := range engines {
		for _, a := range []string{"127.0.0.1", "127.1.2.3", "::1", "::ffff:127.0.0.9"} {
			t.Run(en.name+"/"+a, func(t *testing.T) {
				r := openEngine(t, en.open)
				addr := netip.MustParseAddr(a)
				for token := range uint64(3) {
					if err := r.Send(addr, token<<62|token); err != nil {
						t.Fatal(err)
					}
				}
				r.until("replies", func() bool { return len(r.events) >= 3 })
				seen := map[uint64]bool{}
				for _, e := range r.events {
					seen[e.Token] = true
					if e.Kind != Reply || e.From != addr.Unmap() || e.TTL != 64 || e.RTT < 0 {
						t.Errorf("event %+v", e)
					}
				}
				if len(seen) != 3 || len(r.events) != 3 {
					t.Errorf("events %+v, want one for each of 3 tokens", r.events)
				}
			})
		}
	}
}

func TestEnginesLinkLocal(t *testing.T) {
	lab := probetest.New(t)
	var addr netip.Addr
	for deadline := time.Now().Add(patience); !addr.IsValid(); {
		// The link comes up in its own time, and its addresses are tentative first.
		a, err := lab.LinkLocal()
		if err == nil {
			addr = a
		} else if time.Now().After(deadline) {
			t.Fatal(err)
		}
		time.Sleep(10 * time.Millisecond)
	}
	for _, en := range engines {
		t.Run(en.name, func(t *testing.T) {
			r := openEngine(t, en.open)
			// The near side's own address is tentative for a while too.
			r.until("route", func() bool { return r.Send(addr, 7) == nil })
			r.until("reply", func() bool { return len(r.events) > 0 })
			if e := r.events[0]; e.Kind != Reply || e.Token != 7 || e.From != addr {
				t.Errorf("event %+v, want a reply from %v", e, addr)
			}
			err := r.Send(addr.WithZone("nosuchif"), 8)
			if err == nil {
				t.Error("sending through an interface that is not there succeeds")
			}
		})
	}
}

func TestEnginesSendErrors(t *testing.T) {
	lab := probetest.New(t)
	denied, prohibited := lab.Addr(1), lab.Addr(2)
	for kind, addr := range map[string]netip.Addr{"unreachable": denied, "prohibit": prohibited} {
		args := []string{"route", "replace", kind, addr.String()}
		if out, err := exec.Command("ip", args...).CombinedOutput(); err != nil {
			t.Fatalf("ip %v: %v: %s", args, err, out)
		}
		defer exec.Command("ip", "route", "del", kind, addr.String()).Run()
	}
	tests := []struct {
		addr netip.Addr
		want syscall.Errno
	}{
		{denied, syscall.EHOSTUNREACH},
		{prohibited, syscall.EACCES},
		{netip.MustParseAddr("127.255.255.255"), syscall.EACCES}, // broadcast
		{netip.Addr{}, syscall.EAFNOSUPPORT},
	}
	for _, en := range engines {
		t.Run(en.name, func(t *testing.T) {
			r := openEngine(t, en.open)
			r.lab = lab
			for _, tt := range tests {
				err := r.Send(tt.addr, 1)
				var errno syscall.Errno
				if !errors.As(err, &errno) || errno != tt.want {
					t.Errorf("Send(%v) = %v, want %v", tt.addr, err, tt.want)
				}
			}
			r.flush(lab.Addr(9))
			if len(r.events) != 0 {
				t.Errorf("events of requests that were not sent: %+v", r.events)
			}
		})
	}
}

func TestEnginesAfterClose(t *testing.T) {
	for _, en := range engines {
		t.Run(en.name, func(t *testing.T) {
			r := openEngine(t, en.open)
			home := netip.MustParseAddr("127.0.0.1")
			if err := r.Send(home, 1); err != nil {
				t.Fatal(err)
			}
			for range 2 {
				if err := r.Close(); err != nil {
					t.Errorf("Close: %v", err)
				}
			}
			if err := r.Send(home, 2); err == nil {
				t.Error("Send after Close succeeds")
			}
			if ev := r.Poll(nil); len(ev) != 0 {
				t.Errorf("Poll after Close: %+v", ev)
			}
			r.Drops()
			r.Strays()
		})
	}
}

func TestOpen(t *testing.T) {
	for name, want := range map[string]string{"": EngineLinux, EngineAuto: EngineLinux, EngineLinux: EngineLinux, EngineProbing: EngineProbing} {
		e, err := Open(name, Options{})
		if err != nil {
			t.Errorf("Open(%q): %v", name, err)
			continue
		}
		if got := NameOf(e); got != want {
			t.Errorf("Open(%q) opens %q, want %q", name, got, want)
		}
		e.Close()
	}
	if e, err := Open("carrier pigeon", Options{}); err == nil {
		t.Errorf("Open of an unknown name gives %v", e)
	}
}

// TestLinuxWithoutPrivileges re-executes the test binary, because what a process
// has given up it cannot get back.
func TestLinuxWithoutPrivileges(t *testing.T) {
	const mark = "PROBE_TEST_UNPRIVILEGED"
	if os.Getenv(mark) == "" {
		cmd := exec.Command(os.Args[0], "-test.run=^TestLinuxWithoutPrivileges$", "-test.v")
		cmd.Env = append(os.Environ(), mark+"=1")
		out, err := cmd.CombinedOutput()
		if err != nil || !strings.Contains(string(out), "--- PASS") {
			t.Fatalf("%v\n%s", err, out)
		}
		return
	}
	r := openEngine(t, engines[0].open)
	if err := errors.Join(syscall.Setgroups(nil), syscall.Setgid(65534), syscall.Setuid(65534)); err != nil {
		t.Fatal(err)
	}
	if _, err := OpenLinux(Options{}); !errors.Is(err, syscall.EPERM) {
		t.Fatalf("privileges are not gone: OpenLinux says %v", err)
	}
	for i, a := range []string{"127.0.0.1", "::1"} {
		if err := r.Send(netip.MustParseAddr(a), uint64(i)); err != nil {
			t.Fatal(err)
		}
	}
	r.until("replies", func() bool { return len(r.events) == 2 })
	for _, e := range r.events {
		if e.Stamps != StampsKernel {
			t.Errorf("reply with stamps %d, want the kernel's", e.Stamps)
		}
	}
}

func TestLinuxForgottenRequests(t *testing.T) {
	lab := probetest.New(t)
	r := openEngine(t, func() (Engine, error) { return OpenLinux(Options{Records: 4}) })
	r.lab = lab
	slow, quick := lab.Addr(0), lab.Addr(1)
	const delay = 3 * time.Second // for the requests after it to be sent
	lab.Play(slow, probetest.Behaviour{Delay: delay})
	r.ask(slow, 1)
	for i := range 8 {
		if err := r.Send(quick, uint64(100+i)); err != nil {
			t.Fatal(err)
		}
	}
	r.until("replies", func() bool { return len(r.events) == 9 })
	e := r.events[len(r.events)-1]
	if e.Token != 0 || e.From != slow || e.Stamps != StampsReceive || e.RTT < delay {
		t.Errorf("reply to a request beyond the records: %+v", e)
	}
}

func TestLinuxCountsDrops(t *testing.T) {
	lab := probetest.New(t)
	r := openEngine(t, func() (Engine, error) {
		// Send stamps would take room too.
		return OpenLinux(Options{Buffer: 8192, stamps: noSendStamps})
	})
	const sent = 200
	for i := range sent {
		if err := r.Send(lab.Addr(i), uint64(i)); err != nil {
			t.Fatal(err)
		}
	}
	// Not polling meanwhile, so that the buffer fills.
	for deadline := time.Now().Add(patience); lab.Total().Replies < sent; {
		if time.Now().After(deadline) {
			t.Fatalf("the hosts have played %+v", lab.Total())
		}
		time.Sleep(time.Millisecond)
	}
	r.until("all accounted for", func() bool {
		return len(r.events) > 0 && len(r.events)+int(r.Drops()) >= sent
	})
	// Other programs' messages count too while the buffer is full: see Drops.
	if got := len(r.events) + int(r.Drops()); got < sent || len(r.events) == sent {
		t.Errorf("%d events and %d drops of %d requests", len(r.events), r.Drops(), sent)
	}
}

// TestLinuxHearsNoOthers has two engines that do not see each other's replies: the
// kernel would otherwise queue a copy of each for both.
func TestLinuxHearsNoOthers(t *testing.T) {
	a, b := openEngine(t, engines[0].open), openEngine(t, engines[0].open)
	for i := range 50 {
		for _, addr := range []string{"127.0.0.1", "::1"} {
			if err := a.Send(netip.MustParseAddr(addr), uint64(i)); err != nil {
				t.Fatal(err)
			}
		}
	}
	a.until("replies", func() bool { return len(a.events) == 100 })
	le := b.Engine.(*linuxEngine)
	for _, s := range []*socket{le.v4, le.v6} {
		if n, err := unix.IoctlGetInt(s.fd, unix.SIOCINQ); err != nil || n != 0 {
			t.Errorf("%d bytes wait in a socket that sent nothing (%v)", n, err)
		}
	}
	if b.Strays() != 0 {
		t.Errorf("%d strays", b.Strays())
	}
}

func TestLinuxAllocatesNothing(t *testing.T) {
	r := openEngine(t, engines[0].open)
	addrs := []netip.Addr{netip.MustParseAddr("127.0.0.1"), netip.MustParseAddr("::1")}
	var token uint64
	probe := func() {
		for range 150 { // more than a batch
			if err := r.Send(addrs[token%2], token); err != nil {
				t.Fatal(err)
			}
			token++
		}
		r.events = r.Poll(r.events[:0])
	}
	probe()
	if n := allocations(100, probe); n != 0 {
		t.Errorf("%v allocations for 150 probes, want 0", n)
	}
}

// counted is an engine that counts how often it is polled.
type counted struct {
	Engine
	polls int
}

func (c *counted) Poll(ev []Event) []Event {
	c.polls++
	return c.Engine.Poll(ev)
}

// TestLinuxSystemCalls counts them with strace: one for each request, and few for
// all replies.
func TestLinuxSystemCalls(t *testing.T) {
	const mark = "PROBE_TEST_SYSCALLS"
	const sends, polls = 1000, 10
	if os.Getenv(mark) != "" {
		runtime.LockOSThread()
		r := openEngine(t, engines[0].open)
		c := &counted{Engine: r.Engine}
		r.Engine = c
		for i := range sends {
			if err := r.Send(netip.MustParseAddr("127.0.0.1"), uint64(i)); err != nil {
				t.Fatal(err)
			}
			if (i+1)%(sends/polls) == 0 {
				r.events = r.Poll(r.events)
			}
		}
		r.until("replies", func() bool { return len(r.events) == sends })
		fmt.Println("polls", c.polls)
		return
	}
	cmd := exec.Command("strace", "-f", "-qq", "-c", "-U", "name,calls", "-e", "trace=%network,recvmmsg,poll,ppoll,epoll_ctl,write",
		os.Args[0], "-test.run=^TestLinuxSystemCalls$")
	cmd.Env = append(os.Environ(), mark+"=1")
	out, err := cmd.CombinedOutput()
	if err != nil {
		t.Fatalf("strace (needed): %v\n%s", err, out)
	}
	calls := map[string]int{}
	for line := range strings.Lines(string(out)) {
		if f := strings.Fields(line); len(f) == 2 {
			calls[f[0]], _ = strconv.Atoi(f[1])
		}
	}
	// A poll of 100 replies reads two batches of them, send stamps after each, and
	// looks at the other family's socket. Before the first, the engine has written to
	// itself and read that until the kernel stamped it.
	if calls["sendto"] != sends || calls["recvmmsg"] > calls["polls"]*7+calls["write"] || calls["polls"] < polls || calls["recvmsg"]+calls["epoll_ctl"] > 10 {
		t.Errorf("system calls %v for %d probes and %d polls", calls, sends, polls)
	}
}
