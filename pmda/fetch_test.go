package pmda_test

import (
	"fmt"
	"io"
	"log"
	"os"
	"testing"

	"github.com/pcp-rtime/rtime/pcp"
	"github.com/pcp-rtime/rtime/pdu"
	"github.com/pcp-rtime/rtime/pmda"
	"github.com/pcp-rtime/rtime/pmda/pmdatest"
)

// wide is an agent with eight metrics of each size of value over n instances.
func wide(t testing.TB, n int) *pmda.Agent {
	rows := &pmda.InDom[*int64]{Name: "rows", OneLine: "rows"}
	a := &pmda.Agent{Name: "wide", Domain: 400, Start: func(*pmda.Server) error {
		for i := range n {
			v := int64(i)
			if _, err := rows.Add(fmt.Sprintf("row%d", i), &v); err != nil {
				return err
			}
		}
		return nil
	}}
	for i := range 8 {
		a.Metrics = append(a.Metrics,
			pmda.Metric{Name: fmt.Sprintf("wide.d%d", i), Item: i, Sem: pcp.SemInstant, OneLine: "a double",
				Get: pmda.Per(rows, func(v *int64) (float64, bool) { return float64(*v) / 2, true })},
			pmda.Metric{Name: fmt.Sprintf("wide.l%d", i), Item: 10 + i, Sem: pcp.SemCounter, OneLine: "a long",
				Get: pmda.Per(rows, func(v *int64) (int64, bool) { *v++; return *v, true })},
			pmda.Metric{Name: fmt.Sprintf("wide.w%d", i), Item: 20 + i, Sem: pcp.SemInstant, OneLine: "a word",
				Get: pmda.Per(rows, func(v *int64) (int32, bool) { return int32(*v), *v%2 == 0 })},
		)
	}
	a.Metrics = append(a.Metrics, pmda.Metric{Name: "wide.s", Item: 30, Sem: pcp.SemInstant, OneLine: "a string",
		Get: pmda.Per(rows, func(v *int64) (string, bool) { return "constant", true })})
	return a
}

// TestFetchAllocates: fetches of a thousand instances of 25 metrics allocate nothing, with
// profiles of all instances, of one and of half of them.
func TestFetchAllocatesNothing(t *testing.T) {
	const n = 1000
	a := wide(t, n)
	s, err := pmda.New(a, pmda.Options{Log: log.New(os.Stderr, "", 0)})
	if err != nil {
		t.Fatal(err)
	}
	if err := a.Start(s); err != nil {
		t.Fatal(err)
	}
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
	for _, name := range c.Names("wide") {
		id, err := c.PMID(name)
		if err != nil {
			t.Fatal(err)
		}
		ids = append(ids, id)
	}
	var half []int32
	for i := range int32(n / 2) {
		half = append(half, 2*i)
	}
	indom := pcp.MakeInDom(400, 0)
	for _, profile := range []*pdu.Profile{
		{},
		{Default: pdu.Exclude, InDoms: []pdu.InDomProfile{{InDom: indom, State: pdu.Exclude, List: []int32{7}}}},
		{InDoms: []pdu.InDomProfile{{InDom: indom, State: pdu.Include, List: half}}},
	} {
		c.Send(profile)
		fetch := (&pdu.Fetch{PMIDs: ids}).Append(nil, 0)
		answer := make([]byte, len(profileAnswer(t, near, fetch)))
		once := func() {
			if _, err := near.Write(fetch); err != nil {
				t.Fatal(err)
			}
			if _, err := io.ReadFull(near, answer); err != nil {
				t.Fatal(err)
			}
		}
		if got := allocations(100, once); got > 0 {
			t.Errorf("profile %+v: %v allocations per fetch of %d bytes", profile.InDoms, got, len(answer))
		}
	}
}

// allocations returns how many allocations f makes each time. Those of all goroutines are
// counted, so the round with the fewest counts: other goroutines, such as those that clean
// up after earlier tests, do not allocate in every round.
func allocations(runs int, f func()) float64 {
	least := testing.AllocsPerRun(runs, f)
	for i := 0; i < 9 && least > 0; i++ {
		least = min(least, testing.AllocsPerRun(runs, f))
	}
	return least
}

// profileAnswer fetches once, the slow way, so that all buffers have grown.
func profileAnswer(t *testing.T, rw io.ReadWriter, fetch []byte) []byte {
	t.Helper()
	var last []byte
	for range 3 {
		if _, err := rw.Write(fetch); err != nil {
			t.Fatal(err)
		}
		b, err := pdu.NewReader(rw, 0).Next()
		if err != nil {
			t.Fatal(err)
		}
		var r pdu.Result
		if err := r.Parse(b); err != nil {
			t.Fatal(err)
		}
		last = b
	}
	return last
}
