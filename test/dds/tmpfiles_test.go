package dds

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/pcp-rtime/rtime/internal/ddsseg/layout"
)

// TestTmpfiles: Install makes systemd-tmpfiles create at boot the directory that the agent
// would make, for the user that PCP runs as. The file goes into the folder that exists, and
// is on the list of what Remove removes.
func TestTmpfiles(t *testing.T) {
	top, err := filepath.Abs("../..")
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	if err := os.Mkdir(filepath.Join(dir, "etc"), 0o755); err != nil {
		t.Fatal(err)
	}
	c := exec.Command("/bin/sh", "-euc", `. "$0/scripts/common.sh"; . "$0/scripts/files.sh"; manifest=list known=/dev/null; : >list
PCP_USER=someone PCP_GROUP=some
put_tmpfiles "$0/pmdas/dds/tmpfiles.conf" . rtime-dds.conf nowhere etc other
put_tmpfiles "$0/pmdas/dds/tmpfiles.conf" . rtime-dds.conf nowhere
put_tmpfiles "$0/pmdas/lan/tmpfiles.conf" . rtime-rtlan.conf etc
cat list`, top)
	c.Dir = dir
	out, err := c.CombinedOutput()
	if err != nil || string(out) != "etc/rtime-dds.conf\n" {
		t.Fatalf("%q %v", out, err)
	}
	text, err := os.ReadFile(filepath.Join(dir, "etc/rtime-dds.conf"))
	if err != nil {
		t.Fatal(err)
	}
	var lines []string
	for _, line := range strings.Split(strings.TrimSpace(string(text)), "\n") {
		if !strings.HasPrefix(line, "#") {
			lines = append(lines, strings.Join(strings.Fields(line), " "))
		}
	}
	want := []string{
		"d " + filepath.Dir(layout.DefaultDir) + " 0755 root root -",
		fmt.Sprintf("d %s %04o someone some -", layout.DefaultDir, layout.DirMode),
		fmt.Sprintf("d %s/%s %04o someone some -", layout.DefaultDir, layout.ClaimsDir, layout.ClaimsMode),
		fmt.Sprintf("d %s/%s %04o someone some -", layout.DefaultDir, layout.NoticeDir, layout.NoticeMode),
	}
	if fmt.Sprint(lines) != fmt.Sprint(want) {
		t.Errorf("%q, want %q", lines, want)
	}
}
