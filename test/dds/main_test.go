// Package dds tests the agent dds in a private pmcd, with PCP's own tools and with
// suppliers that are processes of their own.
package dds

import (
	"bufio"
	"fmt"
	"os"
	"os/exec"
	"strings"
	"syscall"
	"testing"

	"github.com/pcp-rtime/rtime/spmi"
	"github.com/pcp-rtime/rtime/test/pcptest"
)

// TestMain is also the main function of the supplier (see supply) and of the attacker of
// suppliers (see scribble).
func TestMain(m *testing.M) {
	if dir := os.Getenv(scribbleEnv); dir != "" {
		scribble(dir)
		os.Exit(0)
	}
	if dir := os.Getenv("DDS_TEST_SUPPLIER"); dir != "" {
		supply(dir)
		os.Exit(0)
	}
	os.Exit(pcptest.Main(m))
}

const (
	name   = "dds"
	domain = 472
)

func program(t *testing.T) string { return pcptest.Build(t, name, "pmdas/dds") }

// start starts a private PCP with the agent. The segments are in a folder of this PCP.
func start(t *testing.T, conf string, mmv bool) *pcptest.PCP {
	t.Helper()
	p := pcptest.New(t, pcptest.Options{MMV: mmv, Agents: []pcptest.Agent{{Name: name, Domain: domain, Program: program(t),
		Args: []string{"--config", "../dds.conf", "--dir", "../run/dds"}}}}) // agents run in the folder of the logs
	p.WriteFile("dds.conf", conf)
	p.StartPmcd()
	return p
}

// guide are the statistics of the guide's programs.
type guide struct {
	test struct {
		Gadgets spmi.Counter `spmi:"gadgets" descr:"Fake counter value" asn:"1" max:"100"`
		Widgets spmi.Counter `spmi:"widgets" descr:"Another fake counter value" asn:"2" max:"100"`
	}
	mem struct {
		Level spmi.Gauge `spmi:"level" descr:"Fake quantity value" asn:"1" max:"100"`
		Queue spmi.Gauge `spmi:"queue" descr:"Another fake quantity value" asn:"2" max:"100"`
	}
	supplier *spmi.Supplier
}

// bingo is the guide's context that comes and goes.
type bingo struct {
	Problems  spmi.Counter `spmi:"problems" descr:"Fake counter value"`
	Solutions spmi.Counter `spmi:"solutions" descr:"Another fake counter value"`
}

func open(dir string) (*guide, error) {
	g := new(guide)
	var err error
	g.supplier, err = spmi.Open(spmi.Options{Dir: dir, Name: "SpmiSupl", Volatile: []*spmi.Context{
		{Path: "DDS/IBM/Moretest/INST1", Descr: "Instantiable Context Number 1", ASN: 215, Values: (*bingo)(nil)}}},
		&spmi.Context{Path: "DDS/IBM", Descr: "IBM-defined Dynamic Data-Suppliers", ASN: 2},
		&spmi.Context{Path: "DDS/IBM/Test", Descr: "Bogus Context Number 1", ASN: 220, Values: &g.test},
		&spmi.Context{Path: "DDS/IBM/Moretest", Descr: "Bogus Context Number 2", ASN: 221},
		&spmi.Context{Path: "DDS/IBM/Moretest/SubTest", Descr: "Bogus Context Number 3", ASN: 222, Values: &g.mem})
	if err != nil {
		return nil, err
	}
	return g, g.supplier.Err()
}

// supply is the supplier as a process. It reads orders from standard input, one on a line,
// and prints a line when an order is carried out.
func supply(dir string) {
	g, err := open(dir)
	fmt.Println(err)
	if err != nil {
		// With the race detector a program takes a second to exit, in which a supplier
		// tries again.
		if g != nil {
			_ = g.supplier.Close()
		}
		return
	}
	there := make(map[string]*spmi.Context)
	for in := bufio.NewScanner(os.Stdin); in.Scan(); {
		var err error
		verb, arg, _ := strings.Cut(in.Text(), " ")
		switch verb {
		case "gadgets":
			g.test.Gadgets.Inc()
		case "add":
			b := new(bingo)
			there[arg] = &spmi.Context{Path: arg, Descr: "Dynamically added", Values: b}
			err = g.supplier.Add(there[arg])
			b.Problems.Add(7)
		case "delete":
			err = g.supplier.Remove(there[arg])
		case "look":
			g.supplier.GoAway()
			g.supplier.Interval()
			g.supplier.Subscribed()
		case "end":
			err = g.supplier.Close()
		}
		fmt.Println(err)
	}
}

// supplier is a supplier as a process.
type supplier struct {
	t    *testing.T
	path string // of a rogue's segment
	cmd  *exec.Cmd
	in   *os.File
	out  *bufio.Scanner
}

// startSupplier starts a supplier, as another user unless uid is 0.
func startSupplier(t *testing.T, p *pcptest.PCP, uid int) *supplier {
	t.Helper()
	return startSupplierIn(t, p, uid, p.Path("run/dds"))
}

// startSupplierIn starts one whose segment is in another folder.
func startSupplierIn(t *testing.T, p *pcptest.PCP, uid int, dir string) *supplier {
	t.Helper()
	exe := p.Path("supplier")
	if err := os.Link(os.Args[0], exe); err != nil && !os.IsExist(err) { // a path that every user may use
		t.Fatal(err)
	}
	c := exec.Command(exe)
	c.Env = append(p.Env(), "DDS_TEST_SUPPLIER="+dir)
	s := startAs(t, c, uid, uid)
	s.done()
	return s
}

// startAs starts a program that takes orders, as another user unless uid is 0.
func startAs(t *testing.T, c *exec.Cmd, uid, gid int) *supplier {
	t.Helper()
	s := &supplier{t: t, cmd: c}
	if uid != 0 {
		c.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: uint32(uid), Gid: uint32(gid)}}
	}
	r, w, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	c.Stdin, s.in, c.Stderr = r, w, os.Stderr
	out, err := c.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	s.out = bufio.NewScanner(out)
	if err := c.Start(); err != nil {
		t.Fatal(err)
	}
	r.Close()
	t.Cleanup(s.kill)
	return s
}

func (s *supplier) done() {
	s.t.Helper()
	if !s.out.Scan() || s.out.Text() != "<nil>" {
		s.t.Fatalf("the supplier says %q %v", s.out.Text(), s.out.Err())
	}
}

// do sends the supplier an order and waits until it is carried out.
func (s *supplier) do(order string) {
	s.t.Helper()
	if _, err := s.in.WriteString(order + "\n"); err != nil {
		s.t.Fatal(err)
	}
	s.done()
}

// kill kills the supplier; a second time does nothing.
func (s *supplier) kill() {
	_ = s.cmd.Process.Kill()
	_ = s.cmd.Wait()
	s.in.Close()
}
