package pdu

import (
	"bytes"
	"encoding/binary"
	"encoding/hex"
	"reflect"
	"strings"
	"testing"

	"github.com/pcp-rtime/rtime/pcp"
)

// golden is a PDU as bytes and as a value. The rows marked captured are bytes that
// passed between pmcd 6.0.3 and agents written in C (pmdasimple, pmdasample,
// pmdaproc) or a raw test agent; the others are built by hand after the layout.
type golden struct {
	name string
	hex  string
	pdu  PDU
	// differs marks rows that Append writes otherwise, and says how.
	differs string
}

func (g golden) bytes(t testing.TB) []byte { return unhex(t, g.hex) }

func unhex(t testing.TB, s string) []byte {
	t.Helper()
	b, err := hex.DecodeString(strings.Join(strings.Fields(s), ""))
	if err != nil {
		t.Fatal(err)
	}
	return b
}

func word(inst int32, v uint32) InstValue {
	return InstValue{inst, pcp.RawNumber(pcp.TypeU32, uint64(v))}
}

func single(v pcp.Value) []InstValue { return []InstValue{{pcp.InstNull, v}} }

func label(name string, value any) pcp.Label { return pcp.Label{Name: name, Value: value} }

func bin(inst int32, n float64) LabelSet {
	return LabelSet{inst, pcp.Labels{label("bin", n)}}
}

const secretBar = "73616d706c652e7365637265742e626172" // sample.secret.bar

