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

// Damage tells of a file parts of which could not be trusted. A record that was written in
// part, at the end of the file, is no damage.
type Damage struct {
	Path     string // the file
	SetAside string // where it is kept as it was; empty where that failed
	Reason   string // what was wrong first
	Lost     int64  // bytes that cannot be trusted
	Lines    int    // in so many lines
	Nothing  bool   // there is nothing that can be
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

// setAside gives a damaged file a second name, and returns it. The first name stays until a
// good file replaces it.
func (j *Journal) setAside() string {
	j.step("link")
	defer j.step("link done")
	return SetAside(j.path)
}

// SetAside gives a damaged file a second name beside it, and returns that, or "" where it
// could not. Of all the files that were set aside the last four stay.
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
	// In a directory that cannot be listed there are none to be counted.
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

// ErrLocked is the error of Lock where another process has the lock.
var ErrLocked = errors.New("journal: the file belongs to another process")

// Lock makes the file of that name the one that tells who may write, and locks it until it
// is closed or the process ends. It does not wait. The file stays behind: removed, two
// processes could lock two files of one name.
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
