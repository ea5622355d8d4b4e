package ids

import (
	"bytes"
	"errors"
	"fmt"
	"strconv"
	"strings"
)

// The records of a file:
//
//	r SPACE BOUND LIMIT  numbers of the space below BOUND may have been given out; it has
//	                     those below LIMIT
//	i SPACE NUMBER NAME  a number and its name
//	f BOUND              the same as r for all spaces of which there is no record
//	v LENGTH KEY VALUE   a value; LENGTH is that of KEY in bytes
//	d KEY                the value under KEY is forgotten
//
// Of several bounds of a space the last one holds, and of several values of a key. Of several
// numbers of a name the first one holds, and of several names of a number; any other record
// counts as damaged.

func boundRecord(b []byte, space string, bound, limit int64) []byte {
	return fmt.Appendf(b, "r %s %d %d", space, bound, limit)
}

func floorRecord(b []byte, bound int64) []byte { return fmt.Appendf(b, "f %d", bound) }

func idRecord[T string | []byte](b []byte, space string, id int32, name T) []byte {
	b = append(append(append(b, "i "...), space...), ' ')
	b = append(strconv.AppendInt(b, int64(id), 10), ' ')
	return append(b, name...)
}

// valueRecord forgets a key if the value is nil.
func valueRecord(b []byte, key string, value []byte) []byte {
	if value == nil {
		return append(append(b, "d "...), key...)
	}
	b = fmt.Appendf(b, "v %d %s ", len(key), key)
	return append(b, value...)
}

// contents is what a file holds.
type contents struct {
	spaces map[string]*table
	floor  int64
}

func newContents() *contents { return &contents{spaces: make(map[string]*table)} }

type table struct {
	names
	taken bool // a Map has the names now
	bound int64
	limit int64
}

func newTable() *table { return &table{limit: int64(FirstVolatile)} }

func (c *contents) space(name string) *table {
	s := c.spaces[name]
	if s == nil {
		s = newTable()
		c.spaces[name] = s
	}
	return s
}

// top returns the number after the highest ordinary one.
func (s *table) top() int64 {
	top := int64(0)
	for id := range s.records.all() {
		if id < FirstVolatile {
			top = max(top, int64(id)+1)
		}
	}
	return top
}

// jump moves all bounds above every number that the lost part of the file may have given out.
// A record takes at least 16 bytes. It may have been a name, or have moved the bound by what is
// reserved at least.
func (c *contents) jump(lost int64, nothing bool) {
	records := lost/16 + 1
	gap := func(limit int64) int64 {
		n := records * (1 + reserve(limit))
		if nothing {
			n += blindGap
		}
		return n
	}
	c.floor = min(c.floor+gap(int64(FirstVolatile)), int64(FirstVolatile))
	for _, s := range c.spaces {
		s.bound = min(max(s.bound, s.top())+gap(s.limit)+int64(s.count), s.limit)
	}
}

// blindGap is how much further numbering jumps if nothing of a file is left.
const blindGap = 1 << 16

var errRecord = errors.New("not a record of a number, a bound or a value")

// record takes a record in, or says what is wrong with it.
func (c *contents) record(rec []byte) error {
	kind, rest, _ := bytes.Cut(rec, []byte(" "))
	switch string(kind) {
	case "i", "r":
		name, rest, _ := bytes.Cut(rest, []byte(" "))
		digits, rest, whole := bytes.Cut(rest, []byte(" "))
		n, err := strconv.ParseUint(string(digits), 10, 31)
		if err != nil || !whole || checkSpace(string(name)) != nil {
			return errRecord
		}
		if string(kind) == "i" {
			return c.space(string(name)).add(entry{int32(n), string(rest)})
		}
		limit, err := strconv.ParseUint(string(rest), 10, 31)
		if err != nil || n > limit || limit > uint64(FirstVolatile) {
			return errRecord
		}
		s := c.space(string(name))
		s.bound, s.limit = int64(n), int64(limit)
		return nil
	case "f":
		n, err := strconv.ParseUint(string(rest), 10, 31)
		if err != nil || n > uint64(FirstVolatile) {
			return errRecord
		}
		c.floor = int64(n)
		return nil
	case "v", "d":
		_, _, err := parseValue(rec)
		return err
	}
	return errRecord
}

// parseValue returns the key and the value, nil for one that is forgotten, of a record that
// begins with v or d.
func parseValue(rec []byte) (key string, value []byte, err error) {
	if rest, ok := bytes.CutPrefix(rec, []byte("d ")); ok {
		return string(rest), nil, checkKey(string(rest))
	}
	digits, rest, _ := bytes.Cut(bytes.TrimPrefix(rec, []byte("v ")), []byte(" "))
	n, err := strconv.ParseUint(string(digits), 10, 31)
	if err != nil || n >= uint64(len(rest)) || rest[n] != ' ' {
		return "", nil, errRecord
	}
	return string(rest[:n]), rest[n+1:], checkKey(string(rest[:n]))
}

func (s *table) add(e entry) error {
	if err := checkName(e.name); err != nil {
		return err
	}
	id, named := s.lookup(e.name)
	name, numbered := s.name(e.id)
	switch {
	case named && id != e.id:
		return fmt.Errorf("the number of %q is %d already", e.name, id)
	case numbered && name != e.name:
		return fmt.Errorf("number %d is that of %q already", e.id, name)
	case s.full():
		return ErrFull
	case !named:
		s.names.add(e)
	}
	return nil
}

func checkSpace(name string) error {
	if name == "" || len(name) > 64 || strings.ContainsAny(name, " \n\x00/") {
		return fmt.Errorf("ids: space %.70q is not 1..64 bytes without blank, newline, NUL and slash", name)
	}
	return nil
}

// MaxKey is the greatest length of a key in bytes.
const MaxKey = 4095

func checkKey(key string) error {
	if key == "" || len(key) > MaxKey || strings.ContainsAny(key, "\n\x00") {
		return fmt.Errorf("ids: key %.40q is not 1..%d bytes without newline and NUL", key, MaxKey)
	}
	return nil
}

// MaxValue is the greatest length of a value in bytes.
const MaxValue = 1 << 20
