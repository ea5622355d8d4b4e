package health

import (
	"bufio"
	"encoding/binary"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"syscall"
)

// place returns where speed will write the file of that name: below PCP_TMP_DIR of
// pcp.conf(5), which it finds by the environment's PCP_CONF or PCP_DIR.
func place(name string) (string, error) {
	root := os.Getenv("PCP_DIR")
	if root == "" {
		root = "/"
	}
	conf := os.Getenv("PCP_CONF")
	if conf == "" {
		conf = filepath.Join(root, "etc", "pcp.conf")
	}
	f, err := os.Open(conf)
	if err != nil {
		return "", err
	}
	defer f.Close()
	for s := bufio.NewScanner(f); s.Scan(); {
		if dir, ok := strings.CutPrefix(s.Text(), "PCP_TMP_DIR="); ok {
			return filepath.Join(root, dir, "mmv", name), nil
		}
	}
	return "", fmt.Errorf("%s has no line PCP_TMP_DIR=, which says where MMV files are", conf)
}

// errInUse says that another process publishes under the same name.
var errInUse = errors.New("in use")

// pidOffset is where an MMV file holds the number of the process that writes it; see
// mmv(5).
const pidOffset = 32

// free returns an error if the file may not be made. Its folder must exist, because
// speed would make one that nobody else can use. No other process may publish in the
// file. A process that is stopped publishes nothing: pmcd gives up a stopped agent and
// starts another, which takes the name over. free removes the file of such a process.
func free(path string) error {
	if _, err := os.Stat(filepath.Dir(path)); err != nil {
		return err
	}
	head := make([]byte, pidOffset+4)
	f, err := os.Open(path)
	if errors.Is(err, os.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	defer f.Close()
	if _, err := f.ReadAt(head, 0); err != nil {
		return nil // too short to be in use
	}
	pid := int(int32(binary.NativeEndian.Uint32(head[pidOffset:])))
	switch {
	case pid <= 0 || pid == os.Getpid():
		return nil
	case publishes(pid):
		return fmt.Errorf("%s: %w by process %d", path, errInUse, pid)
	}
	return os.Remove(path)
}

// publishes reports whether a process exists and is not stopped; see proc(5) for its state.
func publishes(pid int) bool {
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		return !errors.Is(err, os.ErrNotExist) && !errors.Is(err, syscall.ESRCH)
	}
	// The state follows the name, which stands in brackets and may hold brackets too.
	line := string(text)
	_, rest, _ := strings.Cut(line[strings.LastIndexByte(line, ')')+1:], " ")
	return rest == "" || !strings.ContainsRune("TtZXx", rune(rest[0]))
}

// ours reports whether this process publishes in the file. Another process may have taken
// the name over while this one was stopped.
func ours(path string) bool {
	head := make([]byte, pidOffset+4)
	f, err := os.Open(path)
	if err != nil {
		return false
	}
	defer f.Close()
	_, err = f.ReadAt(head, 0)
	return err == nil && int(int32(binary.NativeEndian.Uint32(head[pidOffset:]))) == os.Getpid()
}
