package pdu

import (
	"bytes"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/pcp-rtime/rtime/pcp"
)

// CheckLabels reports everything in a set of labels that cannot be sent: a name that is not
// a letter followed by letters, digits and underscores, or that has more than 254 bytes; a
// name that comes twice; a value that JSON does not have, or that is not a string, bool,
// number or nil; more than 254 labels; 65535 bytes or more of JSON. It returns nil if there
// is nothing of the kind.
func CheckLabels(labels pcp.Labels) error {
	var errs []error
	seen := make(map[string]bool, len(labels))
	size := 2
	for i := range labels {
		l := &labels[i]
		if !validLabelName(l.Name, false) {
			errs = append(errs, fmt.Errorf("pdu: label %q: %w", l.Name, errLabelName))
		}
		if seen[l.Name] {
			errs = append(errs, fmt.Errorf("pdu: label %s: twice", l.Name))
		}
		seen[l.Name] = true
		if err := checkLabelValue(l.Value); err != nil {
			errs = append(errs, fmt.Errorf("pdu: label %s: %w", l.Name, err))
			continue
		}
		value, err := labelJSON(l.Value)
		if err != nil {
			errs = append(errs, fmt.Errorf("pdu: label %s: %w", l.Name, err))
		}
		size += labelSize(l.Name, value, i == 0)
	}
	if len(labels) > labelsMax {
		errs = append(errs, fmt.Errorf("pdu: %d labels: %w", len(labels), errLabelMany))
	}
	if size >= labelJSONLimit {
		errs = append(errs, fmt.Errorf("pdu: labels have %d bytes of JSON: %w", size, errLabelLong))
	}
	return errors.Join(errs...)
}

// checkLabelValue refuses the types that pcp.Label does not name.
func checkLabelValue(v any) error {
	switch v.(type) {
	case nil, string, bool, float32, float64, json.Number, int, int8, int16, int32, int64,
		uint, uint8, uint16, uint32, uint64:
		return nil
	}
	return fmt.Errorf("a value of type %T", v)
}

// validLabelName reports whether a label may have this name. A compound name is
// several joined with dots.
func validLabelName(s string, compound bool) bool {
	if len(s) == 0 || len(s) > labelNameMax {
		return false
	}
	begin := true
	for i := range len(s) {
		switch c := s[i]; {
		case c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z':
			begin = false
		case !begin && (c >= '0' && c <= '9' || c == '_'):
		case !begin && compound && c == '.':
			begin = true
		default:
			return false
		}
	}
	return !begin
}

// labelJSON is the value as it stands in the text. Characters that matter only in
// HTML stay as they are.
func labelJSON(v any) ([]byte, error) {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	if err := e.Encode(v); err != nil {
		return nil, err
	}
	return bytes.TrimSuffix(b.Bytes(), []byte("\n")), nil
}

// labelSize is how much a label adds to the text: "name":value and a comma
// unless it is the first.
func labelSize(name string, value []byte, first bool) int {
	n := len(name) + 3 + len(value)
	if !first {
		n++
	}
	return n
}

// labelText is a set of labels as it is sent.
type labelText struct {
	index []byte // labelIndexLen for each label
	json  []byte // empty where there are no labels
}

// encodeLabels sorts by name and leaves out what cannot be sent.
func encodeLabels(labels pcp.Labels, kind pcp.LabelType) labelText {
	var t labelText
	sorted := slices.Clone(labels)
	slices.SortStableFunc(sorted, func(a, b pcp.Label) int { return strings.Compare(a.Name, b.Name) })
	last := ""
	for i := range sorted {
		l := &sorted[i]
		if l.Name == last || !validLabelName(l.Name, true) || len(t.index) == labelsMax*labelIndexLen {
			continue
		}
		if _, parsed := l.Value.(json.RawMessage); !parsed && checkLabelValue(l.Value) != nil {
			continue
		}
		value, err := labelJSON(l.Value)
		if err != nil {
			continue
		}
		if t.add(l, value, kind) {
			last = l.Name
		}
	}
	if len(t.json) > 0 {
		t.json = append(t.json, '}')
	}
	return t
}

// add writes a label behind the others and reports whether there was room.
func (t *labelText) add(l *pcp.Label, value []byte, kind pcp.LabelType) bool {
	first := len(t.json) == 0
	if max(len(t.json), 1)+labelSize(l.Name, value, first)+1 >= labelJSONLimit {
		return false
	}
	if first {
		t.json = append(t.json, '{')
	} else {
		t.json = append(t.json, ',')
	}
	flags := uint32(kind) & 0x3f
	if l.Optional {
		flags |= pcp.LabelOptional
	}
	if strings.Contains(l.Name, ".") {
		flags |= pcp.LabelCompound
	}
	name := len(t.json) + 1
	t.json = append(t.json, '"')
	t.json = append(t.json, l.Name...)
	t.json = append(t.json, '"', ':')
	t.index = binary.BigEndian.AppendUint16(t.index, uint16(name))
	t.index = append(t.index, uint8(len(l.Name)), uint8(flags))
	t.index = binary.BigEndian.AppendUint16(t.index, uint16(len(t.json)))
	t.index = binary.BigEndian.AppendUint16(t.index, uint16(len(value)))
	t.json = append(t.json, value...)
	return true
}
