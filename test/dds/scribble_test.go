package dds

import (
	"bufio"
	"errors"
	"fmt"
	"io/fs"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"

	"github.com/pcp-rtime/rtime/internal/ddsseg/layout"
	"github.com/pcp-rtime/rtime/test/pcptest"
)

// scribbleEnv names a directory. It tells the test's binary to attack the files in it.
const scribbleEnv = "DDS_TEST_SCRIBBLE"

// scribble attacks every file below a directory, once for each line of its input, which
// says how: write, cut, empty, lengthen. It answers with a line: how many files it could
// neither open for writing nor cut, how many it changed, and an error if there was one.
func scribble(dir string) {
	for in := bufio.NewScanner(os.Stdin); in.Scan(); {
		refused, changed, err := attack(dir, in.Text())
		fmt.Printf("%s;%s;%v\n", strings.Join(refused, " "), strings.Join(changed, " "), err)
	}
}

func attack(dir, how string) (refused, changed []string, err error) {
	err = filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil || !d.Type().IsRegular() {
			return err
		}
		name, err := filepath.Rel(dir, path)
		if err != nil {
			return err
		}
		if filepath.Dir(name) == layout.NoticeDir {
			changed = append(changed, name)
			return spoil(path, how)
		}
		for _, flags := range []int{os.O_WRONLY, os.O_RDWR, os.O_WRONLY | os.O_TRUNC, os.O_WRONLY | os.O_APPEND} {
			f, err := os.OpenFile(path, flags, 0)
			if err == nil {
				f.Close()
			}
			if !errors.Is(err, syscall.EACCES) {
				return fmt.Errorf("opening %s with flags %#x: %v", name, flags, err)
			}
		}
		if err := os.Truncate(path, 0); !errors.Is(err, syscall.EACCES) {
			return fmt.Errorf("cutting %s: %v", name, err)
		}
		refused = append(refused, name)
		return nil
	})
	return refused, changed, err
}

// spoil changes a file.
func spoil(path, how string) error {
	switch how {
	case "cut":
		return os.Truncate(path, rand.Int64N(layout.NoticeLen))
	case "empty":
		return os.Truncate(path, 0)
	case "lengthen":
		return os.Truncate(path, 1<<40)
	}
	f, err := os.OpenFile(path, os.O_WRONLY, 0)
	if err != nil {
		return err
	}
	defer f.Close()
	garbage := make([]byte, layout.NoticeLen)
	for i := range garbage {
		garbage[i] = byte(rand.Uint32())
	}
	_, err = f.WriteAt(garbage, 0)
	return err
}

// ordersSupplier builds libSpmi/test/orders.c and starts it as another user.
func ordersSupplier(t *testing.T, p *pcptest.PCP, uid int) *supplier {
	t.Helper()
	lib, exe, home := t.TempDir(), p.Path("orders"), p.Path("home")
	command(t, "make", "-s", "BUILD="+lib, "CC=gcc", "all")
	command(t, "gcc", "-std=gnu11", "-Wall", "-Wextra", "-Werror", "-Iinclude", "-o", exe, "test/orders.c", lib+"/libSpmi.a", "-pthread")
	if err := os.Mkdir(home, 0o700); err != nil { // for the supplier's file
		t.Fatal(err)
	}
	if err := os.Chown(home, uid, uid); err != nil {
		t.Fatal(err)
	}
	c := exec.Command(exe, filepath.Join(home, "hook"))
	c.Env = append(p.Env(), layout.DirEnv+"="+p.Path("run/dds"))
	return startAs(t, c, uid, uid)
}

// filesBelow lists the files below a folder, as the scribbler names them.
func filesBelow(t *testing.T, dir string) (list []string) {
	t.Helper()
	err := filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil || !d.Type().IsRegular() {
			return err
		}
		name, err := filepath.Rel(dir, path)
		list = append(list, name)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return list
}

