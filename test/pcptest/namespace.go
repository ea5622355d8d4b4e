package pcptest

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"sync"
)

// addNamespace makes a network namespace with a loopback interface.
func (p *PCP) addNamespace() {
	p.t.Helper()
	p.namespace = filepath.Base(p.Dir)
	p.ip("netns", "add", p.namespace)
	p.ip("-n", p.namespace, "link", "set", "lo", "up")
	// Not every machine has an IPv6 address for localhost, which pmcd connects to.
	p.etc("hosts", "127.0.0.1 localhost\n::1 localhost\n")
}

// etc writes a file that programs in the namespace see in /etc; see ip-netns(8).
func (p *PCP) etc(name, text string) {
	p.t.Helper()
	etcMu.Lock()
	defer etcMu.Unlock()
	dir := filepath.Join(etcNetns, p.namespace)
	err := os.MkdirAll(dir, 0o755)
	for errors.Is(err, os.ErrNotExist) { // the tests of another package have removed the folder above
		err = os.MkdirAll(dir, 0o755)
	}
	if err == nil {
		err = os.WriteFile(filepath.Join(dir, name), []byte(text), 0o644)
	}
	if err != nil {
		p.t.Fatal(err)
	}
}

const etcNetns = "/etc/netns"

// etcMu keeps one test from removing the folder in which another makes its own.
var etcMu sync.Mutex

func (p *PCP) removeNamespace() {
	if p.namespace == "" {
		return
	}
	p.ip("netns", "del", p.namespace)
	etcMu.Lock()
	defer etcMu.Unlock()
	if err := os.RemoveAll(filepath.Join(etcNetns, p.namespace)); err != nil {
		p.t.Error(err)
	}
	_ = os.Remove(etcNetns) // if it is empty
}

func (p *PCP) ip(args ...string) {
	p.t.Helper()
	if out, err := exec.Command("ip", args...).CombinedOutput(); err != nil {
		p.t.Errorf("ip %v: %v: %s", args, err, out)
	}
}

// inNamespace returns the command that runs a command in the namespace of this PCP.
func (p *PCP) inNamespace(args []string) []string {
	if p.namespace == "" {
		return args
	}
	return append([]string{"/usr/sbin/ip", "netns", "exec", p.namespace}, args...)
}

// Silence has all IPv4 hosts of the namespace leave echo requests unanswered, or
// answer them again. IPv6 hosts go on answering.
func (p *PCP) Silence(on bool) {
	p.t.Helper()
	value := 0
	if on {
		value = 1
	}
	p.ip("netns", "exec", p.namespace, "sysctl", "-q", "-w", fmt.Sprintf("net.ipv4.icmp_echo_ignore_all=%d", value))
}
