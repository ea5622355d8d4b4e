package pmda_test

import (
	"bytes"
	"encoding/binary"
	"io"
	"runtime"
	"strings"
	"syscall"
	"testing"

	"github.com/pcp-rtime/rtime/pcp"
	"github.com/pcp-rtime/rtime/pdu"
	"github.com/pcp-rtime/rtime/pmda"
)

// tape is a connection whose far end has sent everything already.
type tape struct {
	in  *bytes.Reader
	out bytes.Buffer
}

func (c *tape) Read(b []byte) (int, error)  { return c.in.Read(b) }
func (c *tape) Write(b []byte) (int, error) { return c.out.Write(b) }
func (c *tape) Close() error                { return nil }

// play serves a zoo on a stream, and returns what it answers after its CREDS.
func play(t *testing.T, stream []byte) []pdu.PDU {
	t.Helper()
	z := newZoo()
	z.fetch = func(v *pmda.Values) { v.Set(0, pcp.Num(uint64(1))) }
	j := new(journal)
	s, err := pmda.New(z.agent, pmda.Options{Log: j.logger()})
	if err != nil {
		t.Fatal(err)
	}
	if err := z.agent.Start(s); err != nil {
		t.Fatal(err)
	}
	c := &tape{in: bytes.NewReader(stream)}
	s.Serve(c)
	for _, line := range strings.Split(j.String(), "\n") {
		if strings.Contains(line, "panic: ") && !strings.Contains(line, "a tiger") {
			t.Fatal(j)
		}
	}
	var answers []pdu.PDU
	for r := pdu.NewReader(&c.out, 0); ; {
		b, err := r.Next()
		if err == io.EOF {
			break
		}
		if err != nil {
			t.Fatal(err)
		}
		p, err := pdu.Decode(b)
		if err != nil {
			t.Fatalf("the agent sends %x: %v", b, err)
		}
		answers = append(answers, p)
	}
	if len(answers) == 0 || answers[0].Type() != pdu.TypeCreds {
		t.Fatal("the agent does not begin with CREDS")
	}
	return answers[1:]
}

// answersTo says which PDU answers a request, other than ERROR; 0 if none does.
var answersTo = map[pdu.Type]pdu.Type{
	pdu.TypeFetch: pdu.TypeResult, pdu.TypeDescReq: pdu.TypeDesc, pdu.TypeInstanceReq: pdu.TypeInstance,
	pdu.TypeTextReq: pdu.TypeText, pdu.TypeNames: pdu.TypeIDs, pdu.TypeIDs: pdu.TypeNames,
	pdu.TypeChild: pdu.TypeNames, pdu.TypeTraverse: pdu.TypeNames, pdu.TypeLabelReq: pdu.TypeLabel,
}

func isNotice(t pdu.Type) bool {
	return t == pdu.TypeProfile || t == pdu.TypeAttr || t == pdu.TypeError || t == pdu.TypeCreds
}

// checkAnswer fails for an answer that harms pmcd or is of the wrong kind.
func checkAnswer(t *testing.T, request pdu.Type, answer pdu.PDU) {
	t.Helper()
	e, ok := answer.(*pdu.Error)
	if !ok {
		if answer.Type() != answersTo[request] {
			t.Fatalf("%v is answered with %v", request, answer.Type())
		}
		return
	}
	switch {
	case e.Code == 0 && request == pdu.TypeResult:
	case e.Code >= 0, e.Code == pcp.ErrIPC, e.Code == pcp.ErrTimeout, e.Code == pcp.ErrPMDAReady,
		e.Code == pcp.ErrnoError(syscall.EPIPE):
		t.Fatalf("%v is answered with code %d", request, int32(e.Code))
	}
}

// FuzzServer plays streams of PDUs that are whole but hold anything: for each, a byte
// for its type, one for the client and two for its length. Each request gets one
// answer, in order, and costs no more memory than a multiple of its length.
func FuzzServer(f *testing.F) {
	for _, p := range requests() {
		f.Add(asFuzz(p.Append(nil, 1)))
	}
	var all []byte
	for _, p := range requests() {
		all = append(all, asFuzz(p.Append(nil, 2))...)
	}
	f.Add(all)
	f.Fuzz(func(t *testing.T, data []byte) {
		var stream []byte
		var want []pdu.Type
		for len(data) >= 4 {
			typ := pdu.TypeError + pdu.Type(data[0]%0x18)
			n := min(int(binary.BigEndian.Uint16(data[2:])), len(data)-4)
			body := data[4 : 4+n]
			if typ.Known() {
				stream = binary.BigEndian.AppendUint32(stream, uint32(pdu.HeaderLen+n))
				stream = binary.BigEndian.AppendUint32(stream, uint32(typ))
				stream = binary.BigEndian.AppendUint32(stream, uint32(data[1]))
				stream = append(stream, body...)
				if !isNotice(typ) {
					want = append(want, typ)
				}
			}
			data = data[4+n:]
		}
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		answers := play(t, stream)
		runtime.ReadMemStats(&after)
		if len(answers) != len(want) {
			t.Fatalf("%d answers to %d requests", len(answers), len(want))
		}
		size := 0
		for i, a := range answers {
			checkAnswer(t, want[i], a)
			size += a.Length()
		}
		if got, most := after.TotalAlloc-before.TotalAlloc, uint64(2<<20+200*(len(stream)+size)); got > most {
			t.Fatalf("%d bytes of requests and %d of answers cost %d bytes, at most %d are allowed", len(stream), size, got, most)
		}
	})
}

