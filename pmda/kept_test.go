package pmda_test

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/pcp-rtime/rtime/pcp"
	"github.com/pcp-rtime/rtime/pmda"
	"github.com/pcp-rtime/rtime/pmda/pmdatest"
	"github.com/pcp-rtime/rtime/test/pcptest"
)

// keepingZoo is a zoo that keeps its beasts' ids and, for each new one, a metric with a
// number that is kept and a note.
func keepingZoo(t *testing.T) *zoo {
	z := newZoo()
	z.beasts.Keep = true
	start := z.agent.Start
	var items pmda.KeptNumbers
	z.agent.Start = func(s *pmda.Server) (err error) {
		if items, err = s.OpenIDs("items", 1<<10); err != nil {
			return err
		}
		return start(s)
	}
	z.beasts.Lookup = func(_ *pmda.Client, name string) error {
		n, err := items.ID(name)
		if err == nil {
			err = z.server.Keep("note of "+name, []byte("a "+name))
		}
		if err == nil {
			_, err = z.beasts.Add(name, &beast{"new", float64(n), 1})
		}
		if err != nil {
			return err
		}
		return z.server.Add(pmda.Metric{Name: "zoo2." + name, Cluster: 4, Item: int(n), Sem: pcp.SemInstant, OneLine: "new",
			Get: pmda.Value(func() (int32, error) { return n, nil })})
	}
	return z
}

// told checks that the numbers which a client was told are in the file, however the agent
// ends.
func told(t *testing.T, path, name string, inst int32, item int) {
	t.Helper()
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	for _, line := range []string{fmt.Sprintf(" i 7 %d %s\n", inst, name), fmt.Sprintf(" i items %d %s\n", item, name),
		fmt.Sprintf(" v %d note of %s a %s\n", len("note of "+name), name, name)} {
		if !strings.Contains(string(text), line) {
			t.Fatalf("%s was told, and %q is not in the file:\n%s", name, line, text)
		}
	}
}

// TestToldIsInTheFile: each kind of answer that tells a new number waits until it is there.
func TestToldIsInTheFile(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "zoo.ids")
	z := keepingZoo(t)
	c := pmdatest.StartOptions(t, z.agent, pmda.Options{StateDir: dir})
	for i := range 60 {
		name := fmt.Sprintf("new%03d", i)
		if i%3 > 0 { // it comes by itself
			done := make(chan error)
			z.server.Do(func() { done <- z.beasts.Lookup(nil, name) })
			if err := <-done; err != nil {
				t.Fatal(err)
			}
		}
		switch i % 3 {
		case 0:
			var inst int32
			pcptest.Eventually(t, name, func() (err error) {
				inst, err = c.Lookup(beastDom, name)
				return err
			})
			told(t, path, name, inst, i)
		case 1:
			var id pcp.PMID
			pcptest.Eventually(t, name, func() (err error) {
				id, err = c.PMID("zoo2." + name)
				return err
			})
			if id.Item() != i {
				t.Fatal(id)
			}
			told(t, path, name, int32(i+2), i)
		case 2:
			set := c.Fetch(zooID(itemWeight))[0]
			told(t, path, name, set.Values[len(set.Values)-1].Inst, i)
		}
	}
	// Kept is what was kept.
	var got []string
	done := make(chan error)
	z.server.Do(func() {
		done <- z.server.Kept(func(key string, value []byte) { got = append(got, key+"="+string(value)) })
	})
	if err := <-done; err != nil || len(got) != 60 || !slices.Contains(got, "note of new007=a new007") {
		t.Errorf("kept are %q, %v", got, err)
	}
}

// hanging holds up what works on the disk, until it is released.
type hanging struct {
	mu      sync.Mutex
	what    string
	reached chan struct{}
	release chan struct{}
}

func (h *hanging) step(what string) {
	h.mu.Lock()
	hang := h.what == what
	release := h.release
	h.mu.Unlock()
	if hang {
		select {
		case h.reached <- struct{}{}:
		default:
		}
		<-release
	}
}

// from holds up every step of this kind; letGo ends that.
func (h *hanging) from(what string) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.what, h.reached, h.release = what, make(chan struct{}, 1), make(chan struct{})
}

