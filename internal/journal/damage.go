package journal

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
)

// Damage describes a file that has parts which cannot be trusted. A record that was only
// partly written at the end of the file is not damage.
type Damage struct {
	Path     string // the file
	SetAside string // where the damaged file is kept; empty if that failed
	Reason   string // the first thing that was wrong
	Lost     int64  // bytes that cannot be trusted
	Lines    int    // lines that these bytes are in
	Nothing  bool   // nothing in the file can be trusted
}

// String says all of it in one line.
func (d *Damage) String() string {
	kept := d.SetAside
	if kept == "" {
		kept = "nowhere"
	}
	return fmt.Sprintf("%s is damaged: %s; %d bytes are lost; the file as it was is kept as %s", d.Path, d.Reason, d.Lost, kept)
}

// keepDamaged is how many damaged files stay beside the good one.
const keepDamaged = 4

// setAside gives a damaged file a second name and returns it. The first name stays until a
// good file replaces the damaged one.
func (j *Journal) setAside() string {
	j.step("link")
	defer j.step("link done")
	return SetAside(j.path)
}

// SetAside gives a damaged file a second name beside it and returns that name, or "" if it
// could not. Of all the files that were set aside, the last four are kept.
func SetAside(path string) string {
	numbers := damagedFiles(path)
	for _, n := range numbers {
		if old := damagedName(path, n); sameNames(old, path) {
			return old
		}
	}
	next := 1
	if len(numbers) > 0 {
		next = numbers[len(numbers)-1] + 1
	}
	name := damagedName(path, next)
	if os.Link(path, name) != nil {
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
	// If the directory cannot be listed, no files are counted.
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

func sameNames(a, b string) bool {
	x, errX := os.Lstat(a)
	y, errY := os.Lstat(b)
	return errX == nil && errY == nil && os.SameFile(x, y)
}

// ErrLocked is the error of Lock if another process has the lock.
var ErrLocked = errors.New("journal: the file belongs to another process")

// Lock opens or makes the file of that name and locks it. The process that holds the lock
// is the one that may write. The lock holds until the file is closed or the process ends.
// Lock does not wait. The file stays behind: if it were removed, two processes could lock
// two files of one name.
func Lock(name string) (*os.File, error) {
	f, err := os.OpenFile(name, os.O_RDWR|os.O_CREATE|syscall.O_NOFOLLOW|syscall.O_NONBLOCK, 0o644)
	if err != nil {
		return nil, err
	}
	err = syscall.Flock(int(f.Fd()), syscall.LOCK_EX|syscall.LOCK_NB)
	if err != nil {
		f.Close()
		if errors.Is(err, syscall.EWOULDBLOCK) {
			return nil, fmt.Errorf("%w: %s", ErrLocked, name)
		}
		return nil, &fs.PathError{Op: "flock", Path: name, Err: err}
	}
	return f, nil
}
