//go:build system

package install

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// tmpfiles is where Install has systemd-tmpfiles look.
func (s *system) tmpfiles() string {
	for _, dir := range []string{"/usr/lib/tmpfiles.d", "/etc/tmpfiles.d"} {
		if info, err := os.Stat(dir); err == nil && info.IsDir() {
			return filepath.Join(dir, "rtime-dds.conf")
		}
	}
	s.t.Fatal("this machine has no folder for systemd-tmpfiles")
	return ""
}

// TestTmpfiles: the directory of the suppliers' segments is made at boot for the user that
// PCP runs as, as long as the agent is installed.
func TestTmpfiles(t *testing.T) {
	s := newSystem(t)
	s.must(top(t, "Install"), "dds")
	path := s.tmpfiles()
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	made := make(map[string]string)
	for line := range strings.Lines(string(text)) {
		if f := strings.Fields(line); len(f) >= 5 && f[0] == "d" {
			made[f[1]] = f[3] + ":" + f[4]
		}
	}
	want := s.env["PCP_USER"] + ":" + s.env["PCP_GROUP"]
	for _, dir := range []string{"/run/rtime/dds", "/run/rtime/dds/claims"} {
		if made[dir] != want {
			t.Errorf("%s is made for %q, want %q:\n%s", dir, made[dir], want, text)
		}
	}
	s.must(top(t, "Remove"), "dds")
	if _, err := os.Lstat(path); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("after Remove %s is there yet: %v", path, err)
	}
}
