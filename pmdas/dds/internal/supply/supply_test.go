package supply

import (
	"encoding/binary"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/pcp-rtime/rtime/internal/ddsseg/layout"
	"github.com/pcp-rtime/rtime/internal/ddsseg/reader"
	"github.com/pcp-rtime/rtime/internal/ddsseg/reader/readertest"
	"github.com/pcp-rtime/rtime/pmdas/dds/internal/account"
	"github.com/pcp-rtime/rtime/pmdas/dds/internal/conf"
)

// book is a table that writes down what it is told.
type book struct {
	t    *testing.T
	p    *Supply
	now  time.Time
	told []string
}

func (b *book) note(format string, args ...any) {
	b.told = append(b.told, fmt.Sprintf(format, args...))
}

// page is the source of one supplier.
type page struct {
	b     *book
	s     *Supplier
	slots map[uint32]string
}

func (b *book) Opened(s *Supplier) Source {
	b.note("opened %s", s.Info().Name)
	return &page{b, s, make(map[uint32]string)}
}

func (p *page) Load(int) bool {
	for _, c := range p.s.Contexts() {
		if !c.Template {
			p.b.note("has %s", c.Path)
		}
	}
	return true
}
func (p *page) Unload(int) bool {
	p.b.note("unload")
	return true
}
func (p *page) Came(slot uint32, c *reader.Context, err error) {
	if err != nil {
		p.b.note("slot %d: %v", slot, err)
		return
	}
	p.slots[slot] = c.Path
	p.b.note("came %s", c.Path)
}
func (p *page) Gone(slot uint32)            { p.b.note("gone %s", p.slots[slot]) }
func (p *page) Stale(reason string)         { p.b.note("stale") }
func (p *page) Back()                       { p.b.note("back") }
func (p *page) Left(state State, why error) { p.b.note("left %s", state) }

// open makes a directory and a Supply that watches it.
func open(t *testing.T, mend ...func(*Options)) *book {
	t.Helper()
	c := conf.Defaults()
	b := &book{t: t, now: time.Now()}
	now := func() time.Time { return b.now }
	dir := Directory()
	dir.Path = filepath.Join(t.TempDir(), "dds")
	o := Options{Dir: dir, Conf: &c, Users: &account.Users{Conf: &c, Now: now},
		Table: b, Now: now, Log: t.Logf, Complain: func(_ uint32, format string, args ...any) { t.Logf(format, args...) }}
	for _, f := range mend {
		f(&o)
	}
	if err := o.Dir.Make(os.Geteuid(), os.Getegid()); err != nil {
		t.Fatal(err)
	}
	b.p = New(o)
	t.Cleanup(b.p.Close)
	return b
}

// is compares what the table was told since the last call with want.
func (b *book) is(want ...string) {
	b.t.Helper()
	if !slices.Equal(b.told, want) {
		b.t.Errorf("told\n%s\nwant\n%s", strings.Join(b.told, "\n"), strings.Join(want, "\n"))
	}
	b.told = nil
}

func segment(t *testing.T) *readertest.Segment {
	stats := []readertest.Stat{{Name: "n", Type: layout.ULong, Size: 8}}
	return readertest.New(t, "one", 0, readertest.Context{Path: "DDS/v/c", Stats: stats},
		readertest.Context{Path: "DDS/v/c/T", Template: true, Stats: stats})
}