// asFuzz gives a PDU the form that FuzzServer takes.
func asFuzz(b []byte) []byte {
	n := len(b) - pdu.HeaderLen
	return append([]byte{b[7], b[11], byte(n >> 8), byte(n)}, b[pdu.HeaderLen:]...)
}

// FuzzServerBytes plays bytes that need not be PDUs at all.
func FuzzServerBytes(f *testing.F) {
	for _, p := range requests() {
		b := p.Append(nil, 1)
		f.Add(b)
		f.Add(b[:len(b)-1])
		f.Add(append(b, b...))
	}
	f.Add([]byte{0, 0, 0, 11, 0, 0, 0x70, 3})
	f.Add([]byte{0x7f, 0xff, 0xff, 0, 0, 0, 0x70, 3, 0, 0, 0, 1, 0})
	f.Fuzz(func(t *testing.T, data []byte) {
		answers := play(t, data)
		if len(answers) > len(data)/pdu.HeaderLen {
			t.Fatalf("%d answers to %d bytes", len(answers), len(data))
		}
		for _, a := range answers {
			if e, ok := a.(*pdu.Error); ok {
				checkAnswer(t, pdu.TypeResult, e)
			}
		}
	})
}

// requests are one or more PDUs of each kind that pmcd sends.
func requests() []pdu.PDU {
	return []pdu.PDU{
		&pdu.Creds{Version: 2}, &pdu.Error{Code: pcp.ErrNotConn}, &pdu.Attr{Attr: pcp.AttrUserID, Value: "0"},
		&pdu.Attr{Attr: pcp.AttrContainer, Value: "box"},
		&pdu.Profile{Default: pdu.Exclude, InDoms: []pdu.InDomProfile{{InDom: beastDom, State: pdu.Exclude, List: []int32{0, 1}}}},
		&pdu.Profile{InDoms: []pdu.InDomProfile{{InDom: beastDom, List: []int32{0, 7}}, {InDom: cageDom}}},
		&pdu.Fetch{PMIDs: []pcp.PMID{zooID(itemCount), zooID(itemWeight), zooID(itemKind), zooID(itemCustom), 1}},
		&pdu.Fetch{PMIDs: []pcp.PMID{zooID(itemEvents), zooID(itemHires), zooID(itemBlob), zooID(itemErrno)}},
		&pdu.DescReq{PMID: zooID(itemLegs)}, &pdu.TextReq{Ident: uint32(zooID(0)), Kind: 5}, &pdu.TextReq{Ident: uint32(beastDom), Kind: 10},
		&pdu.InstanceReq{InDom: beastDom, Inst: -1}, &pdu.InstanceReq{InDom: beastDom, Inst: 1},
		&pdu.InstanceReq{InDom: beastDom, Inst: -1, Name: "leo"}, &pdu.InstanceReq{InDom: beastDom, Inst: -1, Name: "new"},
		&pdu.InstanceReq{InDom: beastDom, Inst: -1, Name: "deadly"}, &pdu.InstanceReq{InDom: beastDom, Inst: -1, Name: "zero"},
		&pdu.LabelReq{Ident: zooDomain, Kind: pcp.LabelDomain}, &pdu.LabelReq{Ident: uint32(beastDom), Kind: pcp.LabelInstances},
		&pdu.Names{Names: []string{"zoo.count"}}, &pdu.IDs{PMIDs: []pcp.PMID{zooID(0)}},
		&pdu.Child{Name: "zoo", Status: true}, &pdu.Traverse{Name: "zoo"},
		storeOf(itemCount, pcp.InstNull, pcp.Num(uint32(1))), storeOf(itemWeight, 0, pcp.Num(2.5)), storeOf(itemKind, 0, pcp.Str("x")),
		&pdu.HighresFetch{PMIDs: []pcp.PMID{1}}, &pdu.DescIDs{PMIDs: []pcp.PMID{1}},
	}
}

// TestClaimedLengths: counts and lengths that a PDU merely claims cost nothing.
func TestClaimedLengths(t *testing.T) {
	for _, p := range requests() {
		good := p.Append(nil, 1)
		for at := pdu.HeaderLen; at+4 <= len(good); at += 4 {
			for _, n := range []uint32{0x7fffffff, 0xffffffff, 1 << 24, 0x10000} {
				b := bytes.Clone(good)
				binary.BigEndian.PutUint32(b[at:], n)
				var before, after runtime.MemStats
				runtime.ReadMemStats(&before)
				answers := play(t, b)
				runtime.ReadMemStats(&after)
				if got := after.TotalAlloc - before.TotalAlloc; got > 2<<20 {
					t.Errorf("%v with %#x at byte %d costs %d bytes", p.Type(), n, at, got)
				}
				if want := b2i(!isNotice(p.Type())); len(answers) != want {
					t.Errorf("%v with %#x at byte %d has %d answers", p.Type(), n, at, len(answers))
				} else if want == 1 {
					checkAnswer(t, p.Type(), answers[0])
				}
			}
		}
	}
}

func b2i(b bool) int {
	if b {
		return 1
	}
	return 0
}
