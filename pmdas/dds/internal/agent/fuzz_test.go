package agent

import (
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/pcp-rtime/rtime/internal/ddsseg/layout"
	"github.com/pcp-rtime/rtime/internal/ddsseg/reader/readertest"
	"github.com/pcp-rtime/rtime/pcp"
	"github.com/pcp-rtime/rtime/pmdas/dds/internal/account"
	"github.com/pcp-rtime/rtime/pmdas/dds/internal/supply"
)

// victim is a segment with some of everything, for the fuzzer to damage.
func victim(t testing.TB) *readertest.Segment {
	every := []readertest.Stat{
		stat("u64", 0, func(s *readertest.Stat) { s.Help, s.Labels, s.Units = "help", `{"a":"b"}`, pcp.Bytes.Word() }),
		stat("float", 1, func(s *readertest.Stat) { s.Type, s.Size = layout.Float, 4 }),
		stat("text", 2, func(s *readertest.Stat) { s.Type = layout.Char }),
		stat("time", 3, func(s *readertest.Stat) { s.Type, s.Size = layout.Timeval, 16 }),
	}
	s := readertest.New(t, "victim", 64<<10, readertest.Context{Path: "DDS/bad"},
		readertest.Context{Path: "DDS/bad/c", Descr: "context", Stats: every, Help: "help", Labels: `{"c":1}`},
		readertest.Context{Path: "DDS/bad/c/T", Template: true, Stats: every})
	s.Recent = true
	s.Add(0, 2, "DDS/bad/c/one", "first")
	s.Add(1, 2, "DDS/bad/c/two", "second")
	return s
}

// hostile is a segment in a file that allows any byte to be stored.
type hostile struct {
	f   *os.File
	mem []byte
}

// plant puts a hostile segment beside the others, with the lock that a living supplier
// holds.
func plant(t *testing.T, dir string, b []byte) *hostile {
	path := filepath.Join(dir, fmt.Sprintf("%d-1-hostile.dds", os.Getuid()))
	hidden := filepath.Join(dir, ".new-hostile")
	must(t, os.WriteFile(hidden, b, 0o660))
	f, err := os.OpenFile(hidden, os.O_RDWR, 0)
	must(t, err)
	must(t, unix.FcntlFlock(f.Fd(), unix.F_OFD_SETLK, &unix.Flock_t{Type: unix.F_WRLCK, Start: layout.AliveOffset, Len: 1}))
	mem, err := unix.Mmap(int(f.Fd()), 0, len(b), unix.PROT_READ|unix.PROT_WRITE, unix.MAP_SHARED)
	must(t, err)
	must(t, os.Rename(hidden, path))
	t.Cleanup(func() {
		_ = unix.Munmap(mem)
		f.Close()
	})
	return &hostile{f, mem}
}

// all asks for everything that the agent has.
func (l *lab) all() {
	var ids []pcp.PMID
	indoms := make(map[pcp.InDom]bool)
	for _, name := range l.Names("") {
		d, err := l.Desc(name)
		if err != nil {
			l.t.Fatalf("%s: %v", name, err)
		}
		ids = append(ids, d.PMID)
		indoms[d.InDom] = true
		l.Text(name)
		l.Labels(uint32(d.PMID), pcp.LabelItem)
	}
	delete(indoms, pcp.InDomNull)
	for d := range indoms {
		l.Instances(d)
		l.Labels(uint32(d), pcp.LabelInstances)
	}
	l.Fetch(ids...)
}