// TestLife: a table is told what happens to a supplier from its beginning to its end.
func TestLife(t *testing.T) {
	b := open(t)
	s := segment(t)
	s.Add(0, 1, "DDS/v/c/a", "")
	path := s.Publish(b.p.Dir.Path, -1)
	b.p.Look()
	b.is("opened one", "has DDS/v/c", "came DDS/v/c/a")
	s.Add(1, 1, "DDS/v/c/b", "")
	s.Delete(0)
	b.p.Look()
	b.is("gone DDS/v/c/a", "came DDS/v/c/b")
	for sup := range b.p.All() {
		b.p.Tell(sup, Demand{3, 1500 * time.Microsecond})
	}
	if got, want := s.Notice(), (readertest.Notice{Interval: 2, Values: 3}); got != want {
		t.Errorf("told %+v, want %+v", got, want)
	}

	b.now = b.now.Add(b.p.Conf.Timeout + time.Second)
	b.p.Tick()
	b.is("unload", "stale")
	if got, want := s.Notice(), (readertest.Notice{GoAway: uint32(b.now.Unix()), Interval: 2, Values: 3}); got != want {
		t.Errorf("told %+v, want %+v", got, want)
	}
	s.Stamp(b.now)
	b.p.Tick()
	b.is("back", "has DDS/v/c", "came DDS/v/c/b")
	if got := s.Notice().GoAway; got != 0 {
		t.Errorf("still told to go away: %d", got)
	}

	s.Die()
	b.p.Look()
	b.is("unload", "left died")
	if _, err := os.Stat(path); !os.IsNotExist(err) {
		t.Errorf("its file is still there: %v", err)
	}
	if left, err := os.ReadDir(filepath.Join(b.p.Dir.Path, layout.NoticeDir)); err != nil || len(left) > 0 {
		t.Errorf("notices that are left: %v, %v", left, err)
	}
	if b.p.Len() != 0 || b.p.Bytes() != 0 || b.p.Counts.Died != 1 || b.p.Counts.Stale != 1 {
		t.Errorf("%d suppliers, %d bytes, %+v", b.p.Len(), b.p.Bytes(), b.p.Counts)
	}
}

// TestBroken: a supplier whose damage is found while its values are read goes with the next
// look. It is not taken again until it changes.
func TestBroken(t *testing.T) {
	b := open(t)
	s := segment(t)
	s.Publish(b.p.Dir.Path, -1)
	b.p.Look()
	for sup := range b.p.All() {
		sup.Break(reader.ErrFormat)
		if sup.Usable() {
			t.Error("it is usable")
		}
	}
	b.told = nil
	for range 3 {
		b.p.Look()
		b.now = b.now.Add(ListEvery)
	}
	b.is("unload", "left damaged")
}

// TestTrying: a Supply that only looks tells suppliers nothing and removes nothing.
func TestTrying(t *testing.T) {
	b := open(t, func(o *Options) { o.Trying = true })
	s, dead := segment(t), segment(t)
	s.Publish(b.p.Dir.Path, -1)
	path := dead.Publish(b.p.Dir.Path, -1)
	dead.Die()
	b.p.Look()
	b.is("opened one", "has DDS/v/c")
	b.now = b.now.Add(time.Hour)
	for sup := range b.p.All() {
		b.p.Tell(sup, Demand{1, time.Second})
	}
	b.p.Tick()
	if _, err := os.Stat(reader.NoticePath(filepath.Split(s.Path()))); !os.IsNotExist(err) {
		t.Errorf("the supplier was told something: %v", err)
	}
	if _, err := os.Stat(path); err != nil {
		t.Errorf("what a dead one left: %v", err)
	}
}

// TestStampOrder: a supplier whose stamp changes is there, whatever the order of its bytes
// and whatever time it gives. A supplier whose stamp stands still is not. A stamp that was
// old when it was first seen is recognized as old, in both orders of bytes.
func TestStampOrder(t *testing.T) {
	for what, put := range map[string]func(*readertest.Segment, time.Time){
		"machine's": func(s *readertest.Segment, t time.Time) { s.Stamp(t) },
		"big-endian": func(s *readertest.Segment, t time.Time) {
			binary.BigEndian.PutUint64(s.B[readertest.TimeOff:], uint64(t.Unix()))
			binary.BigEndian.PutUint64(s.B[readertest.TimeOff+8:], uint64(t.Nanosecond()/1000))
		},
		"no time": func(s *readertest.Segment, t time.Time) { s.Put64(readertest.TimeOff, ^uint64(t.UnixNano())) },
	} {
		t.Run(what, func(t *testing.T) {
			b := open(t)
			s := segment(t)
			put(s, b.now)
			s.Publish(b.p.Dir.Path, -1)
			b.p.Look()
			b.is("opened one", "has DDS/v/c")
			for range 4 {
				b.now = b.now.Add(b.p.Conf.Timeout - time.Second)
				put(s, b.now)
				b.p.Tick()
			}
			b.is()
			b.now = b.now.Add(b.p.Conf.Timeout + time.Second)
			b.p.Tick()
			b.is("unload", "stale")
			if what == "no time" {
				return
			}
			old := segment(t)
			put(old, b.now.Add(-time.Hour))
			old.Publish(b.p.Dir.Path, -1)
			b.p.Look()
			b.is("opened one", "has DDS/v/c", "unload", "stale")
		})
	}
}

