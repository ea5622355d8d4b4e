//go:build linux

package arm_test

import (
	"context"
	"database/sql"
	"database/sql/driver"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"net"
	"os"
	"path/filepath"
	"reflect"
	"runtime"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/pcp-rtime/rtime/arm"
	"github.com/pcp-rtime/rtime/internal/armseg/layout"
	"github.com/pcp-rtime/rtime/internal/armseg/measured"
)

var ctx = context.Background()

// TestCounts: executions are counted once, by the way in which they ended.
func TestCounts(t *testing.T) {
	dir := segments(t)
	tr := open(t, dir, "Checking Account Query").Transaction("Last Check Query")
	for range 5 {
		r := tr.Start(ctx)
		copied := r
		if !r.Stop(arm.Good) || copied.Stop(arm.Good) || r.Update() {
			t.Error("a first stop is not counted, or what is over is")
		}
	}
	for range 3 {
		tr.Start(ctx).Stop(arm.Aborted)
	}
	for range 2 {
		tr.Start(ctx).Stop(arm.Failed)
	}
	r := tr.Start(ctx)
	if !r.Update() || !r.UpdateText("half way") || r.Stop(3) {
		t.Error("an update is not counted, or a status that there is not")
	}
	got := read(t, dir, 1)
	if got.good != 5 || got.n != 5 || got.aborted != 3 || got.failed != 2 || got.updates != 2 || got.running != 1 {
		t.Errorf("%+v", got)
	}
	if got.sum == 0 || got.min > got.max || got.sum > 5*got.max || got.sum < 5*got.min || got.abortedNS == 0 || got.failedNS == 0 {
		t.Errorf("%+v", got)
	}
	if !r.Stop(arm.Good) {
		t.Error("what was to be stopped with no status runs no more")
	}
}

// TestConcurrent: no count is lost when eight goroutines use one transaction.
func TestConcurrent(t *testing.T) {
	const each = 50000
	dir := segments(t)
	tr := open(t, dir, "app").Transaction("tran")
	var wg sync.WaitGroup
	for g := range 8 {
		wg.Go(func() {
			for i := range each {
				if !tr.Start(ctx).Stop(arm.Status(i % 3 % (g + 1))) {
					t.Error("not counted")
				}
			}
		})
	}
	wg.Wait()
	if got := read(t, dir, 1); got.good+got.aborted+got.failed != 8*each || got.n != got.good || got.running != 0 {
		t.Errorf("%+v", got)
	}
}

// TestFirst: goroutines that name a new transaction at the same time all find one that measures
// already.
func TestFirst(t *testing.T) {
	app := open(t, segments(t), "app")
	const goroutines, names = 4, 2000
	var wg sync.WaitGroup
	var at atomic.Int64 // how many goroutines have come to a name, summed over the names
	for range goroutines {
		wg.Go(func() {
			for i := range int64(names) {
				name := fmt.Sprint("first ", i)
				at.Add(1)
				for at.Load() < i*goroutines+2 { // until a second goroutine is here
					runtime.Gosched()
				}
				if !app.Transaction(name).Start(ctx).Stop(arm.Good) {
					t.Errorf("%s: not measured", name)
				}
			}
		})
	}
	wg.Wait()
}

// TestNames: names that libarm refuses are refused here, too, and what has them does nothing.
func TestNames(t *testing.T) {
	dir := segments(t)
	app := open(t, dir, "app")
	long := strings.Repeat("x", 127)
	for name, ok := range map[string]bool{
		"a": true, " a b ": true, long: true, "ü": true, "a/b": true,
		"": false, "   ": false, long + "x": false, long[1:] + "  ": false, strings.Repeat(" ", 127): false, "a\x00b": false,
	} {
		other := arm.NewApplication(name, arm.Dir(dir))
		tr := app.Transaction(name)
		for what, err := range map[string]error{"application": other.Err(), "transaction": tr.Err()} {
			if (err == nil) != ok || !ok && !errors.Is(err, arm.ErrName) {
				t.Errorf("%s %q: %v", what, name, err)
			}
		}
		if tr.Start(ctx).Stop(arm.Good) != ok || other.Transaction("t").Start(ctx).Stop(arm.Good) != ok {
			t.Errorf("%q is measured, or is not", name)
		}
		other.Close()
	}
	for _, bad := range []error{
		arm.NewApplication("a", arm.Dir(dir), arm.User(long+"x")).Err(),
		arm.NewApplication("a", arm.Dir(dir), arm.User("\x00")).Err(),
		app.Transaction("detail", arm.Detail(long+"x")).Err(),
	} {
		if !errors.Is(bad, arm.ErrName) {
			t.Error(bad)
		}
	}
}