// FuzzAgent makes the agent serve a damaged segment. The fuzzer has overwritten a part
// of it before the agent sees it; it overwrites another part, and then cuts the file
// off, while the agent serves it. Whatever the damage, the agent answers all requests
// and takes no more memory than its limits allow, and a supplier beside it has all its
// values.
func FuzzAgent(f *testing.F) {
	base := victim(f)
	f.Add([]byte{}, uint16(0), []byte{}, uint16(0), uint16(0))
	for _, off := range []uint64{0, 24, 64, 104, layout.HdrChanges, layout.HdrRecent, layout.HdrSlotsCount, readertest.TimeOff,
		base.ContextOff(1), base.ContextOff(1) + layout.CtxDataOff, base.StatOff(2) + layout.StatType, base.SlotOff(1), base.SlotOff(1) + layout.SlotSeq} {
		f.Add([]byte("\xff\xff\xff\xff\xff\xff\xff\x7f"), uint16(off), []byte{}, uint16(0), uint16(4096))
		f.Add([]byte{}, uint16(0), []byte("\x03\x00\x00\x00\x00\x01\x02\xff"), uint16(off), uint16(600))
	}
	f.Fuzz(func(t *testing.T, before []byte, at uint16, during []byte, there, cut uint16) {
		l := &lab{t: t, dir: filepath.Join(t.TempDir(), "dds")}
		l.start(func(a *Agent) {
			a.conf.Bytes, a.conf.Contexts, a.conf.Statistics, a.conf.Metrics = 1<<20, 1000, 1000, 1000
		})
		good := readertest.New(t, "good", 0, readertest.Context{Path: "DDS/good"},
			readertest.Context{Path: "DDS/good/c", Stats: []readertest.Stat{stat("x", 0)}},
			readertest.Context{Path: "DDS/good/c/T", Template: true, Stats: []readertest.Stat{stat("n", 0)}})
		good.Put64(good.Data[1], 22)
		good.Put64(good.Add(0, 2, "DDS/good/c/i", ""), 42)
		good.Publish(l.dir, -1)
		l.all()
		stays := func() {
			t.Helper()
			l.is("dds.good.c.x", "=22")
			if v, err := l.Values("dds.good.c.inst.n"); err != nil || fmt.Sprint(v["i"]) != "42" {
				t.Errorf("%v %v", v, err)
			}
			l.all()
			l.ahead += 40 * time.Second // at the latest, this makes it list the directory again
			good.Stamp(time.Now().Add(l.ahead))
			l.second()
			l.all()
			if v, err := l.Values("rtime.dds.supplier.state"); err != nil || fmt.Sprint(v["good@"+account.NameOf(uint32(os.Getuid()))]) != string(supply.Ready) {
				t.Errorf("%v %v", v, err)
			}
		}
		var m runtime.MemStats
		runtime.ReadMemStats(&m)
		taken := m.TotalAlloc
		b := append([]byte(nil), base.B...)
		copy(b[min(int(at), len(b)):], before)
		h := plant(t, l.dir, b)
		stays()
		copy(h.mem[min(int(there), len(h.mem)):], during)
		stays()
		must(t, h.f.Truncate(int64(cut)))
		stays()
		if runtime.ReadMemStats(&m); m.TotalAlloc-taken > maxTaken {
			t.Errorf("%d bytes were allocated", m.TotalAlloc-taken)
		}
	})
}

// maxTaken is in bytes. It is far more than the agent allocates for a segment of 64
// KiB, and far less than the counts in a segment can ask for.
const maxTaken = 64 << 20

// TestGarbage: the agent survives segments of random bytes, and a good segment with
// random bytes all over it.
func TestGarbage(t *testing.T) {
	l := newLab(t)
	good := supl(t)
	good.Put64(good.Data[1], 22)
	good.Publish(l.dir, -1)
	for i, text := range []string{"", "x", layout.Magic, strings.Repeat(layout.Magic, 8192), strings.Repeat("\xff", 65536), strings.Repeat("\x00", 65536)} {
		must(t, os.WriteFile(filepath.Join(l.dir, fmt.Sprintf("0-1-%d.dds", i)), []byte(text), 0o660))
		must(t, os.WriteFile(filepath.Join(l.dir, fmt.Sprintf("x%d.dds", i)), []byte(text), 0o660))
		l.all()
	}
	must(t, os.Symlink("/dev/zero", filepath.Join(l.dir, "0-1-link.dds")))
	must(t, unix.Mkfifo(filepath.Join(l.dir, "0-1-fifo.dds"), 0o660))
	must(t, os.Mkdir(filepath.Join(l.dir, "0-1-folder.dds"), 0o770))
	l.second()
	l.ahead = 31 * time.Second
	good.Stamp(time.Now().Add(l.ahead))
	l.second()
	l.all()
	l.is("dds.IBM.Test.gadgets", "=22")
	l.is("rtime.dds.agent.suppliers", "=1")
	l.is("rtime.dds.agent.refused", "=9")
}
