//go:build linux

package reader_test

import (
	"encoding/binary"
	"errors"
	"fmt"
	"io/fs"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/pcp-rtime/rtime/internal/ddsseg/layout"
	"github.com/pcp-rtime/rtime/internal/ddsseg/reader"
	"github.com/pcp-rtime/rtime/internal/ddsseg/reader/readertest"
	"github.com/pcp-rtime/rtime/internal/shm"
)

var limits = reader.Limits{Size: 1 << 28, Contexts: 200000, Stats: 1000}

func u64s(names ...string) (stats []readertest.Stat) {
	for i, n := range names {
		stats = append(stats, readertest.Stat{Name: n, Type: layout.ULong, Offset: uint32(i * 8), Size: 8})
	}
	return stats
}

// sample has a fixed context and a template of volatile ones.
func sample(t testing.TB, size int) *readertest.Segment {
	t.Helper()
	return readertest.New(t, "sample", size,
		readertest.Context{Path: "DDS/IBM"},
		readertest.Context{Path: "DDS/IBM/Test", Descr: "Bogus", ASN: 220, Stats: u64s("gadgets", "widgets"), Help: "long", Labels: `{"a":1}`},
		readertest.Context{Path: "DDS/IBM/Test/INST", Template: true, Stats: u64s("problems", "solutions")})
}

func open(t testing.TB, path string) *reader.Reader {
	t.Helper()
	r, err := reader.Open(path, limits)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { r.Close() })
	return r
}

// collect reads all values of a context.
func collect(t testing.TB, r *reader.Reader, c *reader.Context) ([]uint64, bool) {
	t.Helper()
	fields := make([]reader.Field, len(c.Stats))
	for i := range c.Stats {
		fields[i] = c.Stats[i].Field()
	}
	out := make([]uint64, len(fields))
	ok, err := r.Collect(&c.Place, fields, out)
	if err != nil {
		t.Fatal(err)
	}
	return out, ok
}

func TestTables(t *testing.T) {
	s := sample(t, 0)
	s.Put64(s.Data[1], 22)
	s.Put64(s.Data[1]+8, 42)
	r := open(t, s.Publish(t.TempDir(), -1))
	list := r.Contexts()
	if len(list) != 3 || r.Values() != 2 || r.Info().Name != "sample" || r.Info().UID != uint32(os.Getuid()) {
		t.Fatalf("%+v %+v", r.Info(), list)
	}
	c := list[1]
	if c.Path != "DDS/IBM/Test" || c.Descr != "Bogus" || c.ASN != 220 || c.Help != "long" || c.Labels != `{"a":1}` || c.Template || c.From != -1 {
		t.Errorf("%+v", c)
	}
	if !list[2].Template || list[2].Stats[1].Name != "solutions" || !list[2].Stats[1].Counter {
		t.Errorf("%+v", list[2])
	}
	if v, ok := collect(t, r, &c); !ok || v[0] != 22 || v[1] != 42 {
		t.Errorf("%v %v", v, ok)
	}
	if v, ok := collect(t, r, &list[2]); ok {
		t.Errorf("a template has values: %v", v)
	}
}

