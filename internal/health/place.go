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
// file.
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
	if pid > 0 && pid != os.Getpid() && syscall.Kill(pid, 0) != syscall.ESRCH {
		return fmt.Errorf("%s: %w by process %d", path, errInUse, pid)
	}
	return nil
}
