package ids

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
)

// Damage tells of a file that could not be trusted.
type Damage struct {
	Path     string // the file
	SetAside string // where it is kept now; empty where that failed
	Reason   string // what was wrong
	Resume   int32  // numbering goes on here
}

// String says all of it in one line.
func (d *Damage) String() string {
	kept := d.SetAside
	if kept == "" {
		kept = "nowhere"
	}
	return fmt.Sprintf("ids: %s is damaged (%s); kept as %s; numbers go on at %d", d.Path, d.Reason, kept, d.Resume)
}

// keepDamaged is how many damaged files stay beside the good one.
const keepDamaged = 4

// blindGap is how far numbering jumps where a damaged file has lost its bound at
// both ends; at most a quarter of all numbers.
const blindGap = 1 << 16

var boundWords = regexp.MustCompile(`\breserved ([0-9]{1,10})\b`)

// resume finds the number that is safe to go on with after damage. No name in such a
// file is believed; its numbers are used in one direction only, upwards:
//
//   - where the bounds at both ends agree, it is that bound;
//   - otherwise the greatest of the bounds and of the numbers before names, plus what
//     could have been reserved beyond a file with as many lines;
//   - where no bound can be read at either end, blindGap more.
//
// Numbers beyond the range or, in the full range, in its upper half are taken for
// damage themselves. What a file has lost altogether it cannot tell: one cut down to
// nothing after more than blindGap names says too little.
func resume(data []byte, limit int64) int64 {
	first, last := boundsOf(data, limit)
	if first >= 0 && first == last {
		return first
	}
	credible := limit
	if limit == int64(FirstVolatile) {
		credible = limit / 2
	}
	top, lines := int64(0), int64(0)
	believe := func(n int64) {
		if n <= credible {
			top = max(top, n)
		}
	}
	believe(first)
	believe(last)
	for line := range bytes.Lines(data) {
		lines++
		digits, _, named := bytes.Cut(line, []byte(" "))
		if n, err := strconv.ParseInt(string(digits), 10, 32); err == nil && named {
			believe(n + 1)
		}
	}
	top += minBlock + 2*lines
	if first < 0 && last < 0 {
		top += min(blindGap, limit/4)
	}
	return min(top, limit)
}

// boundsOf returns the bounds in the first and in the last line, -1 for none.
func boundsOf(data []byte, limit int64) (first, last int64) {
	text := bytes.TrimRight(data, "\n")
	head, _, _ := bytes.Cut(text, []byte("\n"))
	first, last = boundIn(head, limit), -1
	if i := bytes.LastIndexByte(text, '\n'); i >= 0 && bytes.HasPrefix(text[i+1:], []byte("end ")) {
		last = boundIn(text[i+1:], limit)
	}
	return first, last
}

// boundIn returns the bound that a line names, or -1.
func boundIn(line []byte, limit int64) int64 {
	if found := boundWords.FindSubmatch(line); found != nil {
		if n, err := strconv.ParseInt(string(found[1]), 10, 64); err == nil && n <= limit {
			return n
		}
	}
	return -1
}

// SetAside gives a damaged file a second name, and returns it. The first name stays
// until a good file replaces it: were there none for a moment, a kill would make the
// next start begin at zero.
func SetAside(path string, data []byte) string {
	numbers := damagedFiles(path)
	for _, n := range numbers {
		if old := damagedName(path, n); sameFile(old, path) {
			return old
		}
	}
	next := 1
	if len(numbers) > 0 {
		next = numbers[len(numbers)-1] + 1
	}
	name := damagedName(path, next)
	if os.Link(path, name) != nil && os.WriteFile(name, data, 0o600) != nil {
		os.Remove(name)
		return ""
	}
	for len(numbers) >= keepDamaged {
		os.Remove(damagedName(path, numbers[0]))
		numbers = numbers[1:]
	}
	return name
}

func damagedName(path string, n int) string { return fmt.Sprintf("%s.damaged-%d", path, n) }

// damagedFiles returns the numbers of the files set aside so far, ascending.
func damagedFiles(path string) []int {
	// A directory that cannot be listed has none that could be counted.
	files, _ := os.ReadDir(filepath.Dir(path))
	var numbers []int
	for _, f := range files {
		digits, ok := strings.CutPrefix(f.Name(), filepath.Base(path)+".damaged-")
		if n, err := strconv.Atoi(digits); ok && err == nil && n > 0 && n < 1<<30 {
			numbers = append(numbers, n)
		}
	}
	slices.Sort(numbers)
	return numbers
}

func sameFile(a, b string) bool {
	x, errX := os.Lstat(a)
	y, errY := os.Lstat(b)
	return errX == nil && errY == nil && os.SameFile(x, y)
}