// TestTypes stores a pattern and reads it as each type.
func TestTypes(t *testing.T) {
	f32, f64 := math.Float32bits(-1.5), math.Float64bits(-2.25)
	le := func(n uint64, size int) []byte {
		b := make([]byte, 8)
		switch size {
		case 1:
			b[0] = byte(n)
		case 2:
			binary.NativeEndian.PutUint16(b, uint16(n))
		case 4:
			binary.NativeEndian.PutUint32(b, uint32(n))
		default:
			binary.NativeEndian.PutUint64(b, n)
		}
		return b[:size]
	}
	minus := func(n int64) uint64 { return uint64(n) }
	cases := []struct {
		typ    uint32
		stored []byte
		want   uint64
	}{
		{layout.ULong, le(math.MaxUint64, 8), math.MaxUint64}, {layout.ULong, le(math.MaxUint32, 4), math.MaxUint32},
		{layout.Long, le(minus(-5), 8), minus(-5)}, {layout.Long, le(minus(-5), 4), minus(-5)},
		{layout.UInt, le(1<<31, 4), 1 << 31}, {layout.Int, le(1<<31, 4), minus(-1 << 31)},
		{layout.UShort, le(0xfffe, 2), 0xfffe}, {layout.Short, le(0xfffe, 2), minus(-2)},
		{layout.Char, le(0xff, 1), 0xff}, {layout.Addr, le(0xffffffff, 4), 0xffffffff},
		{layout.Timeval, slices.Concat(le(3, 8), le(4, 8)), 3000004}, {layout.Timeval, slices.Concat(le(minus(-3), 4), le(4, 4)), minus(-2999996)},
		{layout.Float, le(uint64(f32), 4), math.Float64bits(-1.5)}, {layout.Double, le(f64, 8), f64},
		{layout.Ptr, le(1<<63, 8), 1 << 63}, {layout.Unsign, le(0x80000000, 4), 0x80000000},
	}
	// Aligned, and packed one byte off.
	for _, shift := range []uint32{0, 1} {
		var stats []readertest.Stat
		off := shift
		for i, c := range cases {
			stats = append(stats, readertest.Stat{Name: fmt.Sprintf("s%d", i), Type: c.typ, Offset: off, Size: uint32(len(c.stored))})
			off += 16
		}
		s := readertest.New(t, "types", 0, readertest.Context{Path: "DDS/v/types", Stats: stats})
		for i, c := range cases {
			copy(s.B[s.Data[0]+uint64(stats[i].Offset):], c.stored)
		}
		r := open(t, s.Publish(t.TempDir(), -1))
		got, ok := collect(t, r, &r.Contexts()[0])
		if !ok {
			t.Fatal("no values")
		}
		for i, c := range cases {
			if got[i] != c.want {
				t.Errorf("shift %d, type %d of %d bytes: %#x, want %#x", shift, c.typ, len(c.stored), got[i], c.want)
			}
		}
	}
}

func TestText(t *testing.T) {
	s := readertest.New(t, "text", 0, readertest.Context{Path: "DDS/v/text", Stats: []readertest.Stat{
		{Name: "t", Type: layout.Char, Offset: 3, Size: 10}, {Name: "n", Type: layout.Char, Offset: 0, Size: 1}}})
	r := open(t, s.Publish(t.TempDir(), -1))
	c := &r.Contexts()[0]
	for _, want := range []string{"", "hello", "0123456789"} {
		clear(s.B[s.Data[0]+3:][:10])
		copy(s.B[s.Data[0]+3:], want)
		if got, ok, err := r.Text(&c.Place, &c.Stats[0]); got != want || !ok || err != nil {
			t.Errorf("%q %v %v, want %q", got, ok, err, want)
		}
	}
	if _, ok, _ := r.Text(&c.Place, &c.Stats[1]); ok {
		t.Error("a single character is read as text")
	}
}

// TestUpdateUnderWay: while the update word is odd there are no values.
func TestUpdateUnderWay(t *testing.T) {
	s := sample(t, 0)
	r := open(t, s.Publish(t.TempDir(), -1))
	c := &r.Contexts()[1]
	off := s.ContextOff(1) + layout.CtxUpdate
	for _, step := range []struct {
		word uint32
		want bool
	}{{0, true}, {1, false}, {2, true}, {math.MaxUint32, false}} {
		s.Put32(off, step.word)
		if _, ok := collect(t, r, c); ok != step.want {
			t.Errorf("update word %d: values %v", step.word, ok)
		}
	}
}

// watch records what Scan reports.
type watch struct {
	at   map[uint32]*reader.Context
	bad  map[uint32]error
	said []string
}

func newWatch() *watch {
	return &watch{at: make(map[uint32]*reader.Context), bad: make(map[uint32]error)}
}
func (w *watch) Gone(slot uint32) {
	delete(w.at, slot)
	delete(w.bad, slot)
	w.said = append(w.said, fmt.Sprintf("-%d", slot))
}
func (w *watch) Came(slot uint32, c *reader.Context, err error) {
	w.said = append(w.said, fmt.Sprintf("+%d", slot))
	if err != nil {
		w.bad[slot] = err
		return
	}
	w.at[slot] = c
}

func scan(t testing.TB, r *reader.Reader, w *watch) int {
	t.Helper()
	n, err := r.Scan(w, math.MaxInt)
	if err != nil {
		t.Fatal(err)
	}
	return n
}