// TestSame: names of the same key are the same application and transaction.
func TestSame(t *testing.T) {
	dir := segments(t)
	a, b := open(t, dir, "Checking Account"), open(t, dir, "CheckingAccount")
	for _, tr := range []*arm.Transaction{a.Transaction("Last Check"), b.Transaction("Last  Check"), b.Transaction("LastCheck")} {
		tr.Start(ctx).Stop(arm.Good)
	}
	first, second := a.Transaction("Last Check"), a.Transaction("Last Check")
	if first != second {
		t.Error("the same name is another transaction")
	}
	if got := read(t, dir, 1); got.good != 3 {
		t.Errorf("%+v", got)
	}
}

// TestClose: after Close nothing starts, and what runs can be stopped. A new application with the
// name goes on where the old one ended.
func TestClose(t *testing.T) {
	dir := segments(t)
	app := open(t, dir, "app")
	tr := app.Transaction("t")
	r := tr.Start(ctx)
	for range 2 {
		if err := app.Close(); err != nil {
			t.Error(err)
		}
	}
	if !errors.Is(app.Err(), arm.ErrClosed) || !errors.Is(tr.Err(), arm.ErrClosed) {
		t.Error(app.Err(), tr.Err())
	}
	if tr.Start(ctx).Stop(arm.Good) || app.Transaction("t").Start(ctx).Stop(arm.Good) || app.Transaction("new").Start(ctx).Stop(arm.Good) {
		t.Error("started after Close")
	}
	if !r.Update() || !r.Stop(arm.Good) {
		t.Error("what ran cannot be stopped")
	}
	again := open(t, dir, "app")
	if !again.Transaction("t").Start(ctx).Stop(arm.Good) {
		t.Error("does not start")
	}
	if got := read(t, dir, 1); got.good != 2 {
		t.Errorf("%+v", got)
	}
}

// TestNil: nil and zero values do nothing.
func TestNil(t *testing.T) {
	var app *arm.Application
	tr := app.Transaction("t")
	var none arm.Running
	same, r := tr.StartContext(ctx)
	if tr.Start(ctx).Stop(arm.Good) || none.Stop(arm.Good) || none.Update() || none.UpdateText("x") || r.Stop(arm.Good) || same != ctx {
		t.Error("nothing was measured")
	}
	if app.Err() == nil || tr.Err() == nil || app.Close() != nil {
		t.Error(app.Err(), tr.Err())
	}
}

