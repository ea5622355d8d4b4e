package collect

import (
	"bufio"
	"fmt"
	"os"
	"os/exec"
	"testing"
	"time"

	"github.com/pcp-rtime/rtime/internal/armseg/layout"
	"github.com/pcp-rtime/rtime/internal/armseg/reader"
	"github.com/pcp-rtime/rtime/internal/armseg/reader/readertest"
)

func there(path string) bool {
	_, err := os.Lstat(path)
	return err == nil
}

// TestRetire: names that nobody uses are removed after the timeout, and their totals stay.
func TestRetire(t *testing.T) {
	w := newWorld(t)
	n := w.names(7)
	p := readertest.NewProc(t, w.dir, n, 100)
	p.Good(0, 1, 10, w.mono)
	w.start()
	w.look()
	for range 3 {
		w.pass(w.conf.Timeout)
		w.look()
	}
	if !there(n.Path) {
		t.Fatal("removed while in use")
	}
	p.Die()
	w.look()
	w.pass(w.conf.Timeout - 2*time.Second)
	w.look()
	if !there(n.Path) {
		t.Fatal("removed too early")
	}
	w.look()
	if there(n.Path) || len(w.aside()) != 0 || w.c.Snapshot().Health.Retired != 1 {
		t.Fatalf("still there: %v, %+v", w.aside(), w.c.Snapshot().Health)
	}
	m := w.names(8)
	q := readertest.NewProc(t, w.dir, m, 101)
	q.Good(0, 1, 10, w.mono)
	for range 2 {
		w.look()
		if d := w.tran("Bank/Deposit"); d.Count != 2 {
			t.Errorf("%+v", d)
		}
		w.start()
	}
}

// TestRetireNever: with a timeout of 0 names stay.
func TestRetireNever(t *testing.T) {
	w := newWorld(t)
	w.conf.Timeout = 0
	n := w.names(7)
	w.start()
	for range 3 {
		w.pass(100 * time.Hour)
		w.look()
	}
	if !there(n.Path) {
		t.Error("removed")
	}
}

// aside returns the files of names that are being removed.
func (w *world) aside() []string { return w.glob(layout.AsidePrefix + "*") }

// TestRetireRace: the file of names loses its name just after a process has published its
// own file. The process's file stays, whether the collector lives or is killed in between,
// and is removed when the process has ended.
func TestRetireRace(t *testing.T) {
	for _, kill := range []bool{false, true} {
		w := newWorld(t)
		n := w.names(7)
		w.start()
		w.look()
		w.pass(w.conf.Timeout)
		var p *readertest.Proc
		w.hook = func(step string) {
			if step == "retire: set aside" && p == nil {
				p = readertest.NewProc(t, w.dir, n, 100) // as if it had been there just before
				p.Good(0, 1, 10, w.mono)
			}
		}
		if kill {
			w.kill = "retire: set aside"
		}
		if w.look() != kill {
			t.Fatal("killed or not")
		}
		w.kill = ""
		if kill {
			w.start()
		}
		w.pass(w.conf.Timeout)
		for range 3 {
			w.look()
		}
		if there(n.Path) || len(w.aside()) != 1 || w.tran("Bank/Deposit").Count != 1 {
			t.Errorf("killed %v: %v, %+v", kill, w.aside(), w.tran("Bank/Deposit"))
		}
		// The user's next process makes names of its own. The rows are the same.
		q := readertest.NewProc(t, w.dir, w.names(8), 101)
		q.Good(0, 1, 10, w.mono)
		p.Good(0, 1, 10, w.mono)
		w.look()
		if d := w.tran("Bank/Deposit"); d.Count != 3 {
			t.Errorf("killed %v: %+v", kill, d)
		}
		p.Die()
		for range 3 {
			w.look()
		}
		if len(w.aside()) != 0 || !there(n.Path) || w.tran("Bank/Deposit").Count != 3 || w.c.Snapshot().Health.Processes != 1 {
			t.Errorf("killed %v: %v, %+v", kill, w.aside(), w.c.Snapshot().Health)
		}
	}
}

// TestRetireKilled: if a collector is killed while it removes a file of names, the next
// one finishes that.
func TestRetireKilled(t *testing.T) {
	for _, step := range []string{"retire: set aside", "retire: removed"} {
		w := newWorld(t)
		n := w.names(7)
		w.start()
		w.look()
		w.pass(w.conf.Timeout)
		w.kill = step
		if !w.look() {
			t.Fatal("not killed")
		}
		w.kill = ""
		w.start()
		for range 2 { // the first look finds the file
			w.look()
		}
		if there(n.Path) || len(w.aside()) != 0 {
			t.Errorf("killed at %s: still there", step)
		}
	}
}

// TestMain is also a process that lives until its input ends, and one that counts.
func TestMain(m *testing.M) {
	if dir := os.Getenv(writeEnv); dir != "" {
		fmt.Fprintln(os.Stderr, write(dir, os.Getenv(tellEnv)))
		os.Exit(1)
	}
	if os.Getenv(liveEnv) != "" {
		fmt.Println("alive")
		_, _ = bufio.NewReader(os.Stdin).ReadString('\n')
		os.Exit(0)
	}
	os.Exit(m.Run())
}

// TestAlive: a process is known by pid and start, in this pid namespace only.
func TestAlive(t *testing.T) {
	here := processes()
	if here.inode == 0 {
		t.Fatal("no pid namespace")
	}
	cmd := exec.Command(os.Args[0])
	cmd.Env = append(os.Environ(), liveEnv+"=1")
	in, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	if _, err := bufio.NewReader(out).ReadString('\n'); err != nil {
		t.Fatal(err)
	}
	p := reader.ProcInfo{PID: uint32(cmd.Process.Pid), PIDNS: here.inode, Start: startOf(t, cmd.Process.Pid)}
	if !here.alive(&p) {
		t.Error("a process that lives is not found")
	}
	later, elsewhere := p, p
	later.Start++
	elsewhere.PIDNS++
	if here.alive(&later) || here.alive(&elsewhere) || (namespace{}).alive(&p) {
		t.Error("another process is taken for it")
	}
	_ = in.Close()
	// Before it is waited for it is a zombie, which lives no longer.
	waitFor(t, func() bool { return !here.alive(&p) })
	if err := cmd.Wait(); err != nil {
		t.Fatal(err)
	}
	if here.alive(&p) {
		t.Error("still alive")
	}
}

func startOf(t *testing.T, pid int) uint64 {
	t.Helper()
	stat, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		t.Fatal(err)
	}
	start, ok := startTime(stat)
	if !ok {
		t.Fatalf("%q", stat)
	}
	return start
}

// TestStartTime: names of programs may look like anything.
func TestStartTime(t *testing.T) {
	const rest = " S 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 4711 20"
	for stat, want := range map[string]uint64{
		"77 (a)" + rest: 4711, "77 (a) Z 1) S)" + rest: 4711, "77 ()" + rest: 4711,
		"77 (a) Z 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 4711 20": 0, "77 (a) S 1": 0, "": 0, ")": 0, "77 (a) S": 0,
	} {
		got, ok := startTime([]byte(stat))
		if got != want || ok != (want != 0) {
			t.Errorf("%q: %d %v", stat, got, ok)
		}
	}
}
