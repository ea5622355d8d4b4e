package pdu_test

import (
	"bytes"
	"fmt"
	"log"

	"github.com/pcp-rtime/rtime/pcp"
	"github.com/pcp-rtime/rtime/pdu"
)

// A request is written by a client, cut out of the stream and read by the other side.
func Example() {
	var stream bytes.Buffer
	fetch := pdu.Fetch{PMIDs: []pcp.PMID{pcp.MakePMID(400, 0, 1)}}
	stream.Write(fetch.Append(nil, 3))

	b, err := pdu.NewReader(&stream, 0).Next()
	if err != nil {
		log.Fatal(err)
	}
	h, err := pdu.ParseHeader(b)
	if err != nil {
		log.Fatal(err)
	}
	p, err := pdu.Decode(b)
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(h.Type, h.Len, h.From, p.(*pdu.Fetch).PMIDs)
	// Output: FETCH 32 3 [400.0.1]
}

// An agent answers a fetch of two metrics, of which the second is unknown.
func ExampleResultWriter() {
	var w pdu.ResultWriter
	w.Reset(0, 0)
	w.Begin(pcp.MakePMID(400, 0, 1))
	pdu.Each(&w, []int32{0, 1, 2}, []string{"red", "green", "blue"}, func(s string) (uint64, bool) {
		return uint64(len(s)), s != "green" // no value for this one
	})
	w.End()
	w.Begin(pcp.MakePMID(400, 0, 2))
	w.Fail(pcp.ErrPMID)
	w.End()
	head, tail := w.Bytes()

	var r pdu.Result
	if err := r.Parse(append(head, tail...)); err != nil {
		log.Fatal(err)
	}
	for _, s := range r.Sets {
		fmt.Print(s.PMID)
		if s.Err != 0 {
			fmt.Print(": ", s.Err)
		}
		for _, v := range s.Values {
			fmt.Printf(" %d=%v", v.Inst, v.Value)
		}
		fmt.Println()
	}
	// Output:
	// 400.0.1 0=3 2=4
	// 400.0.2: Unknown or illegal metric identifier
}
