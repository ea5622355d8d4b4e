//go:build linux

package spmi_test

import (
	"errors"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/pcp-rtime/rtime/internal/ddsseg/layout"
	segreader "github.com/pcp-rtime/rtime/internal/ddsseg/reader"
	"github.com/pcp-rtime/rtime/spmi"
)

// await waits for a condition, longer than any machine should need.
func await(t *testing.T, what string, is func() bool) {
	t.Helper()
	for end := time.Now().Add(30 * time.Second); !is(); time.Sleep(time.Millisecond) {
		if time.Now().After(end) {
			t.Fatalf("waited 30 s: %s", what)
		}
	}
}

// appear makes the segment directory in one step.
func appear(t *testing.T, dir string) {
	t.Helper()
	made := filepath.Join(filepath.Dir(dir), "made")
	must(t, os.Mkdir(made, 0o755))
	prepare(t, made)
	must(t, os.Rename(made, dir))
}

// TestPublishedLate: a supplier that was opened before there was a directory publishes
// itself when there is one. It loses nothing of what goroutines add in the meantime, and
// readers see each update whole.
func TestPublishedLate(t *testing.T) {
	dir := filepath.Join(segments(t), "later")
	var pair struct{ A, B spmi.Counter }
	v := &bingo{}
	c := &spmi.Context{Path: "DDS/V/pair", Values: &pair}
	s, err := spmi.Open(spmi.Options{Dir: dir, Volatile: []*spmi.Context{{Path: "DDS/V/X", Values: v}}}, c)
	must(t, err)
	defer s.Close()
	vol := &spmi.Context{Path: "DDS/V/Bingo", Values: v}
	must(t, s.Add(vol))
	if !errors.Is(s.Err(), spmi.ErrNoShmPtr) {
		t.Fatalf("Err: %v", s.Err())
	}
	var wg sync.WaitGroup
	stop := make(chan struct{})
	var added [4]uint64
	for i := range added {
		wg.Go(func() {
			for {
				select {
				case <-stop:
					return
				default:
				}
				c.Update(func() { pair.A.Inc(); pair.B.Inc() })
				v.Problems.Inc()
				added[i]++
				runtime.Gosched()
			}
		})
	}
	await(t, "something is added", func() bool { return pair.A.Value() > 0 && v.Problems.Value() > 0 })
	appear(t, dir)
	await(t, "the supplier publishes itself", func() bool { return s.Err() == nil })
	r, w := reader(t, dir), watch{}
	w.scan(t, r)
	fixed, bingos := find(t, r.Contexts(), "DDS/V/pair"), w.find(t, "DDS/V/Bingo")
	out := make([]uint64, 2)
	for reads := 0; reads < 300; {
		if collect(t, r, fixed, out) {
			reads++
			if out[0] != out[1] || out[0] == 0 {
				t.Fatalf("half an update, or none: %d", out)
			}
		}
	}
	close(stop)
	wg.Wait()
	sum := added[0] + added[1] + added[2] + added[3]
	if got := values(t, r, fixed); !slices.Equal(got, []uint64{sum, sum}) {
		t.Errorf("after updates: %d, want %d", got, sum)
	}
	await(t, "the volatile context's values come", func() bool { return values(t, r, bingos)[0] == sum })
	must(t, s.Remove(vol))
	must(t, s.Add(vol)) // published directly now
	v.Problems.Add(9)
	w.scan(t, r)
	if got := values(t, r, w.find(t, "DDS/V/Bingo")); got[0] != 9 {
		t.Errorf("added anew: %d", got)
	}
}

// TestRetry: a program with Options.Manual tries again when it likes. Touch and Update copy
// its values.
func TestRetry(t *testing.T) {
	dir := filepath.Join(segments(t), "later")
	n := spmi.Counter{}
	c := context("DDS/V/a", spmi.Stat{Name: "n", To: &n})
	s, err := spmi.Open(spmi.Options{Dir: dir, Manual: true}, c)
	must(t, err)
	n.Add(5)
	if err := s.Retry(); !errors.Is(err, spmi.ErrNoShmPtr) || !errors.Is(s.Err(), spmi.ErrNoShmPtr) {
		t.Errorf("without a directory: %v, %v", err, s.Err())
	}
	appear(t, dir)
	must(t, s.Retry())
	must(t, s.Retry())
	must(t, s.Err())
	r := reader(t, dir)
	is := func(want uint64) {
		t.Helper()
		if got := values(t, r, find(t, r.Contexts(), "DDS/V/a")); got[0] != want {
			t.Errorf("%d, want %d", got[0], want)
		}
	}
	is(5)
	n.Inc()
	s.Touch()
	is(6)
	c.Update(func() { n.Inc() })
	is(7)
	must(t, s.Close())
	if err := s.Retry(); !errors.Is(err, spmi.ErrNotInit) {
		t.Errorf("closed: %v", err)
	}
	n.Inc()
	if n.Value() != 8 || len(files(t, dir)) != 0 {
		t.Errorf("closed: %d, %v", n.Value(), files(t, dir))
	}
}

