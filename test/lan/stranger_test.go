package lan

import (
	"errors"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"github.com/pcp-rtime/rtime/test/pcptest"
)

// holdScript connects to an agent and stays.
const holdScript = `
import socket, sys, time
s = socket.create_connection((sys.argv[1], int(sys.argv[2])))
print("connected", flush=True)
time.sleep(600)
`

// TestStrangers: a port of the loopback address is open to every local user. A user who
// plays pmcd there, and says that its client is root, achieves nothing and does not keep
// pmcd away.
func TestStrangers(t *testing.T) {
	t.Parallel()
	o := options(t)
	port := pcptest.FreePort(t)
	o.Agents[0].Inet = port
	p := prepare(t, o, basic)
	p.Spawn(program(t), "--inet", strconv.Itoa(port), "--config", p.Path("rtlan.conf"))
	logged(p, t, "probing")
	if out := asNobody(p, "inet "+strconv.Itoa(port)); strings.Contains(out, `name: "127.0.0.8"`) {
		t.Errorf("a stranger has added a host:\n%s", out)
	}
	hold := p.Spawn("setpriv", "--reuid", strconv.Itoa(nobody), "--regid", strconv.Itoa(nogroup), "--clear-groups",
		"/usr/bin/python3", "-c", holdScript, "127.0.0.1", strconv.Itoa(port))
	pcptest.Eventually(t, "the stranger is connected", func() error {
		if !strings.Contains(hold.Output(), "connected") {
			return errors.New(hold.Output())
		}
		return nil
	})
	p.StartPmcd()
	present(p, t, "127.0.0.1", "::1", "127.0.0.2")
	settings(t, p, "0.5", "200", "75")
	p.Run("pmstore", "-h", "local:", "rtime.lan.control.interval", "1")
}

// TestStrangersUnix: nobody but root and pcp can connect to the socket of an agent.
func TestStrangersUnix(t *testing.T) {
	t.Parallel()
	p := prepare(t, options(t), basic)
	path := p.Path("run", "rtlan.socket")
	p.Spawn(program(t), "--unix", path, "--config", p.Path("rtlan.conf"))
	listening(t, p, path)
	contains(t, asNobody(p, "unix "+path), "Permission denied")
	if log := p.Log(name); strings.Contains(log, "connected") {
		t.Errorf("a stranger was let in:\n%s", log)
	}
	session(t, p, "open socket unix "+path, answers)
}

// asNobody has dbpmda, run by a user without rights, play pmcd with root as a client.
func asNobody(p *pcptest.PCP, socket string) string {
	script := "open socket " + socket + "\nattr 11 \"0\"\n" +
		"store rtime.lan.control.interval \"7\"\nstore rtime.lan.control.add \"127.0.0.9\"\n" +
		"instance 470.0 \"127.0.0.8\"\nquit\n"
	r := p.TryIn(&syscall.Credential{Uid: nobody, Gid: nogroup}, script, "dbpmda", "-e", "-n", p.Path("files-rtlan", "root"))
	return r.String()
}