func TestScan(t *testing.T) {
	s := sample(t, 0)
	r := open(t, s.Publish(t.TempDir(), -1))
	w := newWatch()
	if yes, err := r.Changed(); !yes || err != nil {
		t.Fatalf("the first look: %v %v", yes, err)
	}
	if n := scan(t, r, w); n != 0 {
		t.Fatalf("%d slots changed in a segment without any", n)
	}
	data := s.Add(2, 2, "DDS/IBM/Test/Bingo", "added")
	s.Put64(data+8, 7)
	scan(t, r, w)
	bingo := w.at[2]
	if bingo == nil || bingo.Path != "DDS/IBM/Test/Bingo" || bingo.Descr != "added" || bingo.From != 2 {
		t.Fatalf("%+v", bingo)
	}
	if v, ok := collect(t, r, bingo); !ok || v[1] != 7 {
		t.Errorf("%v %v", v, ok)
	}
	if yes, _ := r.Changed(); yes {
		t.Error("changed after a scan")
	}
	// Deleted and added again in a lower slot: Scan reports the two in the order that
	// works.
	s.Delete(2)
	s.Add(0, 2, "DDS/IBM/Test/Bingo", "again")
	if _, ok := collect(t, r, bingo); ok {
		t.Error("values of a context that is gone")
	}
	w.said = nil
	scan(t, r, w)
	if !slices.Equal(w.said, []string{"-2", "+0"}) {
		t.Errorf("%v", w.said)
	}
	if _, ok := collect(t, r, w.at[0]); !ok {
		t.Error("no values of the new one")
	}
	// The same slot is used for another context.
	old := w.at[0]
	s.Delete(0)
	s.Add(0, 2, "DDS/IBM/Test/Bango", "other")
	if _, ok := collect(t, r, old); ok {
		t.Error("another's values")
	}
	w.said = nil
	scan(t, r, w)
	if !slices.Equal(w.said, []string{"-0", "+0"}) || w.at[0].Path != "DDS/IBM/Test/Bango" {
		t.Errorf("%v %+v", w.said, w.at[0])
	}
}

// TestScanInPieces: a limit postpones slots and loses none.
func TestScanInPieces(t *testing.T) {
	s := sample(t, 0)
	for i := range uint32(200) {
		s.Add(i, 2, fmt.Sprintf("DDS/IBM/Test/i%d", i), "")
	}
	r := open(t, s.Publish(t.TempDir(), -1))
	w := newWatch()
	for i := range 4 {
		n, err := r.Scan(w, 60)
		if want := min(60, 200-60*i); err != nil || n != want {
			t.Errorf("scan %d: %d slots, %v; want %d", i, n, err, want)
		}
		if yes, _ := r.Changed(); yes != (i < 3) {
			t.Errorf("after scan %d: changed %v", i, yes)
		}
	}
	if len(w.at) != 200 {
		t.Errorf("%d contexts", len(w.at))
	}
}

// TestSlotInChange: a slot whose word is odd is looked at again later, whatever the
// change counter says.
func TestSlotInChange(t *testing.T) {
	s := sample(t, 0)
	r := open(t, s.Publish(t.TempDir(), -1))
	w := newWatch()
	s.Add(0, 2, "DDS/IBM/Test/a", "")
	seq := s.SlotOff(0) + layout.SlotSeq
	s.Put32(seq, s.Get32(seq)-1)
	scan(t, r, w)
	if yes, _ := r.Changed(); len(w.at) != 0 || !yes {
		t.Fatalf("%v, changed %v", w.said, yes)
	}
	s.Put32(seq, s.Get32(seq)+1)
	scan(t, r, w)
	if yes, _ := r.Changed(); w.at[0] == nil || yes {
		t.Errorf("%v, changed %v", w.said, yes)
	}
}

// TestGrowth: the reader follows slots and data that lie beyond what it mapped at first.
func TestGrowth(t *testing.T) {
	s := sample(t, 1<<20)
	path := s.Publish(t.TempDir(), -1)
	room := int64(64 << 10)
	s.Truncate(room) // the size that the supplier's file had at first
	s.Put64(layout.HdrSize, uint64(room))
	r := open(t, path)
	if r.Bytes() != room {
		t.Fatalf("%d bytes", r.Bytes())
	}
	s.Truncate(1 << 20)
	var data uint64
	for i := range uint32(600) {
		data = s.Add(i, 2, fmt.Sprintf("DDS/IBM/Test/i%d", i), "")
	}
	s.Put64(data, 99)
	w := newWatch()
	scan(t, r, w)
	if len(w.at) != 600 || r.Bytes() != 1<<20 {
		t.Fatalf("%d contexts, %d bytes, %v", len(w.at), r.Bytes(), w.bad)
	}
	if v, ok := collect(t, r, w.at[599]); !ok || v[0] != 99 {
		t.Errorf("%v %v", v, ok)
	}
	c := &r.Contexts()[1]
	if _, ok := collect(t, r, c); !ok {
		t.Error("what was there before has no values now")
	}
}

