package journal

import (
	"bufio"
	"bytes"
	"encoding/hex"
	"errors"
	"fmt"
	"hash/crc32"
	"io"
)

// MaxRecord is the greatest length of a record in bytes.
const MaxRecord = 64 << 20

// header is the first record of each file.
const header = "rtime-journal 1"

const headerStem = "rtime-journal "

// A line is the CRC-32C of the record as eight hexadecimal digits, a blank, the record
// and a newline.
const lineHead = 9

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

// Batch is a set of records that are appended together. The zero value is empty.
type Batch struct{ lines []byte }

// Add adds a record of up to MaxRecord bytes without newline. It returns an error for
// any other record.
func (b *Batch) Add(record []byte) error {
	if len(record) > MaxRecord {
		return fmt.Errorf("journal: a record of %d bytes; at most %d are allowed", len(record), MaxRecord)
	}
	if bytes.IndexByte(record, '\n') >= 0 {
		return fmt.Errorf("journal: record %.40q holds a newline", record)
	}
	b.lines = appendLine(b.lines, record)
	return nil
}

// Len returns how many bytes the batch takes in the file.
func (b *Batch) Len() int { return len(b.lines) }

func appendLine(to, record []byte) []byte {
	to = fmt.Appendf(to, "%08x ", crc32.Checksum(record, castagnoli))
	to = append(to, record...)
	return append(to, '\n')
}

// parseLine returns the record of a whole line, newline included.
func parseLine(line []byte) (record []byte, ok bool) {
	if len(line) < lineHead+1 || line[lineHead-1] != ' ' || line[len(line)-1] != '\n' {
		return nil, false
	}
	var sum [4]byte
	if _, err := hex.Decode(sum[:], line[:lineHead-1]); err != nil || bytes.ContainsAny(line[:lineHead-1], "ABCDEF") {
		return nil, false
	}
	record = line[lineHead : len(line)-1]
	want := crc32.Checksum(record, castagnoli)
	return record, sum == [4]byte{byte(want >> 24), byte(want >> 16), byte(want >> 8), byte(want)}
}

// found is what was found while a file was read.
type found struct {
	end     int64  // end of the last whole line
	torn    int64  // bytes after it
	lost    int64  // bytes in lines that cannot be trusted
	lines   int    // lines that these bytes are in
	trusted int    // records that can be trusted
	reason  string // the first thing that was wrong
}

func (s *found) damage(n int64, reason string) {
	s.lost += n
	if n > 0 {
		s.lines++
	}
	if s.reason == "" {
		s.reason = reason
	}
}

// errVersion says that a file is of another version. Such a file is complete and must
// not be changed.
var errVersion = errors.New("journal: a file of another version")

// read calls f with each record that can be trusted. f may refuse the record and must
// not keep it. The error is that the file cannot be read, or is of another version.
func read(r io.Reader, f func(record []byte) error) (s found, err error) {
	in := bufio.NewReaderSize(r, 1<<16)
	var long []byte // the beginning of a line that is longer than the buffer
	size, first := int64(0), true
	for {
		line, err := in.ReadSlice('\n')
		size += int64(len(line))
		if errors.Is(err, bufio.ErrBufferFull) || len(long) > 0 {
			if len(long)+len(line) <= lineHead+MaxRecord+1 {
				long = append(long, line...)
			}
			line = long
		}
		switch {
		case errors.Is(err, bufio.ErrBufferFull):
			continue
		case errors.Is(err, io.EOF):
			if s.torn = size; first {
				s.damage(size, "there is no whole line")
				s.torn, s.end = 0, size
			}
			return s, nil
		case err != nil:
			return s, err
		}
		record, ok := parseLine(line)
		switch {
		case !ok:
			s.damage(size, fmt.Sprintf("the check sum of the line at byte %d does not match", s.end))
		case first && string(record) == header:
			s.trusted++
		case first && bytes.HasPrefix(record, []byte(headerStem)):
			return s, fmt.Errorf("%w: %.40q", errVersion, record)
		default:
			if err := f(record); err != nil {
				s.damage(size, fmt.Sprintf("the line at byte %d: %v", s.end, err))
			} else {
				s.trusted++
			}
			if first {
				s.damage(0, "the first line is missing")
			}
		}
		first = false
		s.end += size
		size, long = 0, long[:0]
		if cap(long) > 1<<20 {
			long = nil
		}
	}
}