func (h *hanging) letGo() {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.what != "" {
		close(h.release)
		h.what = ""
	}
}

// TestNobodyWaitsForFsync: while an fsync does not return, requests are answered, including
// those that make new numbers, and what the answers tell is in the file.
func TestNobodyWaitsForFsync(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "zoo.ids")
	z := keepingZoo(t)
	var disk hanging
	c := pmdatest.StartOptions(t, z.agent, pmda.Stepping(pmda.Options{StateDir: dir}, disk.step))
	c.Fetch(zooID(itemWeight))
	disk.from("fsync")
	t.Cleanup(disk.letGo) // before the agent is ended
	for i := range 10 {   // within what is reserved
		name := fmt.Sprintf("new%03d", i)
		inst, err := c.Lookup(beastDom, name)
		if err != nil {
			t.Fatal(err)
		}
		told(t, path, name, inst, i)
	}
	<-disk.reached
	for range 100 {
		if set := c.Fetch(zooID(itemWeight))[0]; len(set.Values) != 12 {
			t.Fatalf("%d values", len(set.Values))
		}
	}
	disk.letGo()
}

// TestStartWithoutDisk: an agent that starts on its file of numbers while an fsync does not
// return greets, and answers with what is known from before.
func TestStartWithoutDisk(t *testing.T) {
	dir := t.TempDir()
	var inst int32
	t.Run("before", func(t *testing.T) {
		c := pmdatest.StartOptions(t, keepingZoo(t).agent, pmda.Options{StateDir: dir})
		var err error
		if inst, err = c.Lookup(beastDom, "new000"); err != nil {
			t.Fatal(err)
		}
	})
	var disk hanging
	disk.from("fsync")
	t.Cleanup(disk.letGo)
	c := pmdatest.StartOptions(t, keepingZoo(t).agent, pmda.Stepping(pmda.Options{StateDir: dir}, disk.step))
	t.Cleanup(disk.letGo) // before the agent is ended
	if set := c.Fetch(zooID(itemWeight))[0]; len(set.Values) != 2 {
		t.Errorf("%d values", len(set.Values))
	}
	if got, err := c.Lookup(beastDom, "new000"); err != nil || got != inst {
		t.Errorf("new000 is %d, %v; it was %d", got, err, inst)
	}
	<-disk.reached
}

// TestWriteHangs: while a write does not return, clients are told to try again, because
// what an answer would tell is not in the file. They get the answer afterwards. If the
// write takes too long, it counts as failed.
func TestWriteHangs(t *testing.T) {
	for _, long := range []bool{false, true} {
		dir := t.TempDir()
		path := filepath.Join(dir, "zoo.ids")
		z := keepingZoo(t)
		var disk hanging
		c := pmdatest.StartOptions(t, z.agent, pmda.Stepping(pmda.Options{StateDir: dir}, disk.step))
		if _, err := c.Lookup(beastDom, "new000"); err != nil {
			t.Fatal(err)
		}
		disk.from("write")
		t.Cleanup(disk.letGo)
		for range 10 {
			if _, err := c.Lookup(beastDom, "new001"); !errors.Is(err, pcp.ErrAgain) {
				t.Fatalf("new001: %v", err)
			}
			if text, err := os.ReadFile(path); err != nil || strings.Contains(string(text), "new001") {
				t.Fatalf("the write does not hang: %v\n%s", err, text)
			}
		}
		if !long {
			disk.letGo()
		}
		var inst int32
		pcptest.Eventually(t, "an answer", func() (err error) {
			inst, err = c.Lookup(beastDom, "new001")
			return err
		})
		if long {
			if set := c.Fetch(zooID(itemWeight))[0]; len(set.Values) != 4 {
				t.Errorf("%d values", len(set.Values))
			}
			disk.letGo()
			pcptest.Eventually(t, "the record", func() error {
				if text, err := os.ReadFile(path); err != nil || !strings.Contains(string(text), "new001") {
					return fmt.Errorf("%s", text)
				}
				return nil
			})
		}
		told(t, path, "new001", inst, 1)
	}
}