func TestWords(t *testing.T) {
	s := sample(t, 0)
	r := open(t, s.Publish(t.TempDir(), -1))
	at := time.Unix(1700000000, 123456000)
	s.Stamp(at)
	if got, err := r.Stamp(); err != nil || !got.Equal(at) {
		t.Errorf("%v %v", got, err)
	}
	s.Stamp(time.Unix(0, 0))
	if got, err := r.Stamp(); err != nil || !got.IsZero() {
		t.Errorf("no time stamp: %v %v", got, err)
	}
	s.Put32(layout.HdrState, layout.StateEnded)
	if st, err := r.State(); st != layout.StateEnded || err != nil {
		t.Errorf("%v %v", st, err)
	}
}

// TestTimeOut: the time-out that a program asks for counts if it is in range.
func TestTimeOut(t *testing.T) {
	for word, want := range map[uint32]time.Duration{0: 0, 14: 0, 15: 15 * time.Second, 600: 10 * time.Minute, 601: 0, layout.TimeOutNever: -1} {
		s := sample(t, 0)
		s.Put32(layout.HdrTimeOut, word)
		if got := open(t, s.Publish(t.TempDir(), -1)).Info().TimeOut; got != want {
			t.Errorf("%d: %v", word, got)
		}
	}
}

// TestNotice: a notice is a page in a file of the agent. It stays the same file and
// everybody can read it, whatever the umask. Write changes no other file.
func TestNotice(t *testing.T) {
	defer unix.Umask(unix.Umask(0o077))
	dir := t.TempDir()
	s := sample(t, 0)
	_, name := filepath.Split(s.Publish(dir, -1))
	if err := (reader.Notice{}).Write(dir, name); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("without a folder: %v", err)
	}
	if err := os.Mkdir(filepath.Join(dir, layout.NoticeDir), 0o700); err != nil {
		t.Fatal(err)
	}
	var ino uint64
	for _, c := range []struct {
		n    reader.Notice
		want readertest.Notice
	}{
		{reader.Notice{}, readertest.Notice{}},
		{reader.Notice{Interval: 1500 * time.Millisecond, Values: 12}, readertest.Notice{Interval: 1500, Values: 12}},
		{reader.Notice{Interval: time.Microsecond, Values: 1}, readertest.Notice{Interval: 1, Values: 1}},
		{reader.Notice{GoAway: time.Unix(1700000000, 1)}, readertest.Notice{GoAway: 1700000000}},
		{reader.Notice{GoAway: time.Unix(1<<32, 0)}, readertest.Notice{GoAway: 1}},
	} {
		if err := c.n.Write(dir, name); err != nil {
			t.Fatal(err)
		}
		if got := s.Notice(); got != c.want {
			t.Errorf("%+v stands there as %+v", c.n, got)
		}
		var st unix.Stat_t
		if err := unix.Stat(reader.NoticePath(dir, name), &st); err != nil || st.Mode&0o7777 != layout.NoticeFile {
			t.Errorf("mode %o, %v", st.Mode, err)
		}
		if ino != 0 && st.Ino != ino {
			t.Error("it is another file")
		}
		ino = st.Ino
	}
	link := reader.NoticePath(dir, "link")
	if err := os.Symlink(s.Path(), link); err != nil {
		t.Fatal(err)
	}
	if err := (reader.Notice{}).Write(dir, "link"); err == nil {
		t.Error("a link was followed")
	}
	folder := filepath.Join(dir, layout.NoticeDir)
	if err := os.Chown(folder, 65534, -1); err != nil {
		t.Fatal(err)
	}
	if err := (reader.Notice{}).Write(dir, name); !errors.Is(err, reader.ErrOwner) {
		t.Errorf("in another user's folder: %v", err)
	}
}

func TestAlive(t *testing.T) {
	s := sample(t, 0)
	r := open(t, s.Publish(t.TempDir(), -1))
	if yes, err := r.Alive(); !yes || err != nil {
		t.Errorf("%v %v", yes, err)
	}
	s.Die()
	if yes, err := r.Alive(); yes || err != nil {
		t.Errorf("after its end: %v %v", yes, err)
	}
}

