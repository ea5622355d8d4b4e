//go:build linux

// Package probetest plays hosts for tests of probing engines. A Lab is a network
// namespace with many addresses, in which the kernel answers no echo request; a
// responder does, as each test scripts it, and records what it played and how long
// each answer truly took, by the kernel's time stamps on its side.
//
// It needs root, the ip command and Linux. The process under test stays in the
// namespace it is in and reaches the hosts by a route to a veth pair.
package probetest

import (
	"crypto/rand"
	"encoding/hex"
	"fmt"
	"net/netip"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"sync"
	"testing"
)

// Lab is a set of hosts that answer as they are told. Its methods may be called
// from any goroutine.
type Lab struct {
	name  string // of the namespace and, cut, of the veth pair
	near  string // interface on this side
	net4  netip.Prefix
	net6  netip.Prefix
	reply *responder

	mu     sync.Mutex
	hosts  map[netip.Addr]*host
	closed bool
}

// Hosts is how many addresses of each family a Lab has.
const Hosts = 16000

// prefix begins the names of namespaces and interfaces. The process id follows, by which
// leftovers of killed tests are recognised, and a random part.
const prefix = "rtl-"

// New builds a Lab and takes it down at the end of the test.
func New(t testing.TB) *Lab {
	t.Helper()
	l, err := Open()
	if err != nil {
		t.Fatalf("probetest (needs root and the ip command): %v", err)
	}
	t.Cleanup(func() {
		if err := l.Close(); err != nil {
			t.Errorf("probetest: %v", err)
		}
	})
	return l
}

// Open builds a Lab for programs that are no tests. The caller closes it.
func Open() (*Lab, error) {
	sweep()
	var l *Lab
	var err error
	for range 32 { // another Lab may have the same random addresses
		l = unbuilt()
		if err = l.build(); err == nil {
			return l, nil
		}
		l.Close()
	}
	return nil, err
}

func unbuilt() *Lab {
	var b [4]byte
	rand.Read(b[:])
	l := &Lab{
		name:  fmt.Sprintf("%s%d-%s", prefix, os.Getpid(), hex.EncodeToString(b[:])),
		near:  "rtl" + hex.EncodeToString(b[:]),
		hosts: map[netip.Addr]*host{},
	}
	// 198.18.0.0/15 is for tests of networks (RFC 2544), fd00::/8 for anyone.
	l.net4 = netip.PrefixFrom(netip.AddrFrom4([4]byte{198, 18 + b[0]&1, b[1] & 0xc0, 0}), 18)
	a := [16]byte{0xfd, 'r', 't', b[0], b[1], b[2], b[3]}
	l.net6 = netip.PrefixFrom(netip.AddrFrom16(a), 64)
	return l
}

// build makes namespace, link, routes and responder. The neighbour entries are permanent,
// so that the hosts' addresses need no look-up, however many there are.
func (l *Lab) build() error {
	gate4, gate6 := at(l.net4, 2), at(l.net6, 2)
	steps := []string{
		"netns add " + l.name,
		"link add " + l.near + " type veth peer name far netns " + l.name,
		"netns exec " + l.name + " sysctl -qw net.ipv4.icmp_echo_ignore_all=1 net.ipv6.icmp.echo_ignore_all=1" +
			" net.ipv4.ip_forward=0 net.ipv6.conf.all.forwarding=0",
		"-n " + l.name + " link set lo up",
		"-n " + l.name + " link set far up",
		fmt.Sprintf("-n %s addr add %s/30 dev far", l.name, gate4),
		fmt.Sprintf("-n %s addr add %s/126 dev far nodad", l.name, gate6),
		// What the responder leaves unanswered must not get an error from the kernel.
		fmt.Sprintf("-n %s route add blackhole %s", l.name, l.net4),
		fmt.Sprintf("-n %s route add blackhole %s", l.name, l.net6),
		"link set " + l.near + " up",
		// Fails if another Lab has this network.
		fmt.Sprintf("route add %s dev %s scope link", l.net4, l.near),
		fmt.Sprintf("addr add %s/30 dev %s", at(l.net4, 1), l.near),
		fmt.Sprintf("addr add %s/126 dev %s nodad", at(l.net6, 1), l.near),
	}
	if err := ip(steps...); err != nil {
		return err
	}
	near, err := hardwareAddr("", l.near)
	if err != nil {
		return err
	}
	far, err := hardwareAddr(l.name, "far")
	if err != nil {
		return err
	}
	err = ip(
		fmt.Sprintf("neigh replace %s lladdr %s dev %s nud permanent", gate4, far, l.near),
		fmt.Sprintf("neigh replace %s lladdr %s dev %s nud permanent", gate6, far, l.near),
		fmt.Sprintf("route replace %s via %s dev %s", l.net4, gate4, l.near),
		fmt.Sprintf("route add %s via %s dev %s", l.net6, gate6, l.near),
	)
	if err != nil {
		return err
	}
	l.reply, err = startResponder(l, near)
	return err
}