var goldens = []golden{
	// Handshake.
	{name: "creds of pmdaproc", // captured
		hex: "00000014 0000700c 00003a94 00000001 01020044",
		pdu: &Creds{Version: 2, Flags: pcp.FeatureAuth | pcp.FeatureContainer}},
	{name: "creds of pmcd", // captured
		hex: "00000014 0000700c 00002e7c 00000001 01020004",
		pdu: &Creds{Version: 2, Flags: pcp.FeatureAuth}},
	{name: "creds of pmdasimple", // captured
		hex: "00000014 0000700c 00004a84 00000001 01020000",
		pdu: &Creds{Version: 2}},
	{name: "creds behind another kind", // by hand
		hex:     "00000018 0000700c 00000001 00000002 02ffffff 01020004",
		pdu:     &Creds{Version: 2, Flags: pcp.FeatureAuth},
		differs: "one credential"},

	// Errors.
	{name: "error pmid", // captured
		hex: "00000010 00007000 00000000 ffffcfba", pdu: &Error{pcp.ErrPMID}},
	{name: "error not connected", // captured
		hex: "00000010 00007000 00000000 ffffcf99", pdu: &Error{pcp.ErrNotConn}},
	{name: "error none", // captured
		hex: "00000010 00007000 00000000 00000000", pdu: &Error{0}},
	{name: "error ready", // captured
		hex: "00000010 00007000 00000000 ffffcbaf", pdu: &Error{pcp.ErrPMDAReady}},
	{name: "error inst", // captured
		hex: "00000010 00007000 00000000 ffffcfb8", pdu: &Error{pcp.ErrInst}},
	{name: "error permission", // captured
		hex: "00000010 00007000 00000000 ffffcf9d", pdu: &Error{pcp.ErrPermission}},

	// Profiles.
	{name: "profile of everything", // captured
		hex: "0000001c 00007002 00000000 00000000 00000000 00000000 00000000",
		pdu: &Profile{}},
	{name: "profile of two instances", // captured
		hex: `00000034 00007002 00000000 00000000 00000000 00000001 00000000
			3f400000 00000001 00000002 00000000 00000000 00000002`,
		pdu: &Profile{InDoms: []InDomProfile{{0x3f400000, Exclude, []int32{0, 2}}}}},
	{name: "profile with three entries", // by hand
		hex: `00000058 00007002 00000003 00000007 00000001 00000003 00000000
			3f400000 00000000 00000001 00000000
			3f400001 00000001 00000000 00000000
			3f400002 00000001 00000002 00000000
			00000009 7fffffff 00000000`,
		pdu: &Profile{Context: 7, Default: Exclude, InDoms: []InDomProfile{
			{0x3f400000, Include, []int32{9}}, {0x3f400001, Exclude, nil},
			{0x3f400002, Exclude, []int32{1<<31 - 1, 0}}}}},

	// Fetches.
	{name: "fetch", // captured
		hex: `00000024 00007003 00000000 00000000 00000000 00000000 00000002
			3f400001 3f400000`,
		pdu: &Fetch{PMIDs: []pcp.PMID{0x3f400001, 0x3f400000}}},
	{name: "fetch of five", // captured
		hex: `00000030 00007003 00000000 00000000 00000000 00000000 00000005
			0740001f 07400022 07400014 07400019 0740000f`,
		pdu: &Fetch{PMIDs: []pcp.PMID{0x0740001f, 0x07400022, 0x07400014, 0x07400019, 0x0740000f}}},
	{name: "highres fetch", // captured
		hex: `00000024 00007014 00000000 00000000 00000000 00000000 00000002
			3f400001 3f400000`,
		pdu: &HighresFetch{PMIDs: []pcp.PMID{0x3f400001, 0x3f400000}}},

	// Results and stores.
	{name: "result in situ", // captured
		hex: `00000050 00007001 00000000 00000000 00000000 00000002
			3f400001 00000003 00000000 00000000 00000002 00000001 00000066 00000002 000000ca
			3f400000 00000001 00000000 ffffffff 00000002`,
		pdu: &Result{Sets: []ValueSet{
			{PMID: 0x3f400001, Values: []InstValue{word(0, 2), word(1, 0x66), word(2, 0xca)}},
			{PMID: 0x3f400000, Values: []InstValue{word(-1, 2)}}}}},
	{name: "result in blocks", // captured
		hex: `000000c0 00007001 00000000 00000000 00000000 00000005
			0740001f 00000001 00000001 ffffffff 0000001f
			07400022 00000001 00000001 ffffffff 00000024
			07400014 00000001 00000001 ffffffff 00000028
			07400019 00000001 00000001 ffffffff 0000002b
			0740000f 00000001 00000001 ffffffff 0000002e
			06000011 68756c6c 6f20776f 726c6421 007e7e7e
			07000010 68756c6c 6f20776f 726c6421
			0200000c 00000000 00000001
			0500000c 3ff00000 00000000
			04000008 3f800000`,
		pdu: &Result{Sets: []ValueSet{
			{PMID: 0x0740001f, Values: single(pcp.Str("hullo world!"))},
			{PMID: 0x07400022, Values: single(pcp.RawBytes(pcp.TypeAggregate, []byte("hullo world!")))},
			{PMID: 0x07400014, Values: single(pcp.Num(int64(1)))},
			{PMID: 0x07400019, Values: single(pcp.Num(1.0))},
			{PMID: 0x0740000f, Values: single(pcp.Num(float32(1)))}}}},
	{name: "store in situ", // captured
		hex: `0000002c 00007001 00000000 3df07330 00000000 00000001
			3f400001 00000001 00000000 00000001 0000004d`,
		pdu: &Result{Sec: 0x3df07330, Sets: []ValueSet{
			{PMID: 0x3f400001, Values: []InstValue{word(1, 77)}}}}},
	{name: "store of a double", // captured
		hex: `00000038 00007001 00000000 3df07330 00000000 00000001
			3f400402 00000001 00000001 ffffffff 0000000b 0500000c 40080000 00000000`,
		pdu: &Result{Sec: 0x3df07330, Sets: []ValueSet{
			{PMID: 0x3f400402, Values: single(pcp.Num(3.0))}}}},
	{name: "result with an error, an empty set and a state", // sets of the raw agent
		hex: `00000028 00007001 00000000 00000018 00000000 00000002
			64000063 ffffcfba 64000001 00000000`,
		pdu: &Result{Sec: pcp.StateLabels | pcp.StateNames, Sets: []ValueSet{
			{PMID: 0x64000063, Err: pcp.ErrPMID}, {PMID: 0x64000001}}}},
	{name: "result whose blocks are out of order", // by hand
		hex: `00000044 00007001 00000000 00000000 00000000 00000001
			07400001 00000002 00000001 00000001 0000000f 00000002 0000000d
			06000006 62007e7e 06000007 61006300`,
		pdu: &Result{Sets: []ValueSet{{PMID: 0x07400001, Values: []InstValue{
			{1, pcp.Str("a\x00c")}, {2, pcp.Str("b")}}}}},
		differs: "order of blocks"},
	{name: "result with a string without NUL", // by hand
		hex: `00000034 00007001 00000000 00000000 00000000 00000001
			07400001 00000001 00000001 00000001 0000000b 06000006 62637e7e`,
		pdu: &Result{Sets: []ValueSet{{PMID: 0x07400001,
			Values: []InstValue{{1, pcp.Str("bc")}}}}},
		differs: "NUL at the end"},
	{name: "result of an event metric", // captured: format 2, garbage for padding
		hex: eventResult,
		pdu: &Result{Sets: []ValueSet{{PMID: 0x07400088, Values: []InstValue{
			{0, pcp.RawBytes(pcp.TypeEvent, []byte{0, 0, 0, 0})},
			{1, pcp.RawBytes(pcp.TypeEvent, mustHex(eventResult)[64:])}}}}},
		differs: "format 1"},
	{name: "result of a highres event metric", // captured
		hex: highresEventResult,
		pdu: &Result{Sets: []ValueSet{{PMID: 0x0740008b, Values: []InstValue{
			{0, pcp.RawBytes(pcp.TypeHighresEvent, []byte{0, 0, 0, 0})},
			{1, pcp.RawBytes(pcp.TypeHighresEvent, mustHex(highresEventResult)[64:])}}}}},
		differs: "format 1"},
	{name: "highres result", // captured, with values put in where the notes leave them out
		hex: `00000058 00007015 00000000 00000002 00000000 6b003df5 00000000 192c9ed8
			3f400001 00000003 00000000 00000000 00000002 00000001 00000066 00000002 000000ca
			3f400000 00000001 00000000 ffffffff 00000002`,
		pdu: &HighresResult{Sec: 0x6b003df5, Nsec: 0x192c9ed8, Sets: []ValueSet{
			{PMID: 0x3f400001, Values: []InstValue{word(0, 2), word(1, 0x66), word(2, 0xca)}},
			{PMID: 0x3f400000, Values: []InstValue{word(-1, 2)}}}}},
	{name: "highres result in blocks", // by hand: places count from the PDU's start too
		hex: `00000040 00007015 00000000 00000001 00000000 00000001 00000000 00000002
			0740000f 00000001 00000001 ffffffff 0000000d 0300000c ffffffff ffffffff`,
		pdu: &HighresResult{Sec: 1, Nsec: 2, Sets: []ValueSet{
			{PMID: 0x0740000f, Values: single(pcp.Num(^uint64(0)))}}}},

	// Descriptors.
	{name: "desc req", // captured
		hex: "00000010 00007004 00000000 3f400402", pdu: &DescReq{0x3f400402}},
	{name: "desc", // captured
		hex: "00000020 00007005 00000000 3f400402 00000005 ffffffff 00000001 01003000",
		pdu: &Desc{pcp.Desc{PMID: 0x3f400402, Type: pcp.TypeDouble, InDom: pcp.InDomNull,
			Sem: pcp.SemCounter, Units: pcp.Seconds}}},
	{name: "desc ids", // by hand
		hex: "0000001c 00007016 00000000 ffffffff 00000002 3f400001 3f400063",
		pdu: &DescIDs{[]pcp.PMID{0x3f400001, 0x3f400063}}},
	{name: "descs", // begins as captured; the second is one that could not be had
		hex: `00000038 00007017 00000000 00000002
			3f400001 00000000 3f400000 00000003 00000000
			ffffffff 00000000 00000000 00000000 00000000`,
		pdu: &Descs{[]pcp.Desc{
			{PMID: 0x3f400001, Type: pcp.Type32, InDom: 0x3f400000, Sem: pcp.SemInstant},
			{PMID: pcp.PMIDNull}}}},

	// Instances.
	{name: "instance req all", // captured
		hex: "00000020 00007006 00000000 3f400000 00000000 00000000 ffffffff 00000000",
		pdu: &InstanceReq{InDom: 0x3f400000, Inst: pcp.InstNull}},
	{name: "instance req of an id", // captured
		hex: "00000020 00007006 00000000 3f400000 00000000 00000000 00000001 00000000",
		pdu: &InstanceReq{InDom: 0x3f400000, Inst: 1}},
	{name: "instance req of a name", // captured
		hex: "00000024 00007006 00000000 3f400000 00000000 00000000 ffffffff 00000003 7265647e",
		pdu: &InstanceReq{InDom: 0x3f400000, Inst: pcp.InstNull, Name: "red"}},
	{name: "instance all", // captured
		hex: `0000003c 00007007 00000000 3f400000 00000003 00000000 00000003 7265647e
			00000001 00000005 67726565 6e7e7e7e 00000002 00000004 626c7565`,
		pdu: &Instance{0x3f400000, []pcp.Instance{{ID: 0, Name: "red"}, {ID: 1, Name: "green"},
			{ID: 2, Name: "blue"}}}},
	{name: "instance name", // captured
		hex: "00000024 00007007 00000000 3f400000 00000001 ffffffff 00000005 67726565 6e7e7e7e",
		pdu: &Instance{0x3f400000, []pcp.Instance{{ID: pcp.InstNull, Name: "green"}}}},
	{name: "instance id", // captured
		hex: "0000001c 00007007 00000000 3f400000 00000001 00000002 00000000",
		pdu: &Instance{0x3f400000, []pcp.Instance{{ID: 2}}}},

	// Help text.
	{name: "text req of an indom", // captured
		hex: "00000014 00007008 00000000 3f400000 00000009",
		pdu: &TextReq{0x3f400000, pcp.TextOneLine | pcp.TextInDom}},
	{name: "text req of a metric", // captured
		hex: "00000014 00007008 00000000 07400006 00000005",
		pdu: &TextReq{0x07400006, pcp.TextOneLine | pcp.TextPMID}},
	{name: "text of an indom", // captured; the identifier in the host's byte order
		hex: `0000003c 00007009 00000000 0000403f 00000028 496e7374 616e6365 20646f6d 61696e20
			22636f6c 6f757222 20666f72 2073696d 706c6520 504d4441`,
		pdu: &Text{0x0000403f, `Instance domain "colour" for simple PMDA`}},
	{name: "text of a metric", // captured
		hex: `00000030 00007009 00000000 06004007 0000001a 53657665 72616c20 636f6e73 74616e74
			20696e73 74616e63 65737e7e`,
		pdu: &Text{0x06004007, "Several constant instances"}},

	// Names.
	{name: "names, one", // captured, both ways
		hex: "00000030 0000700e 00000000 00000012 00000000 00000001 00000011" + secretBar + "7e7e7e",
		pdu: &Names{Names: []string{"sample.secret.bar"}}},
	{name: "ids", // captured, both ways
		hex: "00000018 0000700d 00000000 00000000 00000001 074003e8",
		pdu: &IDs{PMIDs: []pcp.PMID{0x074003e8}}},
	{name: "child with statuses", // captured
		hex: "00000024 0000700f 00000000 00000001 0000000d 73616d70 6c652e73 65637265 747e7e7e",
		pdu: &Child{"sample.secret", true}},
	{name: "names with statuses", // captured
		hex: `00000030 0000700e 00000000 00000008 00000002 00000002
			00000001 00000003 666f6f7e 00000000 00000003 6261727e`,
		pdu: &Names{[]string{"foo", "bar"}, []int32{1, 0}}},
	{name: "child without statuses", // captured
		hex: `00000028 0000700f 00000000 00000000 00000011 73616d70 6c652e73 65637265 742e666f
			6f7e7e7e`,
		pdu: &Child{"sample.secret.foo", false}},
	{name: "names without statuses", // captured
		hex: `00000030 0000700e 00000000 0000000c 00000000 00000003
			00000003 6261727e 00000003 6f6e657e 00000003 74776f7e`,
		pdu: &Names{Names: []string{"bar", "one", "two"}}},
	{name: "names, none", // by hand: an empty tree
		hex: "00000018 0000700e 00000000 00000000 00000000 00000000",
		pdu: &Names{}},
	{name: "traverse of the raw agent", // captured
		hex: "0000001c 00007010 00000000 00000000 00000008 72617774 2e64796e",
		pdu: &Traverse{"rawt.dyn"}},
	{name: "traverse of sample", // captured
		hex: "00000024 00007010 00000000 00000000 0000000d 73616d70 6c652e73 65637265 747e7e7e",
		pdu: &Traverse{"sample.secret"}},
	{name: "names of the raw agent", // captured
		hex: `00000048 0000700e 00000000 00000025 00000000 00000003
			0000000a 72617774 2e64796e 2e617e7e 0000000c 72617774 2e64796e 2e622e63
			0000000c 72617774 2e64796e 2e622e64`,
		pdu: &Names{Names: []string{"rawt.dyn.a", "rawt.dyn.b.c", "rawt.dyn.b.d"}}},

	// Attributes: lengths that are no multiple of four.
	{name: "attr process id", // captured
		hex: "00000016 00007011 00000000 0000000e 31383739 3100",
		pdu: &Attr{pcp.AttrProcessID, "18791"}},
	{name: "attr group id", // captured
		hex: "00000012 00007011 00000000 0000000c 3000", pdu: &Attr{pcp.AttrGroupID, "0"}},
	{name: "attr user id", // captured
		hex: "00000012 00007011 00000000 0000000b 3000", pdu: &Attr{pcp.AttrUserID, "0"}},
	{name: "attr container", // captured
		hex: "00000014 00007011 00000000 0000000f 666f6f00", pdu: &Attr{pcp.AttrContainer, "foo"}},
	{name: "attr without NUL", // by hand
		hex: "00000013 00007011 00000003 0000000f 666f6f", pdu: &Attr{pcp.AttrContainer, "foo"},
		differs: "NUL at the end"},
	{name: "attr without value", // by hand
		hex: "00000010 00007011 00000000 0000000f", pdu: &Attr{pcp.AttrContainer, ""},
		differs: "NUL at the end"},

	// Labels: lengths that are no multiple of four.
	{name: "label req of the domain", // captured
		hex: "00000014 00007012 00000000 0000001d 00000002", pdu: &LabelReq{29, pcp.LabelDomain}},
	{name: "label req of instances", // captured
		hex: "00000014 00007012 00000000 07400002 00000020",
		pdu: &LabelReq{0x07400002, pcp.LabelInstances}},
	{name: "label req of a cluster", // captured
		hex: "00000014 00007012 00000000 07400006 00000008",
		pdu: &LabelReq{0x07400006, pcp.LabelCluster}},
	{name: "labels of a cluster", // captured
		hex: clusterLabel,
		pdu: &Label{0x07400006, pcp.LabelCluster, []LabelSet{
			{pcp.InstNull, pcp.Labels{label("cluster", "zero")}}}}},
	{name: "labels of the domain", // captured
		hex: domainLabel,
		pdu: &Label{29, pcp.LabelDomain, []LabelSet{
			{pcp.InstNull, pcp.Labels{label("agent", "sample"), label("role", "testing")}}}}},
	{name: "labels of the domain, padded", // as pmcd 7 accepts
		hex:     "00000060" + strings.TrimPrefix(domainLabel, "0000005f") + "7e",
		differs: "no padding",
		pdu: &Label{29, pcp.LabelDomain, []LabelSet{
			{pcp.InstNull, pcp.Labels{label("agent", "sample"), label("role", "testing")}}}}},
	{name: "labels of nine instances", // captured
		hex: instanceLabels,
		pdu: &Label{0x07400002, pcp.LabelInstances, []LabelSet{bin(100, 100), bin(200, 200),
			bin(300, 300), bin(400, 400), bin(500, 500), bin(600, 600), bin(700, 700),
			bin(800, 800), bin(900, 900)}}},
	{name: "labels, none", // captured
		hex: "0000001c 00007013 00000000 07400006 00000010 00000000 00000000",
		pdu: &Label{Ident: 0x07400006, Kind: pcp.LabelItem}},
}