// TestTimeOuts: the largest of the time-outs that a user's programs and root's ask for holds.
// If one of them asks for none, there is none.
func TestTimeOuts(t *testing.T) {
	const one, other = 60001, 60002
	for _, c := range []struct {
		name  string
		conf  time.Duration
		root  []uint32      // what programs of root ask for
		one   []uint32      // what programs of the user ask for
		want  time.Duration // the time-out for that user's suppliers
		other time.Duration // the time-out for another user's
	}{
		{"nobody asks", 30, nil, []uint32{0}, 30, 30},
		{"less than configured", 30, nil, []uint32{15}, 30, 30},
		{"more", 30, nil, []uint32{60, 45}, 60, 30},
		{"root's", 30, []uint32{600}, []uint32{60}, 600, 600},
		{"never", 30, nil, []uint32{60, layout.TimeOutNever, 600}, 0, 30},
		{"root's never", 30, []uint32{layout.TimeOutNever}, []uint32{60}, 0, 0},
		{"configured never", 0, nil, []uint32{60}, 0, 0},
	} {
		b := open(t)
		b.p.Conf.Timeout = c.conf * time.Second
		var all []*readertest.Segment
		publish := func(uid int, words []uint32) {
			for _, w := range words {
				s := segment(t)
				s.Put32(layout.HdrTimeOut, w)
				s.Publish(b.p.Dir.Path, uid)
				all = append(all, s)
			}
		}
		publish(other, []uint32{0})
		publish(0, c.root)
		publish(one, c.one)
		b.p.Look()
		check := func(when string, want map[uint32]time.Duration) {
			t.Helper()
			for s := range b.p.All() {
				if got, ok := want[s.User.UID]; ok && b.p.Timeout(s) != got*time.Second {
					t.Errorf("%s, %s: %v for user %d, want %d s", c.name, when, b.p.Timeout(s), s.User.UID, got)
				}
			}
		}
		if b.p.Len() != len(all) {
			t.Fatalf("%s: %d suppliers of %d", c.name, b.p.Len(), len(all))
		}
		check("together", map[uint32]time.Duration{one: c.want, other: c.other})
		for _, s := range all[1:] {
			s.Die()
		}
		b.p.Look()
		check("alone", map[uint32]time.Duration{other: c.conf})
	}
}

// TestNotices: notices that an earlier agent has left are removed, and the same file serves a
// supplier that is still there.
func TestNotices(t *testing.T) {
	b := open(t)
	s := segment(t)
	dir, name := filepath.Split(s.Publish(b.p.Dir.Path, -1))
	for _, n := range []string{name, "1-2-3.dds"} {
		if err := (reader.Notice{Values: 9}).Write(dir, n); err != nil {
			t.Fatal(err)
		}
	}
	ino := func() uint64 {
		info, err := os.Stat(reader.NoticePath(dir, name))
		if err != nil {
			t.Fatal(err)
		}
		return info.Sys().(*syscall.Stat_t).Ino
	}
	before := ino()
	b.p.Look()
	if s.Notice() != (readertest.Notice{}) || ino() != before {
		t.Errorf("told %+v in file %d, was %d", s.Notice(), ino(), before)
	}
	if left, err := os.ReadDir(filepath.Join(dir, layout.NoticeDir)); err != nil || len(left) != 1 {
		t.Errorf("left: %v, %v", left, err)
	}
}
