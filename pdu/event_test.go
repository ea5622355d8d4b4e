package pdu

import (
	"bytes"
	"errors"
	"reflect"
	"testing"
	"time"

	"github.com/pcp-rtime/rtime/pcp"
)

func param(pmid pcp.PMID, v pcp.Value) pcp.EventParam { return pcp.EventParam{PMID: pmid, Value: v} }

func sampleEvents(at time.Time) []pcp.EventRecord {
	return []pcp.EventRecord{
		{Time: at, Flags: pcp.EventPoint, Params: []pcp.EventParam{param(0x07400086, pcp.Str("fetch #0"))}},
		{Time: at, Flags: pcp.EventPoint, Params: []pcp.EventParam{param(0x07400086, pcp.Str("bingo!"))}},
	}
}

// TestEventsCaptured reads what pmdasample sent, garbage in the padding included.
func TestEventsCaptured(t *testing.T) {
	for _, tt := range []struct {
		typ    pcp.Type
		result string
		want   []pcp.EventRecord
	}{
		{pcp.TypeEvent, eventResult, sampleEvents(time.Unix(0x6b00409e, 0x3f7da*1000))},
		{pcp.TypeHighresEvent, highresEventResult, sampleEvents(time.Unix(0x6b00409e, 0x10748ec9))},
	} {
		var r Result
		if err := r.Parse(mustHex(tt.result)); err != nil {
			t.Fatal(err)
		}
		none, err := ParseEvents(tt.typ, r.Sets[0].Values[0].Value.Bytes())
		if err != nil || len(none) != 0 {
			t.Errorf("%v: empty array: %v, %v", tt.typ, none, err)
		}
		block := r.Sets[0].Values[1].Value.Bytes()
		source := bytes.Clone(block)
		got, err := ParseEvents(tt.typ, source)
		clear(source) // what was parsed must not live in it
		if err != nil || !reflect.DeepEqual(got, tt.want) {
			t.Errorf("%v:\n got %+v, %v\nwant %+v", tt.typ, got, err, tt.want)
		}
		written := AppendEvents(nil, tt.typ, tt.want)
		if len(written) != len(block) || !bytes.Equal(written[:len(written)-2], block[:len(block)-2]) {
			t.Errorf("%v:\n wrote %x\ncaptured %x", tt.typ, written, block)
		}
		for n := range block {
			if got, err := ParseEvents(tt.typ, block[:n]); err == nil {
				t.Errorf("%v: first %d bytes: %+v", tt.typ, n, got)
			}
		}
		var pe *ParseError
		if _, err := ParseEvents(tt.typ, append(block, 0, 0, 0, 0)); !errors.Is(err, ErrTrailing) || !errors.As(err, &pe) {
			t.Errorf("%v: 4 bytes behind it: %v", tt.typ, err)
		}
	}
}

func TestEventsRoundTrip(t *testing.T) {
	recs := []pcp.EventRecord{
		{Time: time.Unix(1<<32-1, 999999000), Flags: pcp.EventStart | pcp.EventID, Params: []pcp.EventParam{
			param(1, pcp.Num(int32(-7))), param(2, pcp.Num(uint32(7))), param(3, pcp.Num(int64(-7))),
			param(4, pcp.Num(uint64(7))), param(5, pcp.Num(float32(0.5))), param(6, pcp.Num(0.25)),
			param(7, pcp.Str("")), param(8, pcp.Str("abcd")),
			param(9, pcp.RawBytes(pcp.TypeAggregate, []byte{1, 0}))}},
		{Time: time.Unix(0, 0), Flags: pcp.EventMissed, Missed: 1<<32 - 1},
		{Time: time.Unix(5, 0), Flags: pcp.EventEnd},
	}
	for _, typ := range []pcp.Type{pcp.TypeEvent, pcp.TypeHighresEvent} {
		got, err := ParseEvents(typ, AppendEvents(nil, typ, recs))
		if err != nil || !reflect.DeepEqual(got, recs) {
			t.Errorf("%v:\n got %+v, %v\nwant %+v", typ, got, err, recs)
		}
	}
}