const (
	eventResult = `00000084 00007001 00000000 00000000 00000000 00000001
		07400088 00000002 00000002 00000000 0000000d 00000001 0000000f
		09000008 00000000
		09000048 00000002
		6b00409e 0003f7da 00000001 00000001 07400086 0600000c 66657463 68202330
		6b00409e 0003f7da 00000001 00000001 07400086 0600000a 62696e67 6f21666f`
	highresEventResult = `00000094 00007001 00000000 00000000 00000000 00000001
		0740008b 00000002 00000002 00000000 0000000d 00000001 0000000f
		0a000008 00000000
		0a000058 00000002
		00000000 6b00409e 00000000 10748ec9 00000001 00000001 07400086 0600000c 66657463 68202330
		00000000 6b00409e 00000000 10748ec9 00000001 00000001 07400086 0600000a 62696e67 6f210000`
	clusterLabel = `00000046 00007013 00000000 07400006 00000008 00000000 00000001
		ffffffff 00000001 00000034 00000012
		00020708 000b0006
		7b22636c 75737465 72223a22 7a65726f 227d`
	domainLabel = `0000005f 00007013 00000000 0000001d 00000002 00000000 00000001
		ffffffff 00000002 0000003c 00000023
		00020502 00090008 00130402 00190009
		7b226167 656e7422 3a227361 6d706c65 222c2272 6f6c6522 3a227465 7374696e 67227d`
	instanceLabels = `00000157 00007013 00000000 07400002 00000020 00000000 00000009
		00000064 00000001 000000f4 0000000b 00020320 00070003
		000000c8 00000001 000000ff 0000000b 00020320 00070003
		0000012c 00000001 0000010a 0000000b 00020320 00070003
		00000190 00000001 00000115 0000000b 00020320 00070003
		000001f4 00000001 00000120 0000000b 00020320 00070003
		00000258 00000001 0000012b 0000000b 00020320 00070003
		000002bc 00000001 00000136 0000000b 00020320 00070003
		00000320 00000001 00000141 0000000b 00020320 00070003
		00000384 00000001 0000014c 0000000b 00020320 00070003
		7b226269 6e223a31 30307d7b 2262696e 223a3230 307d7b22 62696e22 3a333030
		7d7b2262 696e223a 3430307d 7b226269 6e223a35 30307d7b 2262696e 223a3630
		307d7b22 62696e22 3a373030 7d7b2262 696e223a 3830307d 7b226269 6e223a39 30307d`
)

