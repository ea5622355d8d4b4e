package agent

import (
	"bytes"
	"context"
	"log"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/pcp-rtime/rtime/pcp"
	"github.com/pcp-rtime/rtime/pmda"
	"github.com/pcp-rtime/rtime/pmda/pmdatest"
	"github.com/pcp-rtime/rtime/pmdas/arm/internal/collect"
)

// fake is a collector that finds what a test tells it to.
type fake struct {
	options collect.Options

	mu     sync.Mutex
	snap   collect.Snapshot // the latest is a copy of it
	conf   collect.Config
	traced []string
	latest *collect.Snapshot
}

func (f *fake) Run(ctx context.Context) error {
	looked := *f.Snapshot()
	looked.Health.Cycles++
	f.options.OnSnapshot(&looked)
	<-ctx.Done()
	return nil
}

func (f *fake) Snapshot() *collect.Snapshot {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.latest
}

func (f *fake) Configure(c collect.Config) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.conf = c
}

func (f *fake) Trace(name string, on bool) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.traced = slices.DeleteFunc(f.traced, func(n string) bool { return n == name })
	if on {
		f.traced = append(f.traced, name)
	}
}

// find makes the next snapshot, which is the last one as changed by change.
func (f *fake) find(change func(*collect.Snapshot)) {
	f.mu.Lock()
	defer f.mu.Unlock()
	s := f.snap
	s.Trans, s.Apps, s.Metrics, s.Pairs = slices.Clone(s.Trans), slices.Clone(s.Apps), slices.Clone(s.Metrics), slices.Clone(s.Pairs)
	change(&s)
	s.Seq++
	if rows := len(s.Trans) + len(s.Apps) + len(s.Metrics) + len(s.Pairs); rows != len(f.snap.Trans)+len(f.snap.Apps)+len(f.snap.Metrics)+len(f.snap.Pairs) {
		s.Rows++
	}
	f.snap, f.latest = s, &s
}

// put adds a transaction, or replaces one that is there.
func put(s *collect.Snapshot, place int, r collect.Row) {
	if place == len(s.Trans) {
		s.Trans = append(s.Trans, nil)
	}
	s.Trans[place] = &r.Tran
	s.Blocks = slices.Clone(s.Blocks)
	k, b := place/collect.BlockLen, collect.Block{}
	if k == len(s.Blocks) {
		s.Blocks = append(s.Blocks, nil)
	} else {
		b = *s.Blocks[k]
	}
	b.Set(place%collect.BlockLen, &r.Numbers)
	b.Seq = s.Seq + 1 // the number of the snapshot that is being made
	s.Blocks[k] = &b
}

// journal is a log that a test can read.
type journal struct {
	mu sync.Mutex
	b  bytes.Buffer
}

func (j *journal) Write(b []byte) (int, error) {
	j.mu.Lock()
	defer j.mu.Unlock()
	return j.b.Write(b)
}

func (j *journal) String() string {
	j.mu.Lock()
	defer j.mu.Unlock()
	return j.b.String()
}

// rig is the agent, served to the test, and its collector.
type rig struct {
	t     *testing.T
	agent *Agent
	fake  *fake
	conn  *pmdatest.Conn
	log   *journal
	file  string // of the configuration
}

// newRig serves an agent with a configuration. If config is empty, there is no file.
func newRig(t *testing.T, config string) *rig {
	t.Helper()
	r := &rig{t: t, agent: newAgent(), fake: new(fake), log: new(journal)}
	r.fake.latest = &r.fake.snap
	r.file = filepath.Join(t.TempDir(), "rtarm.conf")
	if config != "" {
		r.configure(config)
	}
	a := r.agent
	a.ConfigFile, a.Dir.Path, a.Mute = r.file, filepath.Join(t.TempDir(), "arm"), true
	a.open = func(c collect.Config, o collect.Options) (collector, error) {
		r.fake.conf, r.fake.options = c, o
		return r.fake, nil
	}
	r.conn = pmdatest.StartOptions(t, a.declare(), pmda.Options{Log: log.New(r.log, "", 0), StateDir: t.TempDir()})
	r.conn.Client(0, 0, 0, 1)
	return r
}

func (r *rig) configure(text string) {
	r.t.Helper()
	if err := os.WriteFile(r.file, []byte(text), 0o600); err != nil {
		r.t.Fatal(err)
	}
}

// serve runs f in the agent's goroutine, where its fields may be looked at.
func (r *rig) serve(f func()) {
	done := make(chan struct{})
	r.agent.Server.Do(func() { f(); close(done) })
	<-done
}

// is checks the value of an instance as text. inst is "" for a metric with one value, and
// want is "-" for no value.
func (r *rig) is(metric, inst, want string) {
	r.t.Helper()
	all, err := r.conn.Values("rtime.arm." + metric)
	if err != nil {
		r.t.Errorf("rtime.arm.%s: %v", metric, err)
		return
	}
	got := "-"
	if v, ok := all[inst]; ok {
		got = v.String()
	}
	if got != want {
		r.t.Errorf("rtime.arm.%s[%q] = %s, want %s", metric, inst, got, want)
	}
}

// until waits for a condition.
func (r *rig) until(what string, ok func() bool) {
	r.t.Helper()
	for end := time.Now().Add(30 * time.Second); !ok(); time.Sleep(5 * time.Millisecond) {
		if time.Now().After(end) {
			r.t.Fatalf("waited in vain for %s", what)
		}
	}
}

// instances returns the ids of the instances of a domain by their names.
func (r *rig) instances(d pcp.InDom) map[string]int32 {
	ids := make(map[string]int32)
	for _, i := range r.conn.Instances(d) {
		ids[i.Name] = i.ID
	}
	return ids
}
