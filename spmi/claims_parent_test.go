//go:build linux

package spmi_test

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/pcp-rtime/rtime/internal/ddsseg/layout"
	"github.com/pcp-rtime/rtime/spmi"
)

// TestReadLockBelow: another user may set a read lock on a victim's claims, because the
// mode allows it. The lock may keep the victim from claiming a parent, but not from having
// contexts below it. It makes no parent of paths that it does not cover.
func TestReadLockBelow(t *testing.T) {
	for _, user := range []int{0, nobody} { // the owner of the context below
		dir := segments(t)
		const parent, below = "DDS/V/a", "DDS/V/a/b"
		must(t, os.WriteFile(filepath.Join(dir, layout.ClaimsDir, "0"), nil, 0o644))
		if _, said := supply(t, dir, below, user); !strings.Contains(said, "no context DDS/V/a above") {
			t.Fatalf("without a parent: %s", said)
		}
		if _, said := start(t, "lock", dir, parent, fmt.Sprint(nobody), "0", "read", "1"); said != "<nil>" {
			t.Fatal(said)
		}
		open(t, spmi.Options{Dir: dir}, context(parent))
		if _, said := supply(t, dir, below, user); said != "<nil>" {
			t.Errorf("below a parent that could not be claimed, as user %d: %s", user, said)
		}
		if _, said := supply(t, dir, "DDS/V/c/b", user); !strings.Contains(said, "no context DDS/V/c above") {
			t.Errorf("elsewhere: %s", said)
		}
	}
}