// mustHex is for the table above; a mistake there fails every test that uses it.
func mustHex(s string) []byte {
	b, err := hex.DecodeString(strings.Join(strings.Fields(s), ""))
	if err != nil {
		panic(err)
	}
	return b
}

func TestGoldenParse(t *testing.T) {
	for _, g := range goldens {
		b := g.bytes(t)
		got, err := Decode(b)
		if err != nil {
			t.Errorf("%s: %v", g.name, err)
			continue
		}
		if !reflect.DeepEqual(got, g.pdu) {
			t.Errorf("%s:\n got %+v\nwant %+v", g.name, got, g.pdu)
		}
		for i := range b {
			b[i] = 0xee
		}
		if !reflect.DeepEqual(got, g.pdu) {
			t.Errorf("%s: what was parsed changes with the bytes it came from", g.name)
		}
	}
}

func TestGoldenAppend(t *testing.T) {
	for _, g := range goldens {
		want := g.bytes(t)
		h, err := ParseHeader(want)
		if err != nil {
			t.Fatalf("%s: %v", g.name, err)
		}
		prefix := []byte("xyz")
		got := g.pdu.Append(prefix, h.From)
		if !bytes.HasPrefix(got, prefix) {
			t.Errorf("%s: Append changed what stood before", g.name)
		}
		got = got[len(prefix):]
		if g.pdu.Length() != len(got) {
			t.Errorf("%s: Length %d, Append wrote %d", g.name, g.pdu.Length(), len(got))
		}
		if same := bytes.Equal(got, want); same != (g.differs == "") {
			t.Errorf("%s: (differs: %q)\n got %x\nwant %x", g.name, g.differs, got, want)
		}
		again, err := Decode(got)
		if err != nil || !reflect.DeepEqual(again, g.pdu) {
			t.Errorf("%s: round trip: %v\n got %+v\nwant %+v", g.name, err, again, g.pdu)
		}
	}
}

