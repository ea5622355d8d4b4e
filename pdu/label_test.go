package pdu

import (
	"encoding/json"
	"fmt"
	"math"
	"reflect"
	"strings"
	"testing"

	"github.com/pcp-rtime/rtime/pcp"
)

// sendLabels writes one set and reads it back.
func sendLabels(t *testing.T, labels pcp.Labels) pcp.Labels {
	t.Helper()
	p := &Label{Ident: 1, Kind: pcp.LabelItem, Sets: []LabelSet{{pcp.InstNull, labels}}}
	b := p.Append(nil, 0)
	if p.Length() != len(b) {
		t.Errorf("Length %d, wrote %d", p.Length(), len(b))
	}
	var got Label
	if err := got.Parse(b); err != nil {
		t.Fatalf("%v: %v", labels, err)
	}
	return got.Sets[0].Labels
}

func TestLabelValues(t *testing.T) {
	given := pcp.Labels{
		{Name: "z", Value: "last"},
		{Name: "note", Value: "aside", Optional: true},
		label("B", true), label("a", nil), label("n1", -5), label("n2", uint64(7)),
		label("f", 0.25), label("f32", float32(0.5)),
		label("s", `quote " backslash \ <tag> & é`),
	}
	if err := CheckLabels(given); err != nil {
		t.Fatal(err)
	}
	want := pcp.Labels{
		label("B", true), label("a", nil), label("f", 0.25), label("f32", 0.5),
		label("n1", -5.0), label("n2", 7.0), {Name: "note", Value: "aside", Optional: true},
		label("s", `quote " backslash \ <tag> & é`), label("z", "last"),
	}
	if got := sendLabels(t, given); !reflect.DeepEqual(got, want) {
		t.Errorf("\n got %+v\nwant %+v", got, want)
	}
	if given[0].Name != "z" {
		t.Error("Append sorted the caller's slice")
	}
}

func TestLabelText(t *testing.T) {
	p := Label{Kind: pcp.LabelDomain, Sets: []LabelSet{{pcp.InstNull, pcp.Labels{
		label("b", "<x>"), {Name: "a", Value: 1, Optional: true}}}}}
	b := p.Append(nil, 0)
	if want := `{"a":1,"b":"<x>"}`; !strings.HasSuffix(string(b), want) {
		t.Errorf("%q, want %s at its end", b, want)
	}
	if flags := b[labelsHead+labelSetHead+3]; flags != uint8(pcp.LabelDomain)|uint8(pcp.LabelOptional) {
		t.Errorf("flags of a: %#x", flags)
	}
}

func TestLabelSets(t *testing.T) {
	p := &Label{Ident: 7, Kind: pcp.LabelInstances, Sets: []LabelSet{
		{1, pcp.Labels{label("a", "x")}}, {2, nil}, {3, pcp.Labels{label("bad name", "x")}},
		{4, pcp.Labels{label("a", "y")}}}}
	got, err := Decode(p.Append(nil, 0))
	want := &Label{Ident: 7, Kind: pcp.LabelInstances, Sets: []LabelSet{
		{1, pcp.Labels{label("a", "x")}}, {2, nil}, {3, nil}, {4, pcp.Labels{label("a", "y")}}}}
	if err != nil || !reflect.DeepEqual(got, want) {
		t.Errorf("got %+v, %v", got, err)
	}
}

// TestLabelNoLabels reads a set whose number of labels is an error code; such a set
// has no text, whatever its words say.
func TestLabelNoLabels(t *testing.T) {
	var p Label
	err := p.Parse(mustHex(`0000002c 00007013 00000000 00000001 00000010 00000000 00000001
		ffffffff ffffcfba 7fffffff 7fffffff`))
	if err != nil || len(p.Sets) != 1 || p.Sets[0].Labels != nil {
		t.Errorf("%+v, %v", p, err)
	}
}

func TestLabelCompound(t *testing.T) {
	text := `{"a.b":1,"list":[1, {"x":2}]}`
	b := appendHeader(nil, labelsHead+labelSetHead+2*labelIndexLen+len(text), TypeLabel, 0)
	for _, w := range []uint32{1, 2, 0, 1, 0xffffffff, 2, labelsHead + labelSetHead + 16, uint32(len(text)),
		2<<16 | 3<<8 | 0x42, 7<<16 | 1, 10<<16 | 4<<8 | 2, 16<<16 | 12} {
		b = put32(b, w)
	}
	b = append(b, text...)
	var p Label
	if err := p.Parse(b); err != nil {
		t.Fatal(err)
	}
	want := pcp.Labels{label("a.b", 1.0), label("list", json.RawMessage(`[1, {"x":2}]`))}
	if !reflect.DeepEqual(p.Sets[0].Labels, want) {
		t.Errorf("got %+v", p.Sets[0].Labels)
	}
	got := sendLabels(t, want)
	want[1].Value = json.RawMessage(`[1,{"x":2}]`)
	if !reflect.DeepEqual(got, want) {
		t.Errorf("sent on: %+v", got)
	}
	if CheckLabels(pcp.Labels{label("a.b", 1)}) == nil {
		t.Error("CheckLabels allows an agent a name with a dot")
	}
	b[labelsHead+labelSetHead+3] = 2 // a dot without the flag
	if err := p.Parse(b); err == nil {
		t.Error("a name with a dot that is not compound was accepted")
	}
}

