package agent

import (
	"errors"
	"fmt"
	"log"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/pcp-rtime/rtime/internal/ddsseg/layout"
	"github.com/pcp-rtime/rtime/internal/ddsseg/reader/readertest"
	"github.com/pcp-rtime/rtime/pcp"
	"github.com/pcp-rtime/rtime/pmda"
	"github.com/pcp-rtime/rtime/pmda/pmdatest"
	"github.com/pcp-rtime/rtime/pmdas/dds/internal/account"
)

// lab is an agent with its directory, and a clock that only the test moves.
type lab struct {
	*pmdatest.Conn
	t     *testing.T
	a     *Agent
	dir   string
	state string
	srv   *pmda.Server
	ahead time.Duration

	stopped chan struct{} // closed when the agent has ended

	mu  sync.Mutex
	log strings.Builder
}

// newLab makes a directory for segments and starts an agent.
func newLab(t *testing.T, mend ...func(*Agent)) *lab {
	t.Helper()
	l := &lab{t: t, dir: filepath.Join(t.TempDir(), "dds"), state: t.TempDir()}
	l.start(mend...)
	return l
}

// start starts an agent.
func (l *lab) start(mend ...func(*Agent)) {
	l.t.Helper()
	a := newAgent()
	a.Dir.Path, a.ConfigFile, a.Mute = l.dir, "", true
	now := time.Now()
	a.now = func() time.Time { return now.Add(l.ahead) }
	a.Every = time.Hour // the tests call second instead
	a.budget = 0
	for _, f := range mend {
		f(a)
	}
	l.a = a
	d := a.declare()
	started := d.Start
	d.Start = func(s *pmda.Server) error { l.srv = s; return started(s) }
	stop, stopped := d.Stop, make(chan struct{})
	d.Stop = func() { stop(); close(stopped) }
	l.stopped = stopped
	l.Conn = pmdatest.StartOptions(l.t, d, pmda.Options{StateDir: l.state, Log: log.New(logWriter{l}, "", 0)})
}

// end ends the agent and waits until its files are closed.
func (l *lab) end() {
	l.t.Helper()
	l.Close()
	<-l.stopped
	locks, err := filepath.Glob(filepath.Join(l.state, "*.lock"))
	if err != nil || len(locks) == 0 {
		l.t.Fatal("no files of numbers: ", err)
	}
	for _, path := range locks {
		f, err := os.Open(path)
		if err != nil {
			l.t.Fatal(err)
		}
		err = unix.Flock(int(f.Fd()), unix.LOCK_EX) // waits
		f.Close()
		if err != nil {
			l.t.Fatal(err)
		}
	}
}

// patient repeats f while the agent answers "try again", as clients do: on a busy
// machine new numbers may have to wait for the disk.
func patient(f func() error) {
	for end := time.Now().Add(time.Minute); errors.Is(f(), pcp.ErrAgain) && time.Now().Before(end); {
		time.Sleep(10 * time.Millisecond)
	}
}

// Values returns a metric's values, and Desc its description, once the agent has them.
func (l *lab) Values(metric string) (values map[string]pcp.Value, err error) {
	patient(func() error { values, err = l.Conn.Values(metric); return err })
	return values, err
}

func (l *lab) Desc(metric string) (d pcp.Desc, err error) {
	patient(func() error { d, err = l.Conn.Desc(metric); return err })
	return d, err
}

type logWriter struct{ l *lab }

func (w logWriter) Write(b []byte) (int, error) {
	w.l.t.Logf("log: %s", b)
	w.l.mu.Lock()
	defer w.l.mu.Unlock()
	w.l.log.Write(b)
	return len(b), nil
}

// logged returns how often the log holds a text.
func (l *lab) logged(text string) int {
	l.mu.Lock()
	defer l.mu.Unlock()
	return strings.Count(l.log.String(), text)
}

// second makes the agent do what it does once a second, and waits for it.
func (l *lab) second() {
	l.t.Helper()
	done := make(chan struct{})
	l.srv.Do(func() { l.a.Round(); close(done) })
	<-done
}

// do calls f in the agent's serving goroutine, and waits for it.
func (l *lab) do(f func()) {
	done := make(chan struct{})
	l.srv.Do(func() { f(); close(done) })
	<-done
}

// stat is a statistic of 8 bytes.
func stat(name string, index uint32, mend ...func(*readertest.Stat)) readertest.Stat {
	s := readertest.Stat{Name: name, Descr: "about " + name, Type: layout.ULong, Offset: index * 8, Size: 8, ASN: index + 1, Max: 100}
	for _, f := range mend {
		f(&s)
	}
	return s
}

// supl is the guide's program, with Bingo's template.
func supl(t testing.TB) *readertest.Segment {
	t.Helper()
	return readertest.New(t, "SpmiSupl", 0,
		readertest.Context{Path: "DDS/IBM", Descr: "IBM-defined Dynamic Data-Suppliers", ASN: 2},
		readertest.Context{Path: "DDS/IBM/Test", Descr: "Bogus Context Number 1", ASN: 220, Stats: []readertest.Stat{stat("gadgets", 0), stat("widgets", 1)}},
		readertest.Context{Path: "DDS/IBM/Moretest", Descr: "Bogus Context Number 2", ASN: 221},
		readertest.Context{Path: "DDS/IBM/Moretest/SubTest", Descr: "Bogus Context Number 3", ASN: 222,
			Stats: []readertest.Stat{stat("level", 0, quantity), stat("queue", 1, quantity)}},
		readertest.Context{Path: "DDS/IBM/Moretest/INST1", Template: true, Stats: []readertest.Stat{stat("problems", 0), stat("solutions", 1)}})
}