// TestAgentTurnedHostile: somebody has become the user that the agent runs as. That user
// can read the suppliers' files, and can neither write into them nor cut them. What the
// agent tells the suppliers can be spoilt, which harms no supplier: all go on, and all
// values are right.
//
// A program in C does not survive a look at SiShGoAway, SiShInterval or SiShSubscrib when
// their page was cut off (docs/dds-segment.md). So it looks at them only in the first
// rounds, in which they are overwritten and not cut.
func TestAgentTurnedHostile(t *testing.T) {
	t.Parallel()
	p := start(t, "", false)
	const inC, inGo = 65534, 1
	golang, c := startSupplier(t, p, inGo), ordersSupplier(t, p, inC)
	c.done()
	is(t, p, "dds.V.Count.n", "", "0")
	is(t, p, "dds.IBM.Test.gadgets", "", "0")
	dir := p.Path("run/dds")
	var suppliers, agents []string
	for _, s := range segments(t, dir) {
		suppliers = append(suppliers, filepath.Base(s))
		agents = append(agents, filepath.Join(layout.NoticeDir, filepath.Base(s)))
	}
	if len(suppliers) != 2 {
		t.Fatalf("segments %q", suppliers)
	}
	suppliers = append(suppliers, fmt.Sprintf("claims/%d", inGo), fmt.Sprintf("claims/%d", inC))
	slices.Sort(suppliers)
	pcptest.Eventually(t, "each supplier has a notice", func() error {
		if got, want := filesBelow(t, dir), slices.Sorted(slices.Values(append(slices.Clone(suppliers), agents...))); !slices.Equal(slices.Sorted(slices.Values(got)), want) {
			return fmt.Errorf("there are %q, not %q", got, want)
		}
		return nil
	})

	exe := exec.Command(p.Path("supplier")) // startSupplier has put it there
	exe.Env = []string{scribbleEnv + "=" + dir}
	uid, gid := pcptest.UID(t)
	hostile := startAs(t, exe, uid, gid)
	agent := p.AgentPID(program(t))
	want := strings.Join(suppliers, " ") + ";" + strings.Join(agents, " ") + ";<nil>"
	const writes, rounds, count = 20, 80, 1000
	cuts := []string{"cut", "lengthen", "write", "empty"}
	for n := range rounds {
		how := "write"
		if n >= writes {
			how = cuts[n%len(cuts)]
		}
		var orders []string
		if n < writes {
			orders = append(orders, "look")
		}
		orders = append(orders, fmt.Sprintf("count %d", count), fmt.Sprintf("add DDS/V/Parts/p%d", n))
		for _, text := range []struct {
			to    *supplier
			order string
		}{{hostile, how}, {c, strings.Join(orders, "\n")}, {golang, fmt.Sprintf("gadgets\nlook\nadd DDS/IBM/Moretest/b%d", n)}} {
			if _, err := text.to.in.WriteString(text.order + "\n"); err != nil {
				t.Fatal(err)
			}
		}
		for range orders {
			c.done()
		}
		for range 3 {
			golang.done()
		}
		if !hostile.out.Scan() || hostile.out.Text() != want {
			t.Fatalf("round %d, %s: the PCP user was refused, changed and met %q, want %q", n, how, hostile.out.Text(), want)
		}
		if n%10 == 0 { // the agent writes its notices, too
			is(t, p, "dds.V.Count.n", "", fmt.Sprint((n+1)*count))
			is(t, p, "dds.IBM.Test.gadgets", "", fmt.Sprint(n+1))
		}
	}
	is(t, p, "dds.V.Count.n", "", fmt.Sprint(rounds*count))
	is(t, p, "dds.IBM.Test.gadgets", "", fmt.Sprint(rounds))
	for metric, prefix := range map[string]string{"dds.V.Parts.n": "p", "dds.IBM.Moretest.problems": "b"} {
		values := p.Values(metric)
		if len(values) != rounds {
			t.Errorf("%s has %d values, want %d", metric, len(values), rounds)
		}
		for n := range rounds {
			if inst := fmt.Sprint(prefix, n); values[inst].Text != "7" {
				t.Errorf("%s[%s] is %q", metric, inst, values[inst].Text)
			}
		}
	}
	if now := p.AgentPID(program(t)); now != agent {
		t.Errorf("the agent was process %d and is %d", agent, now)
	}
	c.do("end")
	golang.do("end")
	if err := c.cmd.Wait(); err != nil {
		t.Errorf("the supplier in C: %v", err)
	}
	is(t, p, "rtime.dds.supplier.state", "hook@nobody", "ended")
	is(t, p, "rtime.dds.supplier.state", "SpmiSupl@daemon", "ended")
}
