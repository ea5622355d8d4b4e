package agent

import (
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/pcp-rtime/rtime/internal/armseg/layout"
	"github.com/pcp-rtime/rtime/pmda"
	"github.com/pcp-rtime/rtime/pmdas/arm/internal/collect"
)

// TestSetup: the directory belongs to the user that the agent will run as, and its mode
// lets others add files. It is not made along a wrong path.
func TestSetup(t *testing.T) {
	uid, gid := os.Geteuid(), os.Getegid()
	if uid == 0 {
		uid, gid = 65534, 65534
	}
	top := t.TempDir()
	setup := func(dir string) error {
		a := newAgent()
		a.ConfigFile, a.Dir.Path = "", dir
		return a.setup(&pmda.Options{UID: uid, GID: gid})
	}
	dir := filepath.Join(top, "arm")
	if err := setup(dir); err != nil {
		t.Fatal(err)
	}
	var st syscall.Stat_t
	if err := syscall.Stat(dir, &st); err != nil {
		t.Fatal(err)
	}
	if st.Mode&0o7777 != layout.DirMode || int(st.Uid) != uid || int(st.Gid) != gid {
		t.Errorf("%s: mode %o of %d:%d, want %o of %d:%d", dir, st.Mode&0o7777, st.Uid, st.Gid, layout.DirMode, uid, gid)
	}
	if err := setup(filepath.Join(top, "wrong", "arm")); err == nil || !strings.Contains(err.Error(), filepath.Join(top, "wrong")) {
		t.Errorf("a wrong path: %v", err)
	}
	if _, err := os.Stat(filepath.Join(top, "wrong")); err == nil {
		t.Error("a wrong path was made")
	}
}

// TestTry runs the agent as --try does.
func TestTry(t *testing.T) {
	a := newAgent()
	f := new(fake)
	f.find(bank)
	a.ConfigFile, a.Dir.Path = "", filepath.Join(t.TempDir(), "arm")
	a.open = func(_ collect.Config, o collect.Options) (collector, error) {
		f.options = o
		return f, nil
	}
	o := pmda.Options{Try: true}
	if err := a.setup(&o); err != nil {
		t.Fatal(err)
	}
	s, err := pmda.New(a.declare(), o)
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	if err := a.start(s); err != nil {
		t.Fatal(err)
	}
	defer a.Stop()
	if err := a.try(s, nil); err != nil {
		t.Error(err)
	}
	if err := a.try(s, []string{"x"}); err == nil {
		t.Error("an argument is taken")
	}
	list, err := s.Export()
	if err != nil {
		t.Fatal(err)
	}
	byName := make(map[string]pmda.Export)
	for _, e := range list {
		byName[e.Name] = e
	}
	for _, c := range tryColumns {
		if _, ok := byName[c.Metric]; !ok {
			t.Errorf("no metric %s for the column %s", c.Metric, c.Head)
		}
	}
	if e := byName["rtime.arm.count"]; len(e.Values) != 2 || e.Values[0].Inst != lastCheck || e.Values[0].Value.String() != "1234" {
		t.Errorf("%+v", e)
	}
}
