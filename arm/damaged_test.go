//go:build linux

package arm_test

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"
	"unsafe"

	"golang.org/x/sys/unix"

	"github.com/pcp-rtime/rtime/arm"
	"github.com/pcp-rtime/rtime/internal/armseg/layout"
)

// agentUser owns the directory, as the agent's user does.
const agentUser = 65534

// TestDamaged: somebody writes a million words over the files of a running program. The program
// lives, and what it counts in the spared cells is right. A process of its own runs this, because
// a fault would end it.
func TestDamaged(t *testing.T) {
	if said := start(t, nil, "damaged", segments(t)).said(t); said != "right" {
		t.Error(said)
	}
}

// TestAttacked: the agent's user can write nothing into a program's files and cannot cut them. It
// may rename them, put others in their places, and write what it likes in its own.
func TestAttacked(t *testing.T) {
	dir := segments(t)
	if err := os.Chown(dir, agentUser, agentUser); err != nil {
		t.Fatal(err)
	}
	if err := syscall.Chmod(dir, 0o3773); err != nil {
		t.Fatal(err)
	}
	tr := open(t, dir, "app").Transaction("t")
	count := 0
	work := func(d time.Duration) {
		for end := time.Now().Add(d); time.Now().Before(end); count++ {
			if !tr.Start(ctx).Stop(arm.Good) {
				t.Fatal("not counted")
			}
		}
	}
	work(time.Millisecond)
	names, err := mapped(filepath.Join(dir, "*.names"), 1<<20)
	if err != nil {
		t.Fatal(err)
	}
	nonce := *names.word64(layout.NamesNonce)
	if said := start(t, nil, "attack", dir).said(t); said != "<nil>" {
		t.Fatal(said)
	}
	for range 3 {
		words := filepath.Join(dir, layout.SwitchesPath(uint32(os.Geteuid()), nonce))
		if err := os.WriteFile(words, agentWords(nonce), 0o644); err != nil {
			t.Fatal(err)
		}
		work(1100 * time.Millisecond) // they are read once a second
	}
	if err := os.Remove(filepath.Join(dir, fmt.Sprintf("%d.names", os.Geteuid()))); err != nil {
		t.Fatal(err)
	}
	for _, taken := range glob(t, filepath.Join(dir, "*.taken")) {
		if err := os.Rename(taken, taken[:len(taken)-len(".taken")]); err != nil {
			t.Fatal(err)
		}
	}
	if got := read(t, dir, 1); got.good != uint64(count) {
		t.Errorf("%d, want %d", got.good, count)
	}
}

func glob(t *testing.T, pattern string) []string {
	t.Helper()
	found, err := filepath.Glob(pattern)
	if err != nil || len(found) == 0 {
		t.Fatal(found, err)
	}
	return found
}

// damaged writes over the files of this process while goroutines use them.
func damaged(dir string) error {
	counter, gauge, text := arm.NewCounter("c"), arm.NewGaugeRatio("g"), arm.NewString("s")
	app := arm.NewApplication("damaged", arm.Dir(dir))
	kept := app.Transaction("kept")
	var others []*arm.Transaction
	for i := range 40 {
		others = append(others, app.Transaction(fmt.Sprint("other ", i), arm.Metrics(counter, gauge, text)))
	}
	var stop atomic.Bool
	var counted atomic.Uint64
	var began, wg sync.WaitGroup
	for g := range 3 {
		began.Add(1)
		wg.Go(func() {
			traced := arm.ContextWithTrace(context.Background())
			for i := 0; !stop.Load(); i++ {
				if kept.Start(ctx).Stop(arm.Good) {
					counted.Add(1)
				}
				inside, parent := others[i%40].StartContext(traced)
				child := others[i*7%40].Start(inside, counter.Value(uint64(i)))
				child.Update(counter.Value(uint64(2*i)), gauge.Value(int32(i), 3), text.Value("x"))
				child.Stop(arm.Status(i%3), counter.Value(uint64(3*i)))
				parent.Stop(arm.Good)
				if i == 1000+g {
					began.Done()
				}
			}
		})
	}
	began.Wait()
	spared, hist, err := keptRecords(dir)
	if err != nil {
		return err
	}
	for i := range 50 {
		for _, f := range spared {
			f.scribble(10000)
		}
		app.Transaction(fmt.Sprint("new ", i), arm.Metrics(gauge)).Start(ctx).Stop(arm.Good)
		arm.NewApplication(fmt.Sprint("new ", i), arm.Dir(dir)).Close()
	}
	stop.Store(true)
	wg.Wait()
	var have uint64
	for _, word := range hist {
		have += atomic.LoadUint64(word)
	}
	if want := counted.Load(); have != want || want == 0 {
		return fmt.Errorf("%d are counted, want %d", have, want)
	}
	return nil
}

