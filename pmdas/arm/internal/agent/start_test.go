package agent

import (
	"os"
	"path/filepath"
	"syscall"
	"testing"

	"github.com/pcp-rtime/rtime/internal/armseg/layout"
	"github.com/pcp-rtime/rtime/pmda"
	"github.com/pcp-rtime/rtime/pmdas/arm/internal/collect"
)

// TestMakeDir: the directory is the user's that PCP runs as, with the mode that lets others
// add files.
func TestMakeDir(t *testing.T) {
	uid, gid := os.Geteuid(), os.Getegid()
	if uid == 0 {
		uid, gid = pcpUser()
	}
	dir := filepath.Join(t.TempDir(), "rtime", "arm")
	if err := makeDir(dir); err != nil {
		t.Fatal(err)
	}
	var st syscall.Stat_t
	if err := syscall.Stat(dir, &st); err != nil {
		t.Fatal(err)
	}
	if st.Mode&0o7777 != layout.DirMode || int(st.Uid) != uid || int(st.Gid) != gid {
		t.Errorf("%s: mode %o of %d:%d, want %o of %d:%d", dir, st.Mode&0o7777, st.Uid, st.Gid, layout.DirMode, uid, gid)
	}
}

// TestTry runs the agent as --try does.
func TestTry(t *testing.T) {
	a := newAgent()
	f := new(fake)
	f.find(bank)
	a.configFile, a.dirPath = "", filepath.Join(t.TempDir(), "arm")
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
	defer a.close()
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
