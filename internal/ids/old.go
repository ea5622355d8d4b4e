package ids

import (
	"bytes"
	"errors"
	"fmt"
	"hash/crc32"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"

	"github.com/pcp-rtime/rtime/internal/journal"
)

// Before there was a journal, each space had a file of its own, AGENT.SPACE.ids, which was
// text:
//
//	rtime-ids 1 reserved 64
//	0 farvel
//	1 a name with blanks
//	end 2 reserved 64 crc32c 1a2b3c4d
//
// The check sum covers everything before its own digits. What such a file holds is put into
// the journal once, and the file is removed.

// oldFile is a file of that kind, whose lock is held.
type oldFile struct {
	path string
	lock *os.File
}

// remove removes the file when the journal has what it holds. The lock goes last, because an
// earlier version looks at it first.
func (o *oldFile) remove() {
	os.Remove(o.path)
	os.Remove(o.path + ".lock")
	o.lock.Close()
}

// readOld takes in the files of earlier versions and returns those that are to be removed.
// Files of spaces that are in the journal already are not read again: the process was killed
// before it had removed them.
func (f *File) readOld(c *contents) (list []*oldFile, err error) {
	defer func() {
		if err != nil {
			for _, o := range list {
				o.lock.Close()
			}
		}
	}()
	stem, ok := strings.CutSuffix(f.path, ".ids")
	if !ok {
		return nil, nil
	}
	// In a folder that cannot be listed there are none.
	files, _ := os.ReadDir(filepath.Dir(f.path))
	before := make(map[string]bool)
	for name := range c.spaces {
		before[name] = true
	}
	for _, file := range files {
		part, mine := strings.CutPrefix(file.Name(), filepath.Base(stem)+".")
		part, whole := strings.CutSuffix(part, ".ids")
		if !mine || !whole || checkSpace(part) != nil {
			continue
		}
		path := filepath.Join(filepath.Dir(f.path), file.Name())
		lock, err := journal.Lock(path + ".lock")
		if err != nil {
			return list, err // an agent of the earlier version still gives numbers out
		}
		list = append(list, &oldFile{path, lock})
		if before[part] {
			continue
		}
		if err := f.takeOld(c.space(part), path); err != nil {
			return list, err
		}
	}
	return list, nil
}

// takeOld takes in a file of an earlier version. Nothing of a damaged one is believed.
func (f *File) takeOld(s *table, path string) error {
	data, err := os.ReadFile(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	old, err := decodeOld(data)
	if err == nil {
		s.bound = old.bound
		for _, e := range old.entries {
			if err = s.add(e); err != nil {
				break
			}
		}
	}
	if err != nil {
		*s = *newTable()
		s.bound = resumeOld(data)
		f.damaged(&journal.Damage{Path: path, SetAside: journal.SetAside(path), Reason: err.Error(), Lost: int64(len(data))})
	}
	return nil
}

// oldNames is what such a file holds.
type oldNames struct {
	bound   int64
	entries []entry
}

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

// decodeOld reads a file, or says what is wrong with it.
func decodeOld(data []byte) (s oldNames, err error) {
	const digits = len("1a2b3c4d\n")
	body := data[:max(len(data)-digits, 0)]
	if string(data[len(body):]) != fmt.Sprintf("%08x\n", crc32.Checksum(body, castagnoli)) {
		return s, errors.New("the file was truncated, or its check sum does not match")
	}
	head, rest, _ := bytes.Cut(body, []byte("\n"))
	if n, _ := fmt.Sscanf(string(head), "rtime-ids 1 reserved %d", &s.bound); n != 1 || s.bound < 0 || s.bound > int64(FirstVolatile) {
		return s, fmt.Errorf("the first line is %.40q; want \"rtime-ids 1 reserved\" and a number up to %d", head, FirstVolatile)
	}
	lines := rest[:bytes.LastIndexByte(rest, '\n')+1]
	for line := range bytes.Lines(lines) {
		number, name, _ := bytes.Cut(bytes.TrimSuffix(line, []byte("\n")), []byte(" "))
		n, err := strconv.ParseUint(string(number), 10, 31)
		if err != nil {
			return s, fmt.Errorf("the line %.40q does not begin with a number", line)
		}
		s.entries = append(s.entries, entry{int32(n), string(name)})
	}
	return s, nil
}

var (
	boundWords = regexp.MustCompile(`\breserved ([0-9]{1,10})\b`)
	numberLine = regexp.MustCompile(`(?m)^([0-9]{1,10}) .`)
)

// resumeOld returns the number at which it is safe to go on after a damaged file: the greatest
// number in it, and as many more as could have been given out. A number in the upper half
// counts as damage itself.
func resumeOld(data []byte) int64 {
	top := int64(0)
	for _, words := range []*regexp.Regexp{boundWords, numberLine} {
		for _, found := range words.FindAllSubmatch(data, -1) {
			if n, err := strconv.ParseInt(string(found[1]), 10, 64); err == nil && n < int64(FirstVolatile)/2 {
				top = max(top, n+1)
			}
		}
	}
	return top + minReserve + int64(len(data))/4
}
