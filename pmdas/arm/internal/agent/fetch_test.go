package agent

import (
	"fmt"
	"log"
	"os"
	"testing"

	"github.com/pcp-rtime/rtime/pcp"
	"github.com/pcp-rtime/rtime/pdu"
	"github.com/pcp-rtime/rtime/pmda"
	"github.com/pcp-rtime/rtime/pmda/pmdatest"
	"github.com/pcp-rtime/rtime/pmdas/arm/internal/collect"
)

// many adds a thousand transactions, some of which have values for everything.
func many(s *collect.Snapshot) {
	bank(s)
	for i := range 1000 {
		t := s.Row(0)
		t.Name, t.Seen, t.Active = fmt.Sprintf("many/t%d", i), i%3 > 0, i%2
		put(s, len(s.Trans), t)
	}
}

// TestFetchAllocatesNothing: a fetch of all numbers of a thousand transactions, and of the
// agent's own, allocates nothing for each value.
func TestFetchAllocatesNothing(t *testing.T) {
	a, f := newAgent(), new(fake)
	f.find(many)
	a.Mute, a.ConfigFile = true, ""
	a.open = func(_ collect.Config, o collect.Options) (collector, error) {
		f.options = o
		return f, nil
	}
	s, err := pmda.New(a.declare(), pmda.Options{Log: log.New(os.Stderr, "", 0)})
	if err != nil {
		t.Fatal(err)
	}
	if err := a.start(s); err != nil {
		t.Fatal(err)
	}
	defer a.Stop()
	near, far := pmdatest.Pipe(t)
	served := make(chan error)
	go func() { served <- s.Serve(far) }()
	defer func() {
		near.Close()
		if err := <-served; err != nil {
			t.Error(err)
		}
	}()
	c := pmdatest.Connect(t, near)
	var ids []pcp.PMID
	for _, m := range a.table() {
		d, err := c.Desc(m.Name)
		if err != nil {
			t.Fatal(err)
		}
		if d.Type <= pcp.TypeDouble {
			ids = append(ids, d.PMID)
		}
	}
	c.Send(&pdu.Profile{})
	request := (&pdu.Fetch{PMIDs: ids}).Append(nil, 0)
	r := pdu.NewReader(near, 0)
	once := func() {
		if _, err := near.Write(request); err != nil {
			t.Fatal(err)
		}
		b, err := r.Next()
		if err != nil || len(b) < 1000*8*len(ids)/4 {
			t.Fatalf("%d bytes, %v", len(b), err)
		}
	}
	once()
	// The ticker allocates now and then, but one allocation per value would be thousands.
	if got := testing.AllocsPerRun(50, once); got > 5 {
		t.Errorf("a fetch of %d metrics allocates %v times", len(ids), got)
	}
}