// file is a file of this process, mapped once more, with the parts that are to be spared.
type file struct {
	b      []byte
	spared [][2]uint64
}

func mapped(pattern string, length int64) (*file, error) {
	found, err := filepath.Glob(pattern)
	if err != nil || len(found) != 1 {
		return nil, fmt.Errorf("%s: %v, %v", pattern, found, err)
	}
	f, err := os.OpenFile(found[0], os.O_RDWR, 0)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	st, err := f.Stat()
	if err != nil {
		return nil, err
	}
	b, err := unix.Mmap(int(f.Fd()), 0, int(min(st.Size(), length)), unix.PROT_READ|unix.PROT_WRITE, unix.MAP_SHARED)
	return &file{b: b}, err
}

func (f *file) word64(off uint64) *uint64 { return (*uint64)(unsafe.Pointer(&f.b[off])) }
func (f *file) word32(off uint64) *uint32 { return (*uint32)(unsafe.Pointer(&f.b[off])) }

func (f *file) spare(off, n uint64) { f.spared = append(f.spared, [2]uint64{off, off + n}) }

// keptRecords maps the files, and finds the records of the first application and transaction.
func keptRecords(dir string) (files []*file, hist []*uint64, err error) {
	names, err := mapped(filepath.Join(dir, "*.names"), 1<<20)
	if err != nil {
		return nil, nil, err
	}
	names.spare(*names.word64(layout.NamesAppsOff), layout.AppLen)
	names.spare(*names.word64(layout.NamesTransOff), layout.TranLen)
	proc, err := mapped(filepath.Join(dir, "*.arm"), 1<<30)
	if err != nil {
		return nil, nil, err
	}
	for i := range uint64(*proc.word32(layout.ProcBlockNext)) {
		block := 64 * uint64(*proc.word32(*proc.word64(layout.ProcBlocksOff) + 4*i))
		page := 64 * uint64(*proc.word32(block + layout.BlockDir))
		cell := 64 * uint64(*proc.word32(page))
		if block == 0 || page == 0 || cell == 0 {
			return nil, nil, fmt.Errorf("block %d has no cell", i)
		}
		proc.spare(cell, layout.CellLen)
		for k := range uint64(layout.HistLen) {
			hist = append(hist, proc.word64(cell+layout.CellHist+8*k))
		}
	}
	return []*file{names, proc}, hist, nil
}

// scribble writes n words that could lead programs astray: offsets within and beyond the file,
// states of slots, all bits.
func (f *file) scribble(n int) {
	for n > 0 {
		r := rand.Uint64()
		off := r >> 20 % uint64(len(f.b)/8) * 8
		if f.spares(off) {
			continue
		}
		word := rand.Uint64()
		switch r & 7 {
		case 0:
			word >>= 33
		case 1:
			word = 1<<64 - 1
		case 2:
			word = 0
		case 3:
			word = word>>40<<32 | word&0xff
		case 4:
			word = word>>44<<32 | word&0x3fff<<3 | layout.SlotActive
		}
		atomic.StoreUint64(f.word64(off), word)
		n--
	}
}

func (f *file) spares(off uint64) bool {
	for _, s := range f.spared {
		if off >= s[0] && off < s[1] {
			return true
		}
	}
	return false
}

// attack becomes the agent's user and does what that user can do.
func attack(dir string) error {
	err := errors.Join(syscall.Setgroups(nil), syscall.Setresgid(agentUser, agentUser, agentUser), syscall.Setresuid(agentUser, agentUser, agentUser))
	if err != nil {
		return err
	}
	for _, pattern := range []string{"*.arm", "*.names"} {
		found, err := filepath.Glob(filepath.Join(dir, pattern))
		if err != nil || len(found) != 1 {
			return fmt.Errorf("%v, %v", found, err)
		}
		if f, err := os.OpenFile(found[0], os.O_WRONLY, 0); err == nil || !os.IsPermission(err) {
			return fmt.Errorf("open %s: %v, %v", found[0], f, err)
		}
		if err := os.Truncate(found[0], 0); !os.IsPermission(err) {
			return fmt.Errorf("truncate: %v", err)
		}
		if err := os.Rename(found[0], found[0]+".taken"); err != nil {
			return err
		}
		if err := os.WriteFile(found[0], []byte("garbage"), 0o666); err != nil {
			return err
		}
	}
	return os.MkdirAll(filepath.Join(dir, layout.SwitchesDir), 0o755)
}

// agentWords returns a file of the agent's with a good header, cut off somewhere.
func agentWords(nonce uint64) []byte {
	var s layout.Switches
	for i := range s {
		s[i] = rand.Uint32()
	}
	return s.Encode(nonce)[:rand.IntN(layout.SwitchesLen+1)]
}
