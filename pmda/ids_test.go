package pmda_test

import (
	"bytes"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/pcp-rtime/rtime/pmda"
	"github.com/pcp-rtime/rtime/pmda/pmdatest"
)

// run serves a zoo that has these animals and keeps ids in dir, and returns their
// ids; drop names those that go again first.
func run(t *testing.T, dir string, j *journal, names []string, drop ...string) map[string]int32 {
	t.Helper()
	ids := make(map[string]int32)
	ok := t.Run(fmt.Sprint(names), func(t *testing.T) {
		z := newZoo()
		z.beasts.Keep = true
		z.agent.Start = func(*pmda.Server) error {
			for _, list := range [][]string{drop, names} {
				for _, n := range list {
					if _, err := z.beasts.Add(n, &beast{}); err != nil {
						return err
					}
				}
				for _, n := range drop {
					z.beasts.Remove(n)
				}
			}
			return nil
		}
		c := pmdatest.StartOptions(t, z.agent, pmda.Options{StateDir: dir, Log: j.logger()})
		for _, i := range c.Instances(beastDom) {
			ids[i.Name] = i.ID
		}
		if len(ids) != len(names) {
			t.Fatalf("instances %v, want %q", ids, names)
		}
	})
	if !ok {
		t.FailNow()
	}
	return ids
}

func TestIDsAreKept(t *testing.T) {
	dir, j := t.TempDir(), new(journal)
	first := run(t, dir, j, []string{"a", "b b", "c"})
	if again := run(t, dir, j, []string{"c", "a", "b b"}); !maps.Equal(again, first) {
		t.Errorf("ids %v after a restart, want %v", again, first)
	}
	given := make(map[int32]string)
	for n, id := range first {
		given[id] = n
	}
	second := run(t, dir, j, []string{"d", "c", "e"}, "x", "a")
	for n, id := range second {
		if other, ok := given[id]; ok && other != n {
			t.Errorf("id %d of %s is given to %s", id, other, n)
		}
	}
	if second["c"] != first["c"] {
		t.Errorf("c has id %d, and had %d", second["c"], first["c"])
	}
	third := run(t, dir, j, []string{"x", "d", "a"})
	if third["a"] != first["a"] || third["d"] != second["d"] {
		t.Errorf("ids %v, want those of %v and %v", third, first, second)
	}
	if j.String() != "" {
		t.Errorf("log: %s", j)
	}
}

func TestDamagedIDs(t *testing.T) {
	dir, j := t.TempDir(), new(journal)
	first := run(t, dir, j, []string{"a", "b"})
	path := filepath.Join(dir, "zoo.ids")
	b, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	bad := bytes.Replace(b, []byte(" a\n"), []byte(" b\n"), 1)
	if err := os.WriteFile(path, bad, 0o644); err != nil {
		t.Fatal(err)
	}
	second := run(t, dir, j, []string{"c", "d"})
	for n, id := range second {
		if id == first["a"] || id == first["b"] {
			t.Errorf("%s has id %d, which was another's", n, id)
		}
	}
	if j.count("damaged") == 0 || j.count(path) == 0 {
		t.Errorf("the log does not tell of the damage:\n%s", j)
	}
	entries, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	aside := ""
	for _, e := range entries {
		if old, _ := os.ReadFile(filepath.Join(dir, e.Name())); bytes.Equal(old, bad) {
			aside = e.Name()
		}
	}
	if aside == "" || aside == "zoo.ids" {
		t.Errorf("the damaged file is not set aside: %v", entries)
	}
	if again := run(t, dir, new(journal), []string{"d", "c"}); !maps.Equal(again, second) {
		t.Errorf("ids %v after the damage and a restart, want %v", again, second)
	}
}

// TestEarlyInstances: those added before the server is made have kept ids as well.
func TestEarlyInstances(t *testing.T) {
	dir := t.TempDir()
	first := run(t, dir, new(journal), []string{"a", "b", "c"})
	z := newZoo()
	z.beasts.Keep = true
	z.agent.Start = nil
	for _, n := range []string{"c", "new", "a"} {
		if _, err := z.beasts.Add(n, &beast{}); err != nil {
			t.Fatal(err)
		}
	}
	c := pmdatest.StartOptions(t, z.agent, pmda.Options{StateDir: dir, Log: logTo(t)})
	for _, i := range c.Instances(beastDom) {
		want, old := first[i.Name]
		if old && i.ID != want {
			t.Errorf("%s has id %d, and had %d", i.Name, i.ID, want)
		}
		if !old && i.ID <= first["c"] {
			t.Errorf("%s has id %d, which was another's", i.Name, i.ID)
		}
		if id, err := c.Lookup(beastDom, i.Name); err != nil || id != i.ID {
			t.Errorf("%s is found as %d, %v, want %d", i.Name, id, err, i.ID)
		}
	}
}

// TestNoStateDir: if the folder is missing, the agent runs, and only Close returns an
// error.
func TestNoStateDir(t *testing.T) {
	z := newZoo()
	z.beasts.Keep = true
	s, err := pmda.New(z.agent, pmda.Options{StateDir: filepath.Join(t.TempDir(), "none"), Log: logTo(t)})
	if err != nil {
		t.Fatal(err)
	}
	a, err := z.beasts.Add("a", &beast{})
	if err != nil {
		t.Fatal(err)
	}
	if b, err := z.beasts.Add("b", &beast{}); err != nil || a == b {
		t.Errorf("ids %d and %d, %v", a, b, err)
	}
	if err := s.Close(); err == nil || !strings.Contains(err.Error(), "zoo.ids") {
		t.Errorf("Close, with ids that could not be kept: %v", err)
	}
}

// herd numbers animals by the length of their names.
type herd struct{}

func (herd) ID(name string) (int32, error) { return int32(len(name)), nil }

// TestIDsOfTheAgent: a domain may have its ids from elsewhere, and then keeps none itself.
func TestIDsOfTheAgent(t *testing.T) {
	dir := t.TempDir()
	z := newZoo()
	z.beasts.Keep, z.beasts.IDs = true, herd{}
	for _, name := range []string{"a", "bbb"} { // before it is open
		if _, err := z.beasts.Add(name, &beast{}); err != nil {
			t.Fatal(err)
		}
	}
	z.agent.Start = func(*pmda.Server) error {
		_, err := z.beasts.Add("cc", &beast{})
		return err
	}
	c := pmdatest.StartOptions(t, z.agent, pmda.Options{StateDir: dir})
	got := make(map[string]int32)
	for _, i := range c.Instances(beastDom) {
		got[i.Name] = i.ID
	}
	if want := map[string]int32{"a": 1, "bbb": 3, "cc": 2}; !maps.Equal(got, want) {
		t.Errorf("ids %v, want %v", got, want)
	}
	if list, err := os.ReadDir(dir); err != nil || len(list) > 0 {
		t.Errorf("files %v %v", list, err)
	}
}
