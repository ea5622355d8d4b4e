package ids

import (
	"bytes"
	"errors"
	"fmt"
	"hash/crc32"
	"strconv"
)

// The file, all of it text:
//
//	rtime-ids 1 reserved 64
//	0 farvel
//	1 a name with blanks
//	end 2 reserved 64 crc32c 1a2b3c4d
//
// The bound stands at both ends, so that damage at one leaves the other. The check
// sum is over everything before its own digits.
const (
	magic   = "rtime-ids "
	version = "1"
)

// maxFile bounds what is read into memory, in bytes.
const maxFile = 1 << 30

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

// contents is what a file holds.
type contents struct {
	entries  []entry
	reserved int64
}

func (c contents) encode() []byte {
	size := 128
	for _, e := range c.entries {
		size += len(e.name) + 12
	}
	b := make([]byte, 0, size)
	b = fmt.Appendf(b, "%s%s reserved %d\n", magic, version, c.reserved)
	for _, e := range c.entries {
		b = strconv.AppendInt(b, int64(e.id), 10)
		b = append(b, ' ')
		b = append(b, e.name...)
		b = append(b, '\n')
	}
	b = fmt.Appendf(b, "end %d reserved %d crc32c ", len(c.entries), c.reserved)
	return fmt.Appendf(b, "%08x\n", crc32.Checksum(b, castagnoli))
}

// decode reads a file, or says what is wrong with it.
func decode(data []byte) (contents, error) {
	var c contents
	body, err := checkSum(data)
	if err != nil {
		return c, err
	}
	head, rest, _ := bytes.Cut(body, []byte("\n"))
	var v string
	if n, _ := fmt.Sscanf(string(head), magic+"%s reserved %d", &v, &c.reserved); n == 0 {
		return c, errors.New("not a file of numbers")
	}
	if v != version {
		return c, fmt.Errorf("version %q is not known", v)
	}
	if string(head) != fmt.Sprintf("%s%s reserved %d", magic, version, c.reserved) {
		return c, errors.New("the first line is not as it should be")
	}
	if c.reserved < 0 || c.reserved > int64(FirstVolatile) {
		return c, fmt.Errorf("bound %d is out of range", c.reserved)
	}
	i := bytes.LastIndexByte(rest, '\n') + 1
	if c.entries, err = decodeEntries(rest[:i], c.reserved); err != nil {
		return c, err
	}
	if want := fmt.Sprintf("end %d reserved %d crc32c ", len(c.entries), c.reserved); string(rest[i:]) != want {
		return c, errors.New("the last line does not match the rest")
	}
	return c, nil
}

// checkSum returns what the check sum covers.
func checkSum(data []byte) ([]byte, error) {
	const digits = len("1a2b3c4d\n")
	if len(data) < digits {
		return nil, errors.New("cut short")
	}
	body := data[:len(data)-digits]
	if want := fmt.Sprintf("%08x\n", crc32.Checksum(body, castagnoli)); string(data[len(body):]) != want {
		return nil, errors.New("the check sum does not match")
	}
	return body, nil
}

func decodeEntries(b []byte, reserved int64) ([]entry, error) {
	var list []entry
	names, numbers := make(map[string]bool), make(map[int32]bool)
	for line := range bytes.Lines(b) {
		digits, name, _ := bytes.Cut(bytes.TrimSuffix(line, []byte("\n")), []byte(" "))
		n, err := strconv.ParseUint(string(digits), 10, 31)
		if err != nil || len(digits) > 1 && digits[0] == '0' {
			return nil, fmt.Errorf("line %.40q: no number", line)
		}
		e := entry{int32(n), string(name)}
		if err := checkName(e.name); err != nil {
			return nil, err
		}
		if int64(n) >= reserved && e.id < FirstVolatile {
			return nil, fmt.Errorf("number %d is not below the bound %d", n, reserved)
		}
		if names[e.name] || numbers[e.id] {
			return nil, fmt.Errorf("line %.40q: name or number is there already", line)
		}
		names[e.name], numbers[e.id] = true, true
		list = append(list, e)
	}
	return list, nil
}
