package collect

import (
	"context"
	"encoding/binary"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"sync/atomic"
	"testing"
	"time"
	"unsafe"

	"golang.org/x/sys/unix"

	"github.com/pcp-rtime/rtime/internal/armseg/layout"
	"github.com/pcp-rtime/rtime/internal/armseg/reader"
	"github.com/pcp-rtime/rtime/internal/armseg/writer"
)

const (
	liveEnv  = "COLLECT_TEST_LIVE"
	writeEnv = "COLLECT_TEST_WRITE" // directory of segments
	tellEnv  = "COLLECT_TEST_TELL"  // file in which a program says how far it is
	threads  = 4
)

// write counts transactions until it is killed. After each one that a goroutine has
// finished, it tells how many that goroutine has finished.
func write(dir, tell string) error {
	w, err := writer.Attach(dir)
	if err != nil {
		return err
	}
	app, err := w.OpenApp("Bank", "the bank", "")
	if err != nil {
		return err
	}
	tran, err := w.Tran(app, "Deposit", "a deposit", "", writer.Declared{})
	if err != nil || !tran.Activate() {
		return fmt.Errorf("no transaction: %w", err)
	}
	f, err := os.OpenFile(tell, os.O_RDWR, 0)
	if err != nil {
		return err
	}
	mem, err := unix.Mmap(int(f.Fd()), 0, 8*threads, unix.PROT_READ|unix.PROT_WRITE, unix.MAP_SHARED)
	if err != nil {
		return err
	}
	bad := make(chan error)
	for i := range threads {
		done := (*uint64)(unsafe.Pointer(&mem[8*i]))
		go func() {
			for {
				r := tran.Start()
				if !r.Stop(writer.Good, nil) {
					bad <- fmt.Errorf("a stop was refused")
				}
				atomic.AddUint64(done, 1)
			}
		}()
	}
	return <-bad
}

// program is a process that counts, and the file in which it tells how far it is.
type program struct {
	cmd  *exec.Cmd
	tell string
}

func startProgram(t *testing.T, dir string, i int) *program {
	t.Helper()
	p := &program{tell: filepath.Join(t.TempDir(), fmt.Sprint(i))}
	if err := os.WriteFile(p.tell, make([]byte, 8*threads), 0o600); err != nil {
		t.Fatal(err)
	}
	p.cmd = exec.Command(os.Args[0])
	p.cmd.Stderr = os.Stderr
	p.cmd.Env = append(os.Environ(), writeEnv+"="+dir, tellEnv+"="+p.tell)
	if err := p.cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = p.cmd.Process.Kill() }) // it has ended, if all
	return p
}

func (p *program) done(t *testing.T) (n uint64) {
	t.Helper()
	b, err := os.ReadFile(p.tell)
	if err != nil {
		t.Fatal(err)
	}
	for i := range threads {
		n += binary.NativeEndian.Uint64(b[8*i:])
	}
	return n
}

// TestKilledPrograms kills programs and the collector while all of them run. No
// transaction whose stop had returned is lost, and none is counted twice.
func TestKilledPrograms(t *testing.T) {
	dir := t.TempDir()
	var finished, most uint64
	for round := range 4 {
		c, err := New(Config{Interval: 100 * time.Millisecond}, Options{Dir: dir})
		if err != nil {
			t.Fatal(err)
		}
		ctx, stop := context.WithCancel(t.Context())
		over := make(chan error, 1)
		go func() { over <- c.Run(ctx) }()
		var programs []*program
		for i := range 3 {
			programs = append(programs, startProgram(t, dir, 10*round+i))
		}
		for _, p := range programs {
			waitFor(t, func() bool { return p.done(t) > 1000 })
		}
		if round%2 == 1 { // this collector sees them alive first; in other rounds it sees them at their end
			waitFor(t, func() bool { return len(c.Snapshot().Trans) > 0 && c.Snapshot().Row(0).Count > most })
		}
		for _, p := range programs {
			if err := p.cmd.Process.Kill(); err != nil {
				t.Fatal(err)
			}
			_ = p.cmd.Wait() // says that it was killed
			finished, most = finished+p.done(t), most+p.done(t)+threads
		}
		waitFor(t, func() bool {
			s := c.Snapshot()
			return s.Health.Processes == 0 && s.Health.Folds == uint64(len(programs)) && !s.Apps[0].Active
		})
		s := c.Snapshot()
		if d := s.Row(0); d.Count < finished || d.Count+d.Abandoned > most || d.Active != 0 {
			t.Errorf("%+v, want %d to %d", d, finished, most)
		}
		stop()
		if err := <-over; err != nil {
			t.Fatal(err)
		}
	}
}

// TestWriterAndReader: what package writer writes is what package reader reads.
func TestWriterAndReader(t *testing.T) {
	dir := t.TempDir()
	p := startProgram(t, dir, 0)
	waitFor(t, func() bool { return p.done(t) > 100 })
	if err := p.cmd.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	_ = p.cmd.Wait() // says that it was killed
	uid := uint32(os.Geteuid())
	n, err := reader.OpenNames(filepath.Join(dir, fmt.Sprint(uid, layout.NamesSuffix)), uid)
	if err != nil {
		t.Fatal(err)
	}
	defer n.Close()
	list, err := filepath.Glob(filepath.Join(dir, "*"+layout.ProcSuffix))
	if err != nil || len(list) != 1 {
		t.Fatal(list, err)
	}
	r, err := reader.OpenProc(list[0], uid, reader.Limits{Bytes: 1 << 38, Cells: 1000})
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	if r.PID != uint32(p.cmd.Process.Pid) || r.PIDNS != processes().inode || r.Start == 0 || r.Nonce != n.Nonce || r.Language != layout.LanguageGo {
		t.Errorf("%+v", r.ProcInfo)
	}
	mono, _ := clocks()
	var count, ended uint64
	if err := r.Changed(true, mono, func(d *reader.CellDelta) {
		count += d.Count
		for _, e := range d.Ended {
			if ago := mono - e.At; ago < 0 || ago > 60*sec || e.NS > d.Max || e.NS < d.Min {
				t.Errorf("%+v: %d ns ago; %d to %d", e, ago, d.Min, d.Max)
			}
			ended++
		}
	}); err != nil {
		t.Fatal(err)
	}
	if count < p.done(t) || ended == 0 {
		t.Errorf("%d counted, %d ended", count, ended)
	}
}