// TestLateRefused: some checks are not possible without a directory: whether another
// supplier has a path, and whether it has the context above. They are made when the supplier
// is published.
func TestLateRefused(t *testing.T) {
	dir := filepath.Join(segments(t), "later")
	open := func(path string, volatile bool) *spmi.Supplier {
		kind := &spmi.Context{Path: "DDS/V/X", Values: &bingo{}}
		o := spmi.Options{Dir: dir, Manual: true, Volatile: []*spmi.Context{kind}}
		var fixed []*spmi.Context
		if !volatile {
			fixed = []*spmi.Context{context(path, stat("s"))}
		}
		s, err := spmi.Open(o, fixed...)
		must(t, err)
		t.Cleanup(func() { s.Close() })
		if volatile {
			must(t, s.Add(&spmi.Context{Path: path, Values: &bingo{}}))
		}
		return s
	}
	fixed, volatile, below := open("DDS/V/a", false), open("DDS/V/a", true), open("DDS/V/a/b", false)
	appear(t, dir)
	if err := below.Retry(); !errors.Is(err, spmi.ErrInvalidCx) {
		t.Errorf("without the context above: %v", err)
	}
	p, said := supply(t, dir, "DDS/V/a", os.Getuid())
	if said != "<nil>" {
		t.Fatal(said)
	}
	for name, s := range map[string]*spmi.Supplier{"fixed": fixed, "volatile": volatile} {
		if err := s.Retry(); !errors.Is(err, spmi.ErrDuplicate) || !errors.Is(s.Err(), spmi.ErrDuplicate) {
			t.Errorf("%s: another has the path: %v, %v", name, err, s.Err())
		}
	}
	must(t, below.Retry())
	if n := len(files(t, dir)); n != 2 {
		t.Errorf("%d segments, want 2", n)
	}
	p.kill()
	must(t, fixed.Retry())
	if err := volatile.Retry(); !errors.Is(err, spmi.ErrDuplicate) {
		t.Errorf("this process has the path: %v", err)
	}
	must(t, fixed.Close())
	must(t, volatile.Retry())
	if _, said := supply(t, dir, "DDS/V/a", nobody); said == "<nil>" {
		t.Error("a volatile context that was published late was not claimed")
	}
}

// TestStay: after Stay, GoAway is false until the agent tells the supplier again.
func TestStay(t *testing.T) {
	dir := segments(t)
	s := open(t, spmi.Options{Dir: dir, Manual: true}, context("DDS/V/a", stat("s")))
	r := reader(t, dir)
	told := time.Unix(1700000000, 0)
	tell(t, dir, segreader.Notice{GoAway: told})
	await(t, "the supplier is told", s.GoAway)
	before := stamp(t, r)
	time.Sleep(2 * time.Microsecond)
	s.Stay()
	if s.GoAway() {
		t.Error("still told to go")
	}
	if !stamp(t, r).After(before) {
		t.Error("Stay does not count as activity")
	}
	tell(t, dir, segreader.Notice{GoAway: told.Add(time.Second)})
	if !s.GoAway() {
		t.Error("not told anew")
	}
	tell(t, dir, segreader.Notice{})
	if s.GoAway() {
		t.Error("told to go when that was taken back")
	}
}

