package pcptest

import (
	"fmt"
	"os/exec"
	"path/filepath"
)

// addNamespace makes a network namespace with a loopback interface.
func (p *PCP) addNamespace() {
	p.t.Helper()
	p.namespace = filepath.Base(p.Dir)
	p.ip("netns", "add", p.namespace)
	p.ip("-n", p.namespace, "link", "set", "lo", "up")
}

func (p *PCP) removeNamespace() {
	if p.namespace != "" {
		p.ip("netns", "del", p.namespace)
	}
}

func (p *PCP) ip(args ...string) {
	p.t.Helper()
	if out, err := exec.Command("ip", args...).CombinedOutput(); err != nil {
		p.t.Errorf("ip %v: %v: %s", args, err, out)
	}
}

// inNamespace is a command as it is run in the namespace of this PCP.
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