// TestLater: what is measured before there is a directory appears when the directory comes, whether
// or not its application has been closed. What ran at that time counts once.
func TestLater(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "later")
	bytes, level, name := arm.NewCounter("bytes"), arm.NewGauge("level"), arm.NewString("name")
	app := arm.NewApplication("app", arm.Dir(dir))
	t.Cleanup(func() { app.Close() })
	tr := app.Transaction("t", arm.Metrics(bytes, level, name))
	closed := arm.NewApplication("closed", arm.Dir(dir))
	if !closed.Transaction("t").Start(ctx).Stop(arm.Failed) {
		t.Error("not measured")
	}
	closed.Close()
	for range 49 {
		if !tr.Start(ctx).Stop(arm.Good) {
			t.Error("not measured")
		}
	}
	inside, parent := tr.StartContext(ctx)
	child := tr.Start(inside, bytes.Value(1))
	if !child.Stop(arm.Good, bytes.Value(8), level.Value(-3), name.Value("x")) || !tr.Report(time.Second, arm.Good) {
		t.Error("not measured")
	}
	if !errors.Is(app.Err(), fs.ErrNotExist) || !errors.Is(tr.Err(), fs.ErrNotExist) {
		t.Error(app.Err(), tr.Err())
	}
	var stop atomic.Bool
	var counted atomic.Uint64
	var wg sync.WaitGroup
	for range 3 {
		wg.Go(func() {
			for !stop.Load() {
				if tr.Start(ctx).Stop(arm.Good) {
					counted.Add(1)
				}
			}
		})
	}
	if err := os.Mkdir(dir, 0o700); err != nil {
		t.Fatal(err)
	}
	for deadline := time.Now().Add(30 * time.Second); tr.Err() != nil; time.Sleep(10 * time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatal(tr.Err())
		}
	}
	stop.Store(true)
	wg.Wait()
	if !parent.Stop(arm.Good) || parent.Stop(arm.Good) {
		t.Error("what ran is not counted once")
	}
	ids := map[string]uint32{}
	for id, key := range keys(t, dir) {
		ids[key] = id
	}
	got := read(t, dir, ids["app/t"])
	if want := 49 + 3 + counted.Load(); got.good != want {
		t.Errorf("%d are counted, want %d", got.good, want)
	}
	minus := uint64(1<<64 - 3)
	if m := got.metrics; m[0].sum != 7 || m[0].count != 2 || m[1].sum != minus || m[1].count != 1 || m[2].count != 0 || m[6].count != 1 {
		t.Errorf("metrics %+v", m)
	}
	if got := read(t, dir, ids["closed/t"]); got.failed != 1 {
		t.Errorf("of the application that was closed: %+v", got)
	}
	if closed.Transaction("t").Start(ctx).Stop(arm.Good) {
		t.Error("what was closed before is measured")
	}
}

// TestNoAllocations: executions allocate nothing from start to stop.
func TestNoAllocations(t *testing.T) {
	rows, name := arm.NewCounter("rows"), arm.NewString("name")
	app := open(t, segments(t), "app")
	tr := app.Transaction("tran", arm.Metrics(rows, name))
	inside, r := tr.StartContext(arm.ContextWithTrace(ctx))
	defer r.Stop(arm.Good)
	for what, f := range map[string]func(){
		"plain":      func() { tr.Start(ctx).Stop(arm.Good) },
		"deferred":   func() { defer tr.Start(ctx).Stop(arm.Good) },
		"as a child": func() { tr.Start(inside).Stop(arm.Failed) },
		"values":     func() { tr.Start(ctx, rows.Value(1)).Stop(arm.Good, rows.Value(3), name.Value("x")) },
		"updates":    func() { r.Update(rows.Value(1)); r.UpdateText("text") },
		"by name":    func() { app.Transaction("tran").Start(ctx).Stop(arm.Good) },
		"closed":     func() { (*arm.Transaction)(nil).Start(ctx).Stop(arm.Good) },
	} {
		if n := testing.AllocsPerRun(1000, f); n != 0 {
			t.Errorf("%s: %v allocations", what, n)
		}
	}
}

// late is an error that says whether it is a time-out.
type late bool

func (late) Error() string   { return "late" }
func (l late) Timeout() bool { return bool(l) }

// TestStatusOf: what the system failed is aborted, also if it is wrapped in other errors. All else
// is the program's failure.
func TestStatusOf(t *testing.T) {
	for err, want := range map[error]arm.Status{
		nil: arm.Good, errors.New("x"): arm.Failed, context.Canceled: arm.Aborted, driver.ErrBadConn: arm.Aborted,
		fmt.Errorf("so %w", context.DeadlineExceeded): arm.Aborted, late(true): arm.Aborted, late(false): arm.Failed,
		errors.Join(late(false), context.DeadlineExceeded):         arm.Aborted,
		&os.PathError{Op: "write", Path: "x", Err: syscall.ENOSPC}: arm.Aborted, &os.PathError{Op: "open", Path: "x", Err: syscall.ENOENT}: arm.Failed,
		&os.PathError{Op: "open", Path: "x", Err: syscall.EACCES}: arm.Failed, sql.ErrNoRows: arm.Failed,
	} {
		if got := arm.StatusOf(err); got != want {
			t.Errorf("%v: %v, want %v", err, got, want)
		}
	}
}