// Close ends the responder and takes down what Open built.
func (l *Lab) Close() error {
	l.mu.Lock()
	closed := l.closed
	l.closed = true
	l.mu.Unlock()
	if closed {
		return nil
	}
	if l.reply != nil {
		l.reply.stop()
	}
	return ip("netns del " + l.name) // and with it the veth pair and the routes
}

// Addr is the IPv4 address of host n, from 0 to Hosts-1.
func (l *Lab) Addr(n int) netip.Addr { return at(l.net4, n+16) }

// Addr6 is the IPv6 address of host n, from 0 to Hosts-1.
func (l *Lab) Addr6(n int) netip.Addr { return at(l.net6, n+16) }

// LinkLocal is the IPv6 link-local address of a host, with its zone. The kernel first
// checks that nobody else has it, which takes a second or two.
func (l *Lab) LinkLocal() (netip.Addr, error) {
	out, err := run("-n", l.name, "-6", "-o", "addr", "show", "dev", "far", "scope", "link", "-tentative")
	if err != nil {
		return netip.Addr{}, err
	}
	for _, f := range strings.Fields(out) {
		if p, err := netip.ParsePrefix(f); err == nil {
			return p.Addr().WithZone(l.near), nil
		}
	}
	return netip.Addr{}, fmt.Errorf("no link-local address in %q", out)
}

// Interface is the name of this side's end of the link to the hosts.
func (l *Lab) Interface() string { return l.near }

// at is address n of a prefix.
func at(p netip.Prefix, n int) netip.Addr {
	b := p.Addr().AsSlice()
	b[len(b)-2] |= byte(n >> 8)
	b[len(b)-1] |= byte(n)
	a, _ := netip.AddrFromSlice(b)
	return a
}

// ip runs the ip command once for each line of arguments.
func ip(lines ...string) error {
	for _, l := range lines {
		if _, err := run(strings.Fields(l)...); err != nil {
			return err
		}
	}
	return nil
}

func run(args ...string) (string, error) {
	out, err := exec.Command("ip", args...).CombinedOutput()
	if err != nil {
		return "", fmt.Errorf("ip %s: %w: %s", strings.Join(args, " "), err, out)
	}
	return string(out), nil
}

func hardwareAddr(ns, dev string) (string, error) {
	args := []string{"-o", "link", "show", dev}
	if ns != "" {
		args = append([]string{"-n", ns}, args...)
	}
	out, err := run(args...)
	if err != nil {
		return "", err
	}
	f := strings.Fields(out)
	for i := range f[:len(f)-1] {
		if f[i] == "link/ether" {
			return f[i+1], nil
		}
	}
	return "", fmt.Errorf("no hardware address in %q", out)
}

// sweep removes namespaces whose processes were killed before they could.
func sweep() {
	out, err := run("netns", "list")
	if err != nil {
		return
	}
	for line := range strings.Lines(out) {
		name, _, _ := strings.Cut(strings.TrimSpace(line), " ")
		pid, _, ok := strings.Cut(strings.TrimPrefix(name, prefix), "-")
		if _, err := strconv.Atoi(pid); !ok || err != nil || !strings.HasPrefix(name, prefix) {
			continue
		}
		if _, err := os.Stat("/proc/" + pid); os.IsNotExist(err) {
			ip("netns del " + name)
		}
	}
}
