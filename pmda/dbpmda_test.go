package pmda_test

import (
	"fmt"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/pcp-rtime/rtime/test/pcptest"
)

// dbpmda has PCP's own debugger of agents carry out commands, and returns what it
// prints.
func dbpmda(t *testing.T, commands ...string) string {
	t.Helper()
	cmd := exec.Command("dbpmda", "-i")
	cmd.Stdin = strings.NewReader(strings.Join(append(commands, "quit", ""), "\n"))
	out, err := cmd.CombinedOutput()
	if err != nil {
		t.Fatalf("dbpmda, of PCP: %v\n%s", err, out)
	}
	return string(out)
}

// TestDbpmda: what libpcp makes of our answers, on each kind of connection.
func TestDbpmda(t *testing.T) {
	exe := build(t, "../examples/hello")
	dir := filepath.Dir(exe)
	path, port := filepath.Join(dir, "socket"), strconv.Itoa(pcptest.FreePort(t))
	for _, x := range []struct {
		open             string
		option, where    string
		network, address string
	}{
		{open: fmt.Sprintf("open pipe %s -d 500 -l %s/piped.log --state %s", exe, dir, stateDir(t, dir))},
		{"open socket unix " + path, "-u", path, "unix", path},
		{"open socket inet " + port, "-i", port, "tcp", "127.0.0.1:" + port},
		{"open socket ipv6 " + port, "-6", port, "tcp", "[::1]:" + port},
	} {
		if x.option != "" {
			start(t, exe, x.option, x.where, "-l", "-")
			dial(t, x.network, x.address).Close()
		}
		out := dbpmda(t, x.open, "getdesc on", "desc 500.0.1", "fetch 500.0.0 500.0.1", "instance 500.0",
			`instance 500.0 "bert"`, "instance 500.0 1", `instance 500.0 "nobody"`, "text 500.0.0", "text indom 500.0",
			"children hello", "traverse hello", "pmid hello.mood", "pmid hello.none", "name 500.0.1", "label domain",
			"label item 500.0.0", "label cluster 500.0", "label instances 500.0",
			"profile 500.0 none", "profile 500.0 add 1", `store 500.0.1 "5"`, "fetch 500.0.1", "desc 500.9.9", "fetch 500.9.9")
		at := 0
		for _, want := range []string{ // in this order
			"PMID: 500.0.1\n    Data Type: 32-bit int  InDom: 500.0 0x7d000000\n    Semantics: discrete  Units: none",
			"numpmid: 2", "500.0.0 (<noname>): numval: 1 valfmt: 1", "500.0.1 (<noname>): numval: 2 valfmt: 0",
			`[  0] inst: 0 name: "anna"`, `[  1] inst: 1 name: "bert"`, // all
			`inst: 1 name: "bert"`, `inst: 1 name: "bert"`, // by name, by id
			"Unknown or illegal instance identifier",
			"[time since the agent was started]", "[people to greet]",
			"leaf mood", "leaf uptime", "hello.mood\n", "hello.uptime\n", "500.0.1\n", "Unknown metric name",
			"hello.mood\n", `agent="hello"`,
			"0 -> 5", "numval: 1 valfmt: 0", "inst [1 or ???] value 5",
			"Unknown or illegal metric identifier", "Unknown or illegal metric identifier",
		} {
			i := strings.Index(out[at:], want)
			if i < 0 {
				t.Errorf("%s: dbpmda does not print %q where it should:\n%s", x.open, want, out)
				break
			}
			at += i + len(want)
		}
		for _, wrong := range []string{"IPC protocol failure", "timed out", "Timeout"} {
			if strings.Contains(out, wrong) {
				t.Errorf("%s: dbpmda says %q:\n%s", x.open, wrong, out)
			}
		}
	}
}

// TestDbpmdaOnZoo has libpcp decode every kind of value and label.
func TestDbpmdaOnZoo(t *testing.T) {
	z := newZoo()
	path := filepath.Join(t.TempDir(), "socket")
	l := listenUnix(t, path)
	s, _ := listen(t, z.agent, l)
	s.Do(func() {
		if err := z.agent.Start(s); err != nil {
			t.Error(err)
		}
	})
	id := func(item int) string { return zooID(item).String() }
	out := dbpmda(t, "open socket unix "+path, "getdesc on",
		"fetch "+id(itemKind), "fetch "+id(itemBlob), "fetch "+id(itemEvents), "fetch "+id(itemMood), "fetch "+id(itemBroken),
		"label domain", "label indom 444.7", "label cluster 444.3", "label item "+id(itemCount), "label instances 444.7",
		"children zoo.tree", "traverse zoo2", `store `+id(itemCount)+` "7"`, "fetch "+id(itemCount))
	at := 0
	for _, want := range []string{
		`value "`, "[010203]", "[0 event records]", "value 0.5", "Try again",
		`agent="zoo"`, `town="Ulm"`, "fed=true", `wing="east"`, `counted="daily"`, `kind="`, `kind="`, "value 2",
	} {
		i := strings.Index(out[at:], want)
		if i < 0 {
			t.Fatalf("dbpmda does not print %q where it should:\n%s", want, out)
		}
		at += i + len(want)
	}
	if strings.Contains(out, "IPC protocol failure") {
		t.Error(out)
	}
}
