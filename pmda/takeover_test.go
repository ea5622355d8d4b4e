package pmda

import (
	"io"
	"log"
	"os"
	"testing"
	"time"

	"github.com/pcp-rtime/rtime/pcp"
	"github.com/pcp-rtime/rtime/pdu"
)

// TestReadOnWhileSlow blocks a callback and then sends more notices than a pipe holds:
// the writes must go through, and afterwards everything is answered in order.
func TestReadOnWhileSlow(t *testing.T) {
	inR, inW, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	outR, outW, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	entered, leave := make(chan struct{}, 10), make(chan struct{})
	gone := 0
	s, err := New(&Agent{Name: "slow", Domain: 400, Gone: func(*Client) { gone++ }, Metrics: []Metric{{
		Name: "slow.value", Sem: pcp.SemInstant, OneLine: "a value that takes long",
		Get: Value(func() (int64, error) {
			entered <- struct{}{}
			<-leave
			return int64(gone), nil
		}),
	}}}, Options{Log: log.New(io.Discard, "", 0)})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	served := make(chan error)
	go func() { served <- s.Serve(&pipe{inR, outW}) }()
	answers := pdu.NewReader(outR, 0)
	if _, err := answers.Next(); err != nil {
		t.Fatal(err)
	}
	send := func(p pdu.PDU, from int32) {
		t.Helper()
		if err := inW.SetWriteDeadline(time.Now().Add(30 * time.Second)); err != nil {
			t.Fatal(err)
		}
		if _, err := inW.Write(p.Append(nil, from)); err != nil {
			t.Fatal(err)
		}
	}
	fetch := &pdu.Fetch{PMIDs: []pcp.PMID{pcp.MakePMID(400, 0, 0)}}
	const clients = 10000
	for round := range int64(3) {
		send(fetch, 0)
		<-entered
		for i := range int32(clients) {
			send(&pdu.Attr{Attr: pcp.AttrUserID, Value: "7"}, i+1)
			send(&pdu.Error{Code: pcp.ErrNotConn}, i+1)
		}
		send(fetch, 0)
		leave <- struct{}{}
		for i, want := range []int64{round * clients, (round + 1) * clients} {
			if i > 0 {
				<-entered
				leave <- struct{}{}
			}
			b, err := answers.Next()
			if err != nil {
				t.Fatal(err)
			}
			var r pdu.Result
			if err := r.Parse(b); err != nil {
				t.Fatal(err)
			}
			if n, _ := r.Sets[0].Values[0].Value.Int64(); n != want {
				t.Fatalf("%d clients gone, want %d", n, want)
			}
		}
	}
	inW.Close()
	if err := <-served; err != nil {
		t.Fatal(err)
	}
	outR.Close()
}