// TestGoldenReuse parses every row of a type into one receiver, as servers do.
func TestGoldenReuse(t *testing.T) {
	used := map[Type]PDU{}
	for range 2 {
		for _, g := range goldens {
			p := used[g.pdu.Type()]
			if p == nil {
				p = New(g.pdu.Type())
				used[g.pdu.Type()] = p
			}
			if err := p.Parse(g.bytes(t)); err != nil {
				t.Fatalf("%s: %v", g.name, err)
			}
			if got, want := p.Append(nil, 0), g.pdu.Append(nil, 0); !bytes.Equal(got, want) {
				t.Errorf("%s: into a used receiver:\n got %x\nwant %x", g.name, got, want)
			}
		}
	}
}

func setLength(b []byte) []byte {
	if len(b) >= 4 {
		binary.BigEndian.PutUint32(b, uint32(len(b)))
	}
	return b
}

func TestGoldenPrefixes(t *testing.T) {
	for _, g := range goldens {
		whole := g.bytes(t)
		for n := range whole {
			if p, err := Decode(whole[:n]); err == nil {
				t.Errorf("%s: first %d bytes: parsed as %+v", g.name, n, p)
			}
			if g.pdu.Type() == TypeAttr && n >= HeaderLen+4 {
				continue // the value is whatever is there
			}
			if n == 95 && g.name == "labels of the domain, padded" {
				continue // that is the same without the padding
			}
			if p, err := Decode(setLength(bytes.Clone(whole[:n]))); err == nil {
				t.Errorf("%s: cut to %d bytes: parsed as %+v", g.name, n, p)
			}
		}
	}
}