// TestNotTheAgent: a notice that somebody other than the agent may have written is ignored.
// Nothing that happens to a real notice does harm.
func TestNotTheAgent(t *testing.T) {
	for name, spoil := range map[string]func(folder, file string) error{
		"folder of another user": func(folder, _ string) error { return os.Chown(folder, nobody, -1) },
		"folder for all":         func(folder, _ string) error { return os.Chmod(folder, 0o777) },
		"file of another user":   func(_, file string) error { return os.Chown(file, nobody, -1) },
		"file for all":           func(_, file string) error { return os.Chmod(file, 0o666) },
		"a link":                 func(_, file string) error { return errors.Join(os.Rename(file, file+"x"), os.Symlink(file+"x", file)) },
		"short":                  func(_, file string) error { return os.Truncate(file, 3) },
	} {
		dir := segments(t)
		s := open(t, spmi.Options{Dir: dir, Manual: true}, context("DDS/V/a", stat("s")))
		tell(t, dir, segreader.Notice{GoAway: time.Now(), Values: 1})
		must(t, spoil(filepath.Join(dir, layout.NoticeDir), segreader.NoticePath(dir, filepath.Base(files(t, dir)[0]))))
		if s.GoAway() || s.Subscribed() != 0 {
			t.Errorf("%s: it is believed", name)
		}
	}
	dir := segments(t)
	s := open(t, spmi.Options{Dir: dir, Manual: true}, context("DDS/V/a", stat("s")))
	tell(t, dir, segreader.Notice{GoAway: time.Now()})
	await(t, "the supplier is told", s.GoAway)
	path := segreader.NoticePath(dir, filepath.Base(files(t, dir)[0]))
	must(t, os.Truncate(path, 0))
	if s.GoAway() {
		t.Error("told by what is not there")
	}
	must(t, os.Remove(path)) // made again, as by an agent that has lost its directory
	tell(t, dir, segreader.Notice{Values: 5})
	await(t, "the supplier finds the new one", func() bool { return s.Subscribed() == 5 })
	must(t, s.Close())
	if s.Subscribed() != 0 || s.GoAway() {
		t.Error("told after its end")
	}
}

// TestTimeOut: the segment holds the time-out that a program asks for.
func TestTimeOut(t *testing.T) {
	for give, want := range map[time.Duration]time.Duration{0: 0, 15 * time.Second: 15 * time.Second,
		600*time.Second + 1: 10 * time.Minute, spmi.NoTimeOut: -1} {
		dir := segments(t)
		open(t, spmi.Options{Dir: dir, TimeOut: give}, context("DDS/V/a"))
		if got := reader(t, dir).Info().TimeOut; got != want {
			t.Errorf("%v stands there as %v", give, got)
		}
	}
	for _, give := range []time.Duration{-2, time.Second, 14 * time.Second, 601 * time.Second} {
		if _, err := spmi.Open(spmi.Options{Dir: segments(t), TimeOut: give}); !errors.Is(err, spmi.ErrBadArgument) {
			t.Errorf("%v: %v", give, err)
		}
	}
}

// TestBelowVendor: a vendor's context belongs to nobody. So a volatile context below it
// belongs to the first supplier that adds it.
func TestBelowVendor(t *testing.T) {
	dir := segments(t)
	kinds := []*spmi.Context{{Path: "DDS/V/X", Values: &bingo{}}}
	vendor := func() *spmi.Context { return &spmi.Context{Path: "DDS/V"} }
	a, b := open(t, spmi.Options{Dir: dir, Volatile: kinds}, vendor()), open(t, spmi.Options{Dir: dir, Volatile: kinds}, vendor())
	c := &spmi.Context{Path: "DDS/V/Bingo", Values: &bingo{}}
	must(t, a.Add(c))
	d := &spmi.Context{Path: "DDS/V/Bingo", Values: &bingo{}}
	if err := b.Add(d); !errors.Is(err, spmi.ErrDuplicate) {
		t.Errorf("in this process: %v", err)
	}
	if _, said := supply(t, dir, "DDS/V/Bingo", nobody); said == "<nil>" {
		t.Error("another user's process has it, too")
	}
	must(t, a.Remove(c))
	must(t, b.Add(d))
}

// TestVolatileVendor: a vendor's context comes and goes without a claim, even if the
// supplier is published late. It stays while there are contexts below it.
func TestVolatileVendor(t *testing.T) {
	dir := filepath.Join(segments(t), "later")
	vendor := func() *spmi.Context { return &spmi.Context{Path: "DDS/W"} }
	kinds := spmi.Options{Dir: dir, Volatile: []*spmi.Context{{Path: "DDS/V/X"}}, Manual: true}
	var suppliers []*spmi.Supplier
	for _, below := range []string{"DDS/W/a", "DDS/W/b"} {
		s, err := spmi.Open(kinds, context(below))
		must(t, err)
		defer s.Close()
		suppliers = append(suppliers, s)
	}
	first, second := vendor(), vendor()
	must(t, suppliers[0].Add(first))
	appear(t, dir)
	must(t, suppliers[0].Retry())
	must(t, suppliers[1].Retry())
	must(t, suppliers[1].Add(second))
	for i, c := range []*spmi.Context{first, second} {
		if err := suppliers[i].Remove(c); !errors.Is(err, spmi.ErrInstBusy) {
			t.Errorf("removing what has a fixed context below: %v", err)
		}
	}
	alone := open(t, kinds)
	c := vendor()
	must(t, alone.Add(c))
	must(t, alone.Remove(c))
	must(t, alone.Add(c))
}