// TestLabelsUnfit gives labels that cannot be sent: CheckLabels names them, and
// Append leaves them out and sends the rest.
func TestLabelsUnfit(t *testing.T) {
	good := label("good", "x")
	for _, tt := range []struct {
		name string
		bad  pcp.Labels
		want string // in the error
	}{
		{"no name", pcp.Labels{label("", 1)}, "not a name"},
		{"digit first", pcp.Labels{label("1a", 1)}, "not a name"},
		{"underscore first", pcp.Labels{label("_a", 1)}, "not a name"},
		{"blank", pcp.Labels{label("a b", 1)}, "not a name"},
		{"quote", pcp.Labels{label(`a"`, 1)}, "not a name"},
		{"umlaut", pcp.Labels{label("ä", 1)}, "not a name"},
		{"long name", pcp.Labels{label(strings.Repeat("a", 255), 1)}, "not a name"},
		{"NaN", pcp.Labels{label("a", math.NaN())}, "unsupported value"},
		{"slice", pcp.Labels{label("a", []int{1})}, "type []int"},
		{"function", pcp.Labels{label("a", func() {})}, "type func()"},
		{"long value", pcp.Labels{label("a", strings.Repeat("x", 65535))}, "65535 bytes or more"},
	} {
		labels := append(pcp.Labels{good}, tt.bad...)
		if err := CheckLabels(labels); err == nil || !strings.Contains(err.Error(), tt.want) {
			t.Errorf("%s: CheckLabels: %v, want %q", tt.name, err, tt.want)
		}
		if got := sendLabels(t, labels); !reflect.DeepEqual(got, pcp.Labels{good}) {
			t.Errorf("%s: sent %+v", tt.name, got)
		}
	}
	twice := pcp.Labels{good, label("good", "y")}
	if err := CheckLabels(twice); err == nil || !strings.Contains(err.Error(), "good: twice") {
		t.Errorf("twice: %v", err)
	}
	if got := sendLabels(t, twice); !reflect.DeepEqual(got, pcp.Labels{good}) {
		t.Errorf("twice: sent %+v", got)
	}
	both := CheckLabels(pcp.Labels{label("1", 1), label("2", 2)})
	if both == nil || !strings.Contains(both.Error(), `"1"`) || !strings.Contains(both.Error(), `"2"`) {
		t.Errorf("not all mistakes are reported: %v", both)
	}
}

func TestLabelsMost(t *testing.T) {
	var most pcp.Labels
	for i := range labelsMax {
		most = append(most, label(fmt.Sprintf("l%03d", i), strings.Repeat("v", 200)))
	}
	if err := CheckLabels(most); err != nil {
		t.Error(err)
	}
	if got := sendLabels(t, most); !reflect.DeepEqual(got, most) {
		t.Errorf("%d labels came back", len(got))
	}
	more := append(most, label("z", 1))
	if err := CheckLabels(more); err == nil || !strings.Contains(err.Error(), "more than 254") {
		t.Errorf("255 labels: %v", err)
	}
	if got := sendLabels(t, more); !reflect.DeepEqual(got, most) {
		t.Errorf("255 labels: %d came back", len(got))
	}
	// {"a":"..."} with one byte less than too many, and with one more.
	fits := pcp.Labels{label("a", strings.Repeat("x", labelJSONLimit-1-8))}
	if err := CheckLabels(fits); err != nil {
		t.Error(err)
	}
	if got := sendLabels(t, fits); !reflect.DeepEqual(got, fits) {
		t.Errorf("longest text: %d labels came back", len(got))
	}
	fits[0].Value = fits[0].Value.(string) + "x"
	if CheckLabels(fits) == nil {
		t.Error("CheckLabels allows a text of 65535 bytes")
	}
	if got := sendLabels(t, fits); got != nil {
		t.Errorf("text of 65535 bytes: %d labels came back", len(got))
	}
}
