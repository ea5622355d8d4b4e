package spmi

import (
	"encoding/json"
	"fmt"
	"reflect"
	"strconv"
	"strings"

	"github.com/pcp-rtime/rtime/internal/ddsseg/layout"
	"github.com/pcp-rtime/rtime/internal/ddsseg/writer"
)

// kind is a set of statistics that one or more contexts share.
type kind struct {
	decls    []writer.StatDecl
	names    map[string]bool
	asns     map[uint32]bool
	fields   []int // of the struct that Values points to; the first len(decls)-len(fields) decls are from Stats
	template int   // index of the context's record, for volatile contexts
}

// signature is the same for two sets whose values lie in the same places.
func (k *kind) signature() string {
	var b strings.Builder
	for _, d := range k.decls {
		fmt.Fprintf(&b, "%s/%d/%d\n", d.Name, d.Type, d.ValueType)
	}
	return b.String()
}

// kindOf reads and checks what a context declares.
func kindOf(c *Context) (*kind, error) {
	k := &kind{names: map[string]bool{}, asns: map[uint32]bool{}}
	for _, s := range c.Stats {
		if s.To == nil {
			return nil, fail(CodeBadArgument, c.Path+"/"+s.Name, "no handle")
		}
		if err := k.add(s, s.To.format(), c.Path); err != nil {
			return nil, err
		}
	}
	if c.Values == nil {
		return k, nil
	}
	t := reflect.TypeOf(c.Values)
	if t.Kind() != reflect.Pointer || t.Elem().Kind() != reflect.Struct {
		return nil, fail(CodeBadArgument, c.Path, "Values is no pointer to a struct")
	}
	for i := range t.Elem().NumField() {
		if err := k.field(i, t.Elem().Field(i), c.Path); err != nil {
			return nil, err
		}
	}
	return k, nil
}

// field adds the statistic that a struct's field declares, if it declares one.
func (k *kind) field(i int, f reflect.StructField, path string) error {
	h, ok := reflect.Zero(reflect.PointerTo(f.Type)).Interface().(Handle)
	name, tagged := f.Tag.Lookup("spmi")
	if name == "-" || !ok && !tagged {
		return nil
	}
	if !ok || !f.IsExported() {
		return fail(CodeBadArgument, path, "field "+f.Name+" is no exported handle")
	}
	s, err := parseTag(f)
	if err != nil {
		return fail(CodeBadArgument, path, "field "+f.Name+": "+err.Error())
	}
	k.fields = append(k.fields, i)
	return k.add(s, h.format(), path)
}

func parseTag(f reflect.StructField) (Stat, error) {
	s := Stat{Name: f.Tag.Get("spmi"), Descr: f.Tag.Get("descr"), Help: f.Tag.Get("help")}
	if s.Name == "" {
		s.Name = strings.ToLower(f.Name)
	}
	var err error
	number := func(key string, bits int) int64 {
		text := f.Tag.Get(key)
		if text == "" || err != nil {
			return 0
		}
		var v int64
		v, err = strconv.ParseInt(text, 10, bits)
		return v
	}
	s.Min, s.Max = number("min", 64), number("max", 64)
	s.ASN = uint32(number("asn", 32))
	if err != nil {
		return s, err
	}
	as, ok := dataTypeNames[f.Tag.Get("as")]
	if !ok {
		return s, fmt.Errorf("unknown type %q", f.Tag.Get("as"))
	}
	s.As = as
	s.Units, err = ParseUnits(f.Tag.Get("units"))
	return s, err
}

// maxASN is the largest ASN.1 number. The SPMI has 16 bits for it.
const maxASN = 1<<16 - 1

// add checks a statistic and appends its record.
func (k *kind) add(s Stat, f format, path string) error {
	path += "/" + s.Name
	labels, err := labelsJSON(s.Labels)
	switch {
	case !layout.ValidName(s.Name):
		return fail(CodeBadArgument, path, "not a name of 1 to 31 bytes")
	case k.names[s.Name]:
		return fail(CodeDuplicate, path, "name used twice in one context")
	case s.ASN > maxASN:
		return fail(CodeBadArgument, path, fmt.Sprintf("ASN.1 number %d: want 0 to %d", s.ASN, maxASN))
	case s.ASN != 0 && k.asns[s.ASN]:
		return fail(CodeDuplicate, path, fmt.Sprintf("ASN.1 number %d used twice in one context", s.ASN))
	case s.Min > s.Max:
		return fail(CodeBadArgument, path, "min is more than max")
	case !s.Units.valid():
		return fail(CodeBadArgument, path, "units out of range")
	case s.As > Unsign:
		return fail(CodeBadArgument, path, "unknown data type")
	case err != nil:
		return fail(CodeBadArgument, path, err.Error())
	}
	if err := checkTexts(path, s.Descr, s.Help); err != nil {
		return err
	}
	if s.As == AsStored {
		s.As = f.stored
	}
	k.names[s.Name] = true
	k.asns[s.ASN] = true
	k.decls = append(k.decls, writer.StatDecl{
		Name: s.Name, Descr: s.Descr, Min: s.Min, Max: s.Max,
		ValueType: f.value, DataType: s.As.number(), Type: f.stored.number(),
		Offset: f.offset(len(k.decls)), Size: f.size, ASN: s.ASN, Units: uint32(s.Units),
		Help: s.Help, Labels: labels,
	})
	return nil
}

// bind makes a context's handles refer to the values in the area.
func (k *kind) bind(c *Context, a *area) {
	for i := range c.Stats {
		c.Stats[i].To.bind(&a.words[i], a)
	}
	if len(k.fields) == 0 {
		return
	}
	v := reflect.ValueOf(c.Values).Elem()
	for i, n := range k.fields {
		v.Field(n).Addr().Interface().(Handle).bind(&a.words[len(c.Stats)+i], a)
	}
}

const longest = 4095 // bytes of help and of labels

func checkTexts(path, descr, help string) error {
	if len(descr) >= layout.DescrLen {
		return fail(CodeBadArgument, path, "description longer than 63 bytes")
	}
	if strings.ContainsFunc(descr, func(r rune) bool { return r < ' ' || r == 0x7f }) {
		return fail(CodeBadArgument, path, "description with control characters")
	}
	if len(help) > longest || strings.Contains(help, "\x00") {
		return fail(CodeBadArgument, path, "help longer than 4095 bytes, or with a NUL")
	}
	return nil
}

// labelsJSON returns the labels as a JSON object, sorted by name.
func labelsJSON(labels map[string]string) (string, error) {
	if len(labels) == 0 {
		return "", nil
	}
	for name := range labels {
		if name == "" || strings.TrimFunc(name, labelRune) != "" || name[0] >= '0' && name[0] <= '9' || name[0] == '_' {
			return "", fmt.Errorf("%q does not name a label", name)
		}
	}
	b, err := json.Marshal(labels)
	if err == nil && len(b) > longest {
		err = fmt.Errorf("labels of more than %d bytes", longest)
	}
	return string(b), err
}

func labelRune(r rune) bool {
	return r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' || r == '_'
}
