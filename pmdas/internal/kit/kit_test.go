package kit

import (
	"bytes"
	"errors"
	"flag"
	"io/fs"
	"log"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/pcp-rtime/rtime/pcp"
	"github.com/pcp-rtime/rtime/pmda"
	"github.com/pcp-rtime/rtime/pmda/pmdatest"
	"github.com/pcp-rtime/rtime/pmdas/internal/kit/keyword"
)

// settings are the configuration of the agent of these tests.
type settings struct {
	Size  float64
	Count int
}

// disk is an agent that has all that the kit offers.
type disk struct {
	Base
	conf  settings
	looks uint64
	log   journal
	given map[string]bool
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

func newDisk() *disk {
	d := &disk{conf: settings{Size: 1, Count: 2}}
	d.Base = Base{Name: "kittest", Load: d.load, Second: func() { d.looks++ }, Every: time.Millisecond, Mute: true,
		DirUse: "the disks"}
	d.Numbers = []Number{
		Counter(0, "looks", "rounds", "", func() uint64 { return d.looks }),
		Gauge(1, "bytes", "size of everything", "", func() uint64 { return 4096 }).In(pcp.Bytes),
	}
	return d
}

func (d *disk) load(path string) error {
	c := d.conf
	_, err := keyword.Load(path, map[string]keyword.Keyword{
		"size": keyword.Number(&c.Size, 0, 10), "count": keyword.Whole(&c.Count, 0, 10)})
	if err == nil {
		d.conf = c
	}
	return err
}

func (d *disk) declare() *pmda.Agent {
	metrics := NumberMetrics("kittest.agent.", 1, d.Numbers)
	metrics = append(metrics, Control[settings]{Prefix: "kittest.control.", Cluster: 2, Who: "Root may store.", May: MayStore,
		Current: func() settings { return d.conf }, Change: func(c settings) { d.conf = c },
		Logf: func(format string, args ...any) { d.Log.Printf(format, args...) },
	}.Metrics(
		Setting[settings]{Item: 0, Name: "size", Units: pcp.Bytes, Least: 0, Most: 10, OneLine: "size", Help: "Help.",
			Get: func(s *settings) float64 { return s.Size }, Set: func(s *settings, v float64) { s.Size = v }},
		Setting[settings]{Item: 1, Name: "count", Units: pcp.Count, Least: 0, Most: 10, Whole: true, OneLine: "count",
			Get: func(s *settings) float64 { return float64(s.Count) }, Set: func(s *settings, v float64) { s.Count = int(v) }},
	)...)
	return &pmda.Agent{Name: "kittest", Domain: 505, Metrics: metrics,
		Flags: d.Flags, Setup: d.Setup, Start: d.Start, Reload: d.Reload, Stop: d.Stop}
}

// options has the agent take its options, as Main does.
func (d *disk) options(t *testing.T, args ...string) {
	t.Helper()
	f := flag.NewFlagSet("kittest", flag.ContinueOnError)
	d.Flags(f)
	if err := f.Parse(args); err != nil {
		t.Fatal(err)
	}
	d.given = make(map[string]bool)
	f.Visit(func(o *flag.Flag) { d.given[o.Name] = true })
}

func (d *disk) setup() error {
	return d.Setup(&pmda.Options{Log: log.New(&d.log, "", 0), Given: d.given})
}

func write(t *testing.T, path, text string) {
	t.Helper()
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
}

// TestConfig: which files are an error at the start, and which on SIGHUP.
func TestConfig(t *testing.T) {
	dir := t.TempDir()
	t.Setenv("PCP_SYSCONF_DIR", dir)
	standard, good, bad := filepath.Join(dir, "kittest", "kittest.conf"), filepath.Join(dir, "good"), filepath.Join(dir, "bad")
	write(t, good, "size 5\n")
	write(t, bad, "size 50\ncount 3\n")
	defaults := settings{Size: 1, Count: 2}
	for _, c := range []struct {
		what   string
		args   []string
		start  string // part of the error, "" for none
		logged string
		reload string
		want   settings
	}{
		{"the default file is missing", nil, "", "", "", defaults},
		{"none", []string{"--config", ""}, "", "", "", defaults},
		{"a good one", []string{"--config", good}, "", "", "", settings{Size: 5, Count: 2}},
		{"one with a mistake", []string{"--config", bad}, "", bad + ":1: size: 50 is not between 0 and 10\n", bad + ":1: ", defaults},
		{"one that is missing", []string{"--config", good + "x"}, "--config: open " + good + "x: no such file", "", good + "x", defaults},
		{"the default file, named and missing", []string{"--config=" + standard}, "--config: open " + standard, "", standard, defaults},
		{"a folder", []string{"--config", dir}, "--config: read " + dir + ": is a directory", "", dir, defaults},
	} {
		d := newDisk()
		d.options(t, c.args...)
		d.ConfigFile = strings.TrimSuffix(d.ConfigFile, "/")
		for _, x := range []struct {
			when string
			err  error
			want string
		}{{"start", d.setup(), c.start}, {"reload", d.Reload(), c.reload}} {
			if (x.err == nil) != (x.want == "") || x.err != nil && !strings.Contains(x.err.Error(), x.want) {
				t.Errorf("%s, %s: %v, want %q", c.what, x.when, x.err, x.want)
			}
		}
		if d.log.String() != c.logged || d.conf != c.want {
			t.Errorf("%s: log %q, %+v; want %q, %+v", c.what, d.log.String(), d.conf, c.logged, c.want)
		}
	}
}

// TestReload: what the file does not give keeps its value, what was stored too.
func TestReload(t *testing.T) {
	d := newDisk()
	d.ConfigFile = filepath.Join(t.TempDir(), "conf")
	write(t, d.ConfigFile, "size 5\n")
	if err := d.setup(); err != nil {
		t.Fatal(err)
	}
	d.conf.Count = 7
	for _, c := range []struct {
		text string
		bad  bool
		want settings
	}{{"size 6\n", false, settings{6, 7}}, {"", false, settings{6, 7}}, {"count 1\nsize x\n", true, settings{6, 7}}, {"count 1\n", false, settings{6, 1}}} {
		write(t, d.ConfigFile, c.text)
		if err := d.Reload(); (err != nil) != c.bad || d.conf != c.want {
			t.Errorf("%q: %v, %+v, want %+v", c.text, err, d.conf, c.want)
		}
	}
	if err := os.Remove(d.ConfigFile); err != nil {
		t.Fatal(err)
	}
	if err := d.Reload(); err != nil || d.conf != (settings{6, 1}) {
		t.Errorf("without the file: %v, %+v", err, d.conf)
	}
}

func TestMakeDir(t *testing.T) {
	top := t.TempDir()
	d := newDisk()
	d.options(t, "--config", "", "--dir", filepath.Join(top, "no", "such"))
	d.Dir.Mode = 0o755
	if err := d.setup(); err != nil {
		t.Fatal(err)
	}
	if err := d.MakeDir(); !errors.Is(err, fs.ErrNotExist) || !strings.Contains(err.Error(), filepath.Join(top, "no")) {
		t.Errorf("%v", err)
	}
	if list, err := os.ReadDir(top); err != nil || len(list) != 0 {
		t.Errorf("made %v, %v", list, err)
	}
	d.Dir.Path = filepath.Join(top, "d")
	if err := d.MakeDir(); err != nil {
		t.Error(err)
	}
}

// TestServe: numbers, settings and rounds of an agent that is served.
func TestServe(t *testing.T) {
	d := newDisk()
	c := pmdatest.StartOptions(t, d.declare(), pmda.Options{Log: log.New(&d.log, "", 0)})
	for end := time.Now().Add(30 * time.Second); ; {
		if v, err := c.Value("kittest.agent.looks", ""); err != nil || time.Now().After(end) {
			t.Fatalf("looks: %v, %v", v, err)
		} else if n, _ := v.Uint64(); n > 2 {
			break
		}
	}
	if desc, err := c.Desc("kittest.agent.bytes"); err != nil || desc.Units != pcp.Bytes || desc.Sem != pcp.SemInstant {
		t.Errorf("%+v, %v", desc, err)
	}
	if desc, err := c.Desc("kittest.agent.looks"); err != nil || desc.Units != pcp.Count || desc.Sem != pcp.SemCounter {
		t.Errorf("%+v, %v", desc, err)
	}
	if _, text := c.Text("kittest.control.size"); text != "Help.\nFrom 0 to 10.\nRoot may store." {
		t.Errorf("%q", text)
	}
	c.Client(0, 0, 0, 1)
	for _, x := range []struct {
		name  string
		value float64
		want  error
		has   string
	}{
		{"size", 2.5, nil, "2.5"}, {"size", 10.5, pcp.ErrBadStore, "2.5"}, {"size", math.NaN(), pcp.ErrBadStore, "2.5"},
		{"count", 3, nil, "3"}, {"count", 3.5, pcp.ErrBadStore, "3"}, {"count", -1, pcp.ErrBadStore, "3"},
	} {
		name := "kittest.control." + x.name
		if err := c.Store(name, "", pcp.Num(x.value)); !errors.Is(err, x.want) || (x.want == nil) != (err == nil) {
			t.Errorf("%v into %s: %v, want %v", x.value, name, err, x.want)
		}
		if v, err := c.Value(name, ""); err != nil || v.String() != x.has {
			t.Errorf("%s = %v, %v, want %s", name, v, err, x.has)
		}
	}
	if !strings.Contains(d.log.String(), "size set to 2.5 by uid 0\n") {
		t.Errorf("log: %s", d.log.String())
	}
	c.Slot = 1 // of whom pmcd has said nothing
	for _, uid := range []int{-1, 12345} {
		if uid >= 0 {
			c.Client(1, uid, uid, 1)
		}
		if err := c.Store("kittest.control.size", "", pcp.Num(1.0)); !errors.Is(err, pcp.ErrPermission) {
			t.Errorf("uid %d: %v", uid, err)
		}
	}
}

// TestRelabel: clients are told of new labels, and not with each round.
func TestRelabel(t *testing.T) {
	d := newDisk()
	now := time.Now()
	d.Every, d.Now = time.Hour, func() time.Time { return now }
	pmdatest.StartOptions(t, d.declare(), pmda.Options{Log: log.New(&d.log, "", 0)})
	waits := make(chan bool, 3)
	d.Server.Do(func() {
		for _, later := range []time.Duration{0, labelEvery - 1, labelEvery} {
			d.Relabel, now = true, now.Add(later)
			d.Round()
			waits <- d.Relabel
		}
	})
	for i, want := range []bool{false, true, false} {
		if got := <-waits; got != want {
			t.Errorf("round %d: the news waits: %v, want %v", i, got, want)
		}
	}
}

func TestAdministrators(t *testing.T) {
	uids := Administrators()
	if !slices.Contains(uids, 0) {
		t.Errorf("%v", uids)
	}
	if uid, _, err := pmda.PCPUser(); err == nil && !slices.Contains(uids, uid) {
		t.Errorf("%v lacks %d", uids, uid)
	}
}
