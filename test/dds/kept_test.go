package dds

import (
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/pcp-rtime/rtime/pcp"
	"github.com/pcp-rtime/rtime/pdu"
	"github.com/pcp-rtime/rtime/spmi"
)

// bare is the agent without a pmcd. The test is at the far end of its pipes, and the
// supplier is in this process. So the agent can be killed at the very moment at which it
// has told a number.
type bare struct {
	t        *testing.T
	dir      string
	supplier *guide
	others   []*spmi.Supplier
	wrap     []string       // what runs the agent
	told     map[string]int // by what it is of
	rounds   int            // how often grow was called
	made     int            // instances
	cmd      *exec.Cmd
	w        io.WriteCloser
	r        *pdu.Reader
}

func newBare(t *testing.T) *bare {
	t.Helper()
	b := &bare{t: t, dir: t.TempDir(), told: make(map[string]int)}
	for _, dir := range []string{"state", "run"} {
		if err := os.Mkdir(filepath.Join(b.dir, dir), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	b.run() // makes the suppliers' directory
	b.kill()
	var err error
	if b.supplier, err = open(filepath.Join(b.dir, "run", "dds")); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		for _, s := range append(b.others, b.supplier.supplier) {
			if err := s.Close(); err != nil {
				t.Error(err)
			}
		}
	})
	return b
}

var errGone = errors.New("the agent has ended")

// run starts the agent, and waits until it is heard.
func (b *bare) run() error {
	b.t.Helper()
	args := append(b.wrap, program(b.t), "--username", "root", "--state", filepath.Join(b.dir, "state"),
		"--dir", filepath.Join(b.dir, "run", "dds"), "--config", filepath.Join(b.dir, "dds.conf"), "--log", filepath.Join(b.dir, "dds.log"))
	if err := os.WriteFile(filepath.Join(b.dir, "dds.conf"), nil, 0o644); err != nil {
		b.t.Fatal(err)
	}
	b.cmd = exec.Command(args[0], args[1:]...)
	b.cmd.Dir = b.dir
	b.cmd.Env = append(os.Environ(), "PCP_CONF=/there/is/none") // no MMV file
	var err error
	if b.w, err = b.cmd.StdinPipe(); err != nil {
		b.t.Fatal(err)
	}
	out, err := b.cmd.StdoutPipe()
	if err != nil {
		b.t.Fatal(err)
	}
	b.r = pdu.NewReader(out, 0)
	if err := b.cmd.Start(); err != nil {
		b.t.Fatal(err)
	}
	if _, err := b.read(); err != nil {
		return err
	}
	_, err = b.w.Write((&pdu.Creds{Version: 2}).Append(nil, 0))
	return b.gone(err)
}

func (b *bare) gone(err error) error {
	if err != nil {
		return errGone
	}
	return nil
}

// kill kills the agent, and waits until nothing is left of it.
func (b *bare) kill() {
	b.t.Helper()
	_ = b.cmd.Process.Signal(syscall.SIGKILL) // it may have ended
	b.w.Close()
	_ = b.cmd.Wait()
}

func (b *bare) read() (pdu.PDU, error) {
	data, err := b.r.Next()
	if err != nil {
		return nil, errGone
	}
	p, err := pdu.Decode(data)
	if err != nil {
		b.t.Fatalf("the agent sent %x: %v", data, err)
	}
	if e, ok := p.(*pdu.Error); ok && e.Code != 0 {
		return nil, e.Code
	}
	return p, nil
}

func (b *bare) ask(p pdu.PDU) (pdu.PDU, error) {
	if _, err := b.w.Write(p.Append(nil, 0)); err != nil {
		return nil, errGone
	}
	return b.read()
}

// note compares a number with the one that the agent told before.
func (b *bare) note(of string, number int) {
	b.t.Helper()
	if old, ok := b.told[of]; ok && old != number {
		b.t.Fatalf("round %d: %s was %#x, and is %#x", b.rounds, of, old, number)
	}
	b.told[of] = number
}

// metric asks for a metric's number, and for that of its instance domain.
func (b *bare) metric(name string) (pcp.InDom, error) {
	b.t.Helper()
	p, err := b.ask(&pdu.Names{Names: []string{name}})
	for end := time.Now().Add(time.Minute); err != nil && !errors.Is(err, errGone) && time.Now().Before(end); {
		p, err = b.ask(&pdu.Names{Names: []string{name}}) // it has not seen the supplier yet
	}
	if err != nil {
		return 0, fmt.Errorf("%s: %w", name, err)
	}
	id := p.(*pdu.IDs).PMIDs[0]
	b.note("metric "+name, int(id))
	if b.over() {
		return 0, errGone
	}
	if p, err = b.ask(&pdu.DescReq{PMID: id}); err != nil {
		return 0, err
	}
	d := p.(*pdu.Desc).Desc
	b.note("domain of "+name, int(d.InDom))
	return d.InDom, nil
}

// over decides whether to kill the agent now. A third of the kills come at once.
func (b *bare) over() bool {
	if len(b.wrap) == 0 && rand.IntN(4) == 0 {
		b.kill()
		return true
	}
	return false
}