// TestEventsUnfit gives AppendEvents parameters that a record cannot carry.
func TestEventsUnfit(t *testing.T) {
	good := param(1, pcp.Num(uint32(7)))
	recs := []pcp.EventRecord{{Time: time.Unix(1, 0), Params: []pcp.EventParam{
		param(2, pcp.RawBytes(pcp.TypeEvent, []byte{0, 0, 0, 0})),
		good,
		param(3, pcp.RawNumber(pcp.TypeNoSupport, 0)),
		param(4, pcp.RawBytes(pcp.TypeString, make([]byte, maxBlock-4))),
	}}, {Time: time.Unix(2, 0), Flags: pcp.EventMissed, Missed: 2, Params: []pcp.EventParam{good}}}
	got, err := ParseEvents(pcp.TypeEvent, AppendEvents(nil, pcp.TypeEvent, recs))
	want := []pcp.EventRecord{{Time: time.Unix(1, 0), Params: []pcp.EventParam{good}},
		{Time: time.Unix(2, 0), Flags: pcp.EventMissed, Missed: 2}}
	if err != nil || !reflect.DeepEqual(got, want) {
		t.Errorf("got %+v, %v", got, err)
	}
	if b := AppendEvents([]byte("x"), pcp.TypeString, recs); string(b) != "x" {
		t.Errorf("type STRING: wrote %x", b)
	}
	if _, err := ParseEvents(pcp.TypeString, nil); !errors.Is(err, pcp.ErrType) {
		t.Errorf("type STRING: %v", err)
	}
}

func TestEventsBad(t *testing.T) {
	for _, tt := range []struct {
		name, hex string
		typ       pcp.Type
		cause     error
	}{
		{"more records than bytes", "00000002 00000001 00000000 00000001 00000000", pcp.TypeEvent, ErrTruncated},
		{"negative number of records", "ffffffff", pcp.TypeEvent, ErrNegative},
		{"more parameters than bytes", "00000001 00000001 00000000 00000001 00000001 00000001", pcp.TypeEvent, ErrTruncated},
		{"negative number of parameters", "00000001 00000001 00000000 00000001 80000000", pcp.TypeEvent, ErrNegative},
		{"parameter shorter than its head", "00000001 00000001 00000000 00000001 00000001 00000001 06000003", pcp.TypeEvent, ErrTruncated},
		{"parameter beyond the end", "00000001 00000001 00000000 00000001 00000001 00000001 06000009 61626364", pcp.TypeEvent, ErrTruncated},
		{"padding beyond the end", "00000001 00000001 00000000 00000001 00000001 00000001 06000005 61", pcp.TypeEvent, ErrTruncated},
		{"number of the wrong length", "00000001 00000001 00000000 00000001 00000001 00000001 0500000a 61626364 65660000", pcp.TypeEvent, errBlockSize},
		{"events in events", "00000001 00000001 00000000 00000001 00000001 00000001 09000008 00000000", pcp.TypeEvent, errBlockType},
		{"type of a parameter", "00000001 00000001 00000000 00000001 00000001 00000001 0b000004", pcp.TypeEvent, errBlockType},
		{"a million microseconds", "00000001 00000001 000f4240 00000001 00000000", pcp.TypeEvent, errSubsecond},
		{"negative nanoseconds", "00000001 00000000 00000001 ffffffff ffffffff 00000001 00000000", pcp.TypeHighresEvent, errSubsecond},
	} {
		if got, err := ParseEvents(tt.typ, mustHex(tt.hex)); !errors.Is(err, tt.cause) {
			t.Errorf("%s: %+v, %v; want %v", tt.name, got, err, tt.cause)
		}
	}
}