func TestGoldenTrailing(t *testing.T) {
	for _, g := range goldens {
		longer := append(g.bytes(t), 0, 0, 0, 0)
		if p, err := Decode(longer); err == nil {
			t.Errorf("%s: 4 bytes behind it: parsed as %+v", g.name, p)
		}
		p, err := Decode(setLength(longer))
		if g.pdu.Type() == TypeAttr {
			if err != nil || reflect.DeepEqual(p, g.pdu) {
				t.Errorf("%s: with a longer value: %+v, %v", g.name, p, err)
			}
			continue
		}
		if err == nil {
			t.Errorf("%s: 4 bytes too long: parsed as %+v", g.name, p)
		}
	}
}

// TestGoldenTypes checks that each type has a row, and that each Parse refuses the other
// types.
func TestGoldenTypes(t *testing.T) {
	seen := map[Type]bool{}
	for _, g := range goldens {
		seen[g.pdu.Type()] = true
		h, err := ParseHeader(g.bytes(t))
		if err != nil || h.Type != g.pdu.Type() {
			t.Errorf("%s: header %+v, %v", g.name, h, err)
		}
		for typ := range kinds {
			if typ != h.Type && New(typ).Parse(g.bytes(t)) == nil {
				t.Errorf("%s: %v takes it", g.name, typ)
			}
		}
	}
	for typ := range kinds {
		if !seen[typ] {
			t.Errorf("no row for %v", typ)
		}
		if New(typ).Type() != typ {
			t.Errorf("New(%v) has type %v", typ, New(typ).Type())
		}
	}
}