// instances asks for the numbers of all instances of a domain.
func (b *bare) instances(of string, d pcp.InDom) error {
	b.t.Helper()
	p, err := b.ask(&pdu.InstanceReq{InDom: d, Inst: pcp.InstNull})
	if err != nil {
		return err
	}
	for _, i := range p.(*pdu.Instance).Instances {
		b.note("instance "+i.Name+" of "+of, int(i.ID))
	}
	return nil
}

func (b *bare) add(s *spmi.Supplier, path string) {
	b.t.Helper()
	if err := s.Add(&spmi.Context{Path: path, Descr: "Dynamically added", Values: new(bingo)}); err != nil {
		b.t.Fatal(err)
	}
}

// instance makes an instance.
func (b *bare) instance() {
	b.t.Helper()
	b.made++
	b.add(b.supplier.supplier, fmt.Sprintf("DDS/IBM/Moretest/r%d", b.made))
}

// grow makes something of each kind that needs a number: an instance and, now and then, a
// metric and an instance domain.
func (b *bare) grow() {
	b.t.Helper()
	b.rounds++
	b.instance()
	if b.rounds%4 > 0 {
		return
	}
	path := fmt.Sprintf("DDS/round/c%d", b.rounds)
	s, err := spmi.Open(spmi.Options{Dir: filepath.Join(b.dir, "run", "dds"), Name: "round",
		Volatile: []*spmi.Context{{Path: path + "/INST", Descr: "parts", ASN: 1, Values: (*bingo)(nil)}}},
		&spmi.Context{Path: "DDS/round", Descr: "Rounds", ASN: 1}, &spmi.Context{Path: path, Descr: "Round", ASN: uint32(b.rounds + 1), Values: new(bingo)})
	if err == nil {
		err = s.Err()
	}
	if err != nil {
		b.t.Fatal(err)
	}
	b.others = append(b.others, s)
	b.add(s, path+"/part")
}

// round starts an agent, asks it for new and old numbers, and kills it in between or has it
// killed.
func (b *bare) round() error {
	b.t.Helper()
	defer b.kill()
	if err := b.run(); err != nil {
		return err
	}
	names := []string{"dds.IBM.Moretest.problems", "dds.IBM.Test.gadgets"}
	for _, n := range []int{b.rounds - b.rounds%4, 4 * rand.IntN(b.rounds/4+1)} {
		if n > 0 {
			names = append(names, fmt.Sprintf("dds.round.c%d.problems", n), fmt.Sprintf("dds.round.c%d.inst.problems", n))
		}
	}
	for _, name := range names {
		d, err := b.metric(name)
		if err != nil {
			return err
		}
		if b.over() {
			return errGone
		}
		if d == pcp.InDomNull {
			continue
		}
		if err := b.instances(name, d); err != nil {
			return err
		}
		if b.over() {
			return errGone
		}
	}
	return nil
}

// all asks again for every number that was ever told.
func (b *bare) all() {
	b.t.Helper()
	b.wrap = []string{"env"} // nobody is killed any more
	defer b.kill()
	if err := b.run(); err != nil {
		b.t.Fatal(err)
	}
	before := len(b.told)
	for what := range b.told {
		name, ok := strings.CutPrefix(what, "metric ")
		if !ok {
			continue
		}
		d, err := b.metric(name)
		if err == nil && d != pcp.InDomNull {
			err = b.instances(name, d)
		}
		if err != nil {
			b.t.Fatalf("%s: %v", name, err)
		}
	}
	if before < 50 {
		b.t.Errorf("only %d numbers were told", before)
	}
	b.t.Logf("%d numbers were told in %d rounds", before, b.rounds)
}

// TestKilledAsSoonAsTold kills the agent 200 times as soon as it has told a number: of a
// metric, an instance domain or an instance. None ever changes.
func TestKilledAsSoonAsTold(t *testing.T) {
	t.Parallel()
	b := newBare(t)
	for range 200 {
		b.grow()
		if err := b.round(); err != nil && !errors.Is(err, errGone) {
			t.Fatal(err)
		}
	}
	b.all()
}

// TestKilledAtEachCall kills the agent at each call to the kernel by which it changes a file
// or tells the client something: the first, the second and so on of each of its threads,
// until it gets through.
func TestKilledAtEachCall(t *testing.T) {
	t.Parallel()
	b := newBare(t)
	for range 40 { // so that much has been told
		b.grow()
	}
	b.wrap = []string{"env"}
	if err := b.round(); err != nil {
		t.Fatal(err)
	}
	const calls = "write,fsync,renameat,ftruncate"
	kills := 0
	for through := false; !through; {
		b.instance()
		b.wrap = []string{"strace", "-f", "-qq", "-o", filepath.Join(b.dir, "strace.out"), "-e", "trace=" + calls,
			"-e", fmt.Sprintf("inject=%s:signal=KILL:when=%d", calls, kills+1)}
		switch err := b.round(); {
		case errors.Is(err, errGone):
			kills++
		case err != nil:
			t.Fatal(err)
		default:
			through = true
		}
	}
	if kills < 10 {
		t.Errorf("the agent was killed %d times only", kills)
	}
	t.Logf("killed %d times", kills)
	b.all()
}