// TestTruncatedReader: every method of a reader survives the loss of its file.
func TestTruncatedReader(t *testing.T) {
	s := sample(t, 0)
	s.Add(0, 2, "DDS/IBM/Test/a", "")
	r := open(t, s.Publish(t.TempDir(), -1))
	w := newWatch()
	scan(t, r, w)
	c := &r.Contexts()[1]
	s.Truncate(0)
	for name, f := range map[string]func() error{
		"Changed": func() error { _, err := r.Changed(); return err },
		"Scan":    func() error { _, err := r.Scan(w, 10); return err },
		"Collect": func() error {
			_, err := r.Collect(&c.Place, []reader.Field{c.Stats[0].Field()}, make([]uint64, 1))
			return err
		},
		"State": func() error { _, err := r.State(); return err },
		"Stamp": func() error { _, err := r.Stamp(); return err },
	} {
		if err := f(); !errors.Is(err, shm.ErrFault) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func TestOwner(t *testing.T) {
	if os.Getuid() != 0 {
		t.Fatal("run by root: it gives files away")
	}
	s := sample(t, 0)
	path := s.Publish(t.TempDir(), 65534)
	if r := open(t, path); r.Info().UID != 65534 {
		t.Errorf("user %d", r.Info().UID)
	}
	if err := os.Chown(path, 1, -1); err != nil {
		t.Fatal(err)
	}
	if _, err := reader.Open(path, limits); !errors.Is(err, reader.ErrOwner) {
		t.Error(err)
	}
	if err := os.Remove(path); err != nil {
		t.Fatal(err)
	}
	if _, err := reader.Open(path, limits); !errors.Is(err, fs.ErrNotExist) {
		t.Error(err)
	}
}

// TestRecent changes slots at random, fewer and more than the list holds, and compares
// what the reader knows with what is there.
func TestRecent(t *testing.T) {
	const slots = 100
	for _, keeps := range []bool{true, false} {
		s := sample(t, 1<<22)
		s.Recent = keeps
		s.Put32(layout.HdrChanges, math.MaxUint32-300)
		r := open(t, s.Publish(t.TempDir(), -1))
		w := newWatch()
		rnd := rand.New(rand.NewPCG(1, 2))
		there := make(map[uint32]string)
		for round := range 200 {
			for n := rnd.IntN(2 * layout.RecentCount); n > 0; n-- {
				slot := rnd.Uint32N(slots)
				if there[slot] != "" {
					s.Delete(slot)
					delete(there, slot)
					continue
				}
				there[slot] = fmt.Sprintf("DDS/IBM/Test/i%d.%d", round, n)
				s.Add(slot, 2, there[slot], "")
			}
			scan(t, r, w)
			if len(w.at) != len(there) {
				t.Fatalf("round %d: %d contexts, want %d", round, len(w.at), len(there))
			}
			for slot, path := range there {
				if c := w.at[slot]; c == nil || c.Path != path {
					t.Fatalf("round %d, slot %d: %+v, want %s", round, slot, c, path)
				}
			}
		}
	}
}

func BenchmarkScan(b *testing.B) {
	for _, n := range []int{10, 1000, 100000} {
		b.Run(fmt.Sprint(n), func(b *testing.B) {
			s := sample(b, 4096+n*(layout.SlotLen+32)*2+1<<16)
			for i := range uint32(n) {
				s.Add(i, 2, fmt.Sprintf("DDS/IBM/Test/i%d", i), "")
			}
			r := open(b, s.Publish(b.TempDir(), -1))
			w := newWatch()
			scan(b, r, w)
			b.ResetTimer()
			s.Recent = true
			for range b.N {
				off := s.SlotOff(3)
				s.Put32(off+layout.SlotSeq, s.Get32(off+layout.SlotSeq)+2)
				s.Count(3)
				w.said = w.said[:0]
				if scan(b, r, w) != 1 {
					b.Fatal("not one slot")
				}
			}
		})
	}
}

func BenchmarkCollect(b *testing.B) {
	s := readertest.New(b, "b", 0, readertest.Context{Path: "DDS/v/c", Stats: u64s("a", "b", "c", "d", "e", "f", "g", "h")})
	r := open(b, s.Publish(b.TempDir(), -1))
	c := &r.Contexts()[0]
	fields, out := make([]reader.Field, 8), make([]uint64, 8)
	for i := range fields {
		fields[i] = c.Stats[i].Field()
	}
	b.ResetTimer()
	for range b.N {
		if ok, err := r.Collect(&c.Place, fields, out); !ok || err != nil {
			b.Fatal(ok, err)
		}
	}
}