// TestStatusOfNetwork takes the errors from real connections: refused, timed out and broken ones.
func TestStatusOfNetwork(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	dial := func() *net.TCPConn {
		t.Helper()
		c, err := net.Dial("tcp", l.Addr().String())
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { c.Close() })
		return c.(*net.TCPConn)
	}
	c := dial()
	if err := c.SetReadDeadline(time.Now().Add(-time.Second)); err != nil {
		t.Fatal(err)
	}
	_, expired := c.Read(make([]byte, 1))
	broken := dial()
	for range 2 { // the first is c's
		server, err := l.Accept()
		if err != nil {
			t.Fatal(err)
		}
		server.(*net.TCPConn).SetLinger(0) // a reset
		server.Close()
	}
	_, reset := broken.Read(make([]byte, 1))
	l.Close()
	_, refused := net.Dial("tcp", l.Addr().String())
	for what, err := range map[string]error{"time-out": expired, "reset": reset, "refused": refused} {
		if err == nil || arm.StatusOf(err) != arm.Aborted {
			t.Errorf("%s: %v is %v", what, err, arm.StatusOf(err))
		}
	}
}

// TestMadeUpNames: a program that makes up names gets as many as a user can have. More names take
// no more memory.
func TestMadeUpNames(t *testing.T) {
	app := arm.NewApplication("app", arm.Dir("/nonexistent"))
	t.Cleanup(func() { app.Close() })
	for i := range layout.TranMax {
		if tr := app.Transaction(fmt.Sprint(i)); errors.Is(tr.Err(), arm.ErrFull) {
			t.Fatalf("the %d. name: %v", i, tr.Err())
		}
	}
	tr := app.Transaction("one more")
	if !errors.Is(tr.Err(), arm.ErrFull) || tr == app.Transaction("one more") {
		t.Error(tr.Err())
	}
	first, second := app.Transaction("7"), app.Transaction("7")
	if first != second {
		t.Error("a name that is there is another transaction")
	}
}

// TestReportContext: an execution that was timed elsewhere is a child of what its context names, a
// transaction or an execution.
func TestReportContext(t *testing.T) {
	dir := segments(t)
	app := open(t, dir, "app")
	parent, child := app.Transaction("parent"), app.Transaction("child")
	inside, running := parent.StartContext(ctx)
	named := arm.ContextWithCorrelator(ctx, parent.Correlator())
	foreign, err := arm.CorrelatorFromTraceparent("00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01")
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []context.Context{inside, named, ctx, arm.ContextWithTrace(ctx), arm.ContextWithCorrelator(ctx, foreign)} {
		if !child.ReportContext(c, time.Second, arm.Good) || child.ReportContext(c, 1, arm.Failed+1) {
			t.Error("not counted, or counted wrongly")
		}
	}
	running.Stop(arm.Good)
	if got := measured.Pairs(t, dir); !maps.Equal(got, map[string]uint64{"parent > child": 2}) {
		t.Errorf("%v", got)
	}
	if got := measured.Counts(t, dir)["child"]; got != (measured.Ended{Good: 5}) {
		t.Errorf("%+v", got)
	}
	var none *arm.Transaction
	if none.ReportContext(inside, 1, arm.Good) || !none.Correlator().IsZero() {
		t.Error("nil does something")
	}
	app.Close()
	if child.ReportContext(named, 1, arm.Good) || !child.Correlator().IsZero() {
		t.Error("a closed application is measured")
	}
}

// TestReport: an execution that was timed elsewhere is counted with the time given.
func TestReport(t *testing.T) {
	dir := segments(t)
	app := open(t, dir, "app")
	tr := app.Transaction("t")
	for _, d := range []time.Duration{time.Second, time.Millisecond, -1} {
		for s := range arm.Failed + 2 {
			if tr.Report(d, s) != (s <= arm.Failed) || (*arm.Transaction)(nil).Report(d, s) {
				t.Error(d, s)
			}
		}
	}
	got := read(t, dir, 1)
	const sum = 1_001_000_000
	want := counts{good: 3, n: 3, sum: sum, aborted: 3, abortedNS: sum, failed: 3, failedNS: sum, max: 1e9}
	if !reflect.DeepEqual(got, want) {
		t.Errorf("%+v, want %+v", got, want)
	}
	app.Close()
	if tr.Report(1, arm.Good) {
		t.Error("counted after Close")
	}
}