func quantity(s *readertest.Stat) { s.Quantity = true }

const bingo = 4 // index of the template

// is compares a metric's values with want: instances and values "a=1 b=2", or "=1".
func (l *lab) is(metric, want string) {
	l.t.Helper()
	values, err := l.Values(metric)
	got := ""
	if err != nil {
		got = err.Error()
	} else {
		for _, inst := range slices.Sorted(maps.Keys(values)) {
			got += fmt.Sprintf(" %s=%v", inst, values[inst])
		}
		got = strings.TrimPrefix(got, " ")
	}
	if got != want {
		l.t.Errorf("%s: %q, want %q", metric, got, want)
	}
}

func (l *lab) names(want ...string) {
	l.t.Helper()
	got := l.Names("dds")
	slices.Sort(got)
	slices.Sort(want)
	if !slices.Equal(got, want) {
		l.t.Errorf("names %v, want %v", got, want)
	}
}

var suplNames = []string{"dds.IBM.Moretest.SubTest.level", "dds.IBM.Moretest.SubTest.queue", "dds.IBM.Test.gadgets", "dds.IBM.Test.widgets"}

// TestGuide: the worked example of the SPMI's guide, with permanent statistics and
// with Bingo, which comes and goes.
func TestGuide(t *testing.T) {
	l := newLab(t)
	l.names()
	s := supl(t)
	for i, v := range map[int][2]uint64{1: {22, 42}, 3: {28, 62}} {
		s.Put64(s.Data[i], v[0])
		s.Put64(s.Data[i]+8, v[1])
	}
	s.Publish(l.dir, -1)
	l.is("dds.IBM.Test.gadgets", "=22")
	l.is("dds.IBM.Test.widgets", "=42")
	l.is("dds.IBM.Moretest.SubTest.level", "=28")
	l.is("dds.IBM.Moretest.SubTest.queue", "=62")
	l.names(suplNames...)
	s.Put64(s.Data[1], 23)
	l.is("dds.IBM.Test.gadgets", "=23")

	data := s.Add(0, bingo, "DDS/IBM/Moretest/Bingo", "Dynamically added")
	s.Put64(data, 7)
	l.is("dds.IBM.Moretest.problems", "Bingo=7")
	if l.State&pcp.StateNames == 0 {
		t.Error("clients are not told of the new names")
	}
	l.is("dds.IBM.Moretest.solutions", "Bingo=0")
	s.Delete(0)
	l.is("dds.IBM.Moretest.problems", "")
	l.names(append([]string{"dds.IBM.Moretest.problems", "dds.IBM.Moretest.solutions"}, suplNames...)...)
	s.Add(1, bingo, "DDS/IBM/Moretest/Bingo", "Dynamically added")
	l.is("dds.IBM.Moretest.problems", "Bingo=0")

	d, err := l.Desc("dds.IBM.Test.gadgets")
	if err != nil || d.Type != pcp.TypeU64 || d.Sem != pcp.SemCounter || d.InDom != pcp.InDomNull {
		t.Errorf("%+v %v", d, err)
	}
	if d, err := l.Desc("dds.IBM.Moretest.SubTest.level"); err != nil || d.Sem != pcp.SemInstant {
		t.Errorf("%+v %v", d, err)
	}
	one, long := l.Text("dds.IBM.Test.gadgets")
	if one != "about gadgets" || !strings.Contains(long, "Path DDS/IBM/Test/gadgets, ASN.1 number 1, scale from 0 to 100.") ||
		!strings.Contains(long, "Bogus Context Number 1") {
		t.Errorf("%q %q", one, long)
	}
	l.is("rtime.dds.supplier.state", title(t)+"=ready")
	l.is("rtime.dds.supplier.contexts", title(t)+"=3")
	l.is("rtime.dds.supplier.statistics", title(t)+"=6")
	l.is("rtime.dds.agent.suppliers", "=1")
}

func title(t testing.TB) string { return "SpmiSupl@" + account.NameOf(uint32(os.Getuid())) }

// alikeSet compares two lists; their order does not matter.
func alikeSet(t *testing.T, got, want []string) {
	t.Helper()
	slices.Sort(got)
	slices.Sort(want)
	if !slices.Equal(got, want) {
		t.Errorf("%v, want %v", got, want)
	}
}

// requestFor is a client's fetch of metrics.
func (a *Agent) requestFor(s *pmda.Server, metrics ...string) *pmda.Request {
	r := &pmda.Request{Fetch: true, Client: &pmda.Client{Slot: 99}}
	for _, m := range metrics {
		col := a.tree.used[m]
		r.PMIDs = append(r.PMIDs, s.PMID(col.metric.Cluster, col.metric.Item))
	}
	return r
}
