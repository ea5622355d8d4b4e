package dds

import (
	"errors"
	"fmt"
	"syscall"
	"testing"

	"github.com/pcp-rtime/rtime/spmi"
	"github.com/pcp-rtime/rtime/test/pcptest"
)

// one opens a supplier of one value.
func one(t *testing.T, o spmi.Options) (*spmi.Supplier, *spmi.Counter) {
	t.Helper()
	n := new(spmi.Counter)
	s, err := spmi.Open(o, &spmi.Context{Path: "DDS/V/one", Stats: []spmi.Stat{{Name: "n", To: n}}})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { s.Close() })
	return s, n
}

// TestBeforeAgent: a supplier starts before there is an agent or a directory. As soon as
// both are there its values are shown, with everything that it has counted.
func TestBeforeAgent(t *testing.T) {
	t.Parallel()
	p := pcptest.New(t, pcptest.Options{Agents: []pcptest.Agent{{Name: name, Domain: domain, Program: program(t),
		Args: []string{"--config", "../dds.conf", "--dir", "../run/dds"}}}})
	p.WriteFile("dds.conf", "")
	s, n := one(t, spmi.Options{Dir: p.Path("run/dds")})
	n.Add(41)
	if !errors.Is(s.Err(), spmi.ErrNoShmPtr) {
		t.Fatalf("Err before there is a directory: %v", s.Err())
	}
	p.StartPmcd()
	is(t, p, "dds.V.one.n", "", "41")
	n.Inc()
	is(t, p, "dds.V.one.n", "", "42")
	if err := s.Err(); err != nil {
		t.Errorf("Err: %v", err)
	}
}

// TestStays: a supplier that was silent for too long vanishes and is told to go away. When
// it goes on, it is back.
func TestStays(t *testing.T) {
	t.Parallel()
	p := start(t, "timeout 15\n", false)
	s, n := one(t, spmi.Options{Dir: p.Path("run/dds"), Name: "quiet", Manual: true})
	n.Add(7)
	is(t, p, "dds.V.one.n", "", "7")
	is(t, p, "rtime.dds.supplier.state", "quiet@root", "stale")
	is(t, p, "dds.V.one.n", "", "")
	pcptest.Eventually(t, "the supplier is told to go away", func() error {
		if !s.GoAway() {
			return errors.New("it is not")
		}
		return nil
	})
	s.Stay()
	if s.GoAway() {
		t.Error("still told to go away")
	}
	pcptest.Eventually(t, "the supplier is back", func() error {
		s.Touch()
		if v, err := p.TryValues("dds.V.one.n"); err != nil || v[""].Text != "7" {
			return fmt.Errorf("%v %v", v, err)
		}
		return nil
	})
	if s.GoAway() {
		t.Error("told to go away again")
	}
}

// TestDemand: a supplier learns how many of its values clients ask for and how often, for
// as long as they ask.
func TestDemand(t *testing.T) {
	t.Parallel()
	p := start(t, "", false)
	s, _ := one(t, spmi.Options{Dir: p.Path("run/dds")})
	p.Values("dds.V.one.n") // a value that was asked for once does not count
	val := p.Spawn("pmval", "-h", "local:", "-t", "0.5", "dds.V.one.n")
	demand := func(what string, values int, asked bool) {
		t.Helper()
		pcptest.Eventually(t, what, func() error {
			if n, every := s.Subscribed(), s.Interval(); n != values || every > 0 != asked {
				return fmt.Errorf("%d values, every %v", n, every)
			}
			return nil
		})
	}
	demand("pmval asks", 1, true)
	val.Signal(syscall.SIGINT)
	val.Wait()
	demand("nobody asks", 0, false)
}
