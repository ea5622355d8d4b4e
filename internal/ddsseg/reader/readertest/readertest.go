// Package readertest makes segments byte by byte. It follows the layout and uses no
// writer, so that readers can be tested with segments that no writer would make.
package readertest

import (
	"encoding/binary"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/pcp-rtime/rtime/internal/ddsseg/layout"
	"github.com/pcp-rtime/rtime/internal/ddsseg/reader"
)

// Stat describes a statistic to make.
type Stat struct {
	Name, Descr  string
	Min, Max     int64
	Quantity     bool
	Type         uint32
	Offset, Size uint32
	ASN, Units   uint32
	Help, Labels string
}

// Context describes a fixed context or template to make. Len is the length of its data; 0
// means what its statistics need.
type Context struct {
	Path, Descr  string
	ASN          uint32
	Template     bool
	Stats        []Stat
	Len          uint32
	Help, Labels string
}

// Segment is a segment in memory, or in a file that is mapped.
type Segment struct {
	t    testing.TB
	B    []byte // all of it; once published, the memory of the file
	path string
	file *os.File

	contexts []Context
	Data     []uint64 // offset of each context's data
	Slots    uint32
	Recent   bool   // keep the list of the latest changes
	next     uint64 // the next free offset
}

// Offsets that this package has chosen.
const (
	TimeOff     = 512 // two 64-bit words
	tablesOff   = 576
	DefaultSize = 256 << 10
)

// New builds a valid segment with a time stamp. size is in bytes; 0 means DefaultSize.
func New(t testing.TB, name string, size int, contexts ...Context) *Segment {
	t.Helper()
	if size == 0 {
		size = DefaultSize
	}
	s := &Segment{t: t, B: make([]byte, size), contexts: contexts, next: tablesOff}
	copy(s.B, layout.Magic)
	for off, v := range map[int]uint32{
		layout.HdrOrder: layout.Order, layout.HdrHeaderLen: layout.HeaderLen, layout.HdrWord: 8,
		layout.HdrState: layout.StateReady, layout.HdrPID: uint32(os.Getpid()), layout.HdrUID: uint32(os.Getuid()),
		layout.HdrStatLen: layout.StatLen, layout.HdrContextLen: layout.ContextLen, layout.HdrSlotLen: layout.SlotLen,
		layout.HdrTimeOff: TimeOff, layout.HdrTimeWord: 8,
		layout.HdrLanguage: layout.LanguageGo,
	} {
		s.Put32(uint64(off), v)
	}
	binary.NativeEndian.PutUint16(s.B[layout.HdrMajor:], layout.Major)
	s.Put64(layout.HdrSize, uint64(size))
	copy(s.B[layout.HdrName:], name)
	s.Stamp(time.Now())
	s.tables()
	return s
}

func (s *Segment) tables() {
	nstats := 0
	for _, c := range s.contexts {
		nstats += len(c.Stats)
	}
	stats := s.Room(uint64(nstats) * layout.StatLen)
	table := s.Room(uint64(len(s.contexts)) * layout.ContextLen)
	s.Put64(layout.HdrStatsOff, stats)
	s.Put32(layout.HdrStatsCount, uint32(nstats))
	s.Put64(layout.HdrContextsOff, table)
	s.Put32(layout.HdrContextsCount, uint32(len(s.contexts)))
	first := uint32(0)
	for i, c := range s.contexts {
		for j, st := range c.Stats {
			s.stat(stats+uint64(first+uint32(j))*layout.StatLen, st)
		}
		off := table + uint64(i)*layout.ContextLen
		kind := uint32(layout.KindFixed)
		if c.Template {
			kind = layout.KindTemplate
		}
		s.Put32(off+layout.CtxKind, kind)
		s.Put32(off+layout.CtxFirstStat, first)
		s.Put32(off+layout.CtxStatCount, uint32(len(c.Stats)))
		s.describe(off, c)
		s.Data = append(s.Data, 0)
		if !c.Template {
			s.Data[i] = s.data(off, c)
		}
		first += uint32(len(c.Stats))
	}
}

func (s *Segment) describe(off uint64, c Context) {
	copy(s.B[off+layout.CtxPath:][:layout.PathLen-1], c.Path)
	copy(s.B[off+layout.CtxDescr:][:layout.DescrLen-1], c.Descr)
	s.Put32(off+layout.CtxASN, c.ASN)
	s.text(off+layout.CtxHelpOff, off+layout.CtxHelpLen, c.Help)
	s.text(off+layout.CtxLabelsOff, off+layout.CtxLabelsLen, c.Labels)
}

// data gives a context its data area.
func (s *Segment) data(off uint64, c Context) uint64 {
	n := c.Len
	for _, st := range c.Stats {
		if c.Len == 0 {
			n = max(n, st.Offset+st.Size)
		}
	}
	data := s.Room(uint64(n))
	s.Put64(off+layout.CtxDataOff, data)
	s.Put32(off+layout.CtxDataLen, n)
	return data
}

func (s *Segment) stat(off uint64, st Stat) {
	copy(s.B[off+layout.StatName:][:layout.NameLen-1], st.Name)
	copy(s.B[off+layout.StatDescr:][:layout.DescrLen-1], st.Descr)
	s.Put64(off+layout.StatMin, uint64(st.Min))
	s.Put64(off+layout.StatMax, uint64(st.Max))
	valueType := uint32(layout.Counter)
	if st.Quantity {
		valueType = layout.Quantity
	}
	s.Put32(off+layout.StatValueType, valueType)
	s.Put32(off+layout.StatDataType, layout.Long)
	s.Put32(off+layout.StatType, st.Type)
	s.Put32(off+layout.StatOffset, st.Offset)
	s.Put32(off+layout.StatSize, st.Size)
	s.Put32(off+layout.StatASN, st.ASN)
	s.Put32(off+layout.StatUnits, st.Units)
	s.text(off+layout.StatHelpOff, off+layout.StatHelpLen, st.Help)
	s.text(off+layout.StatLabelsOff, off+layout.StatLabelsLen, st.Labels)
}

func (s *Segment) text(off, length uint64, text string) {
	if text == "" {
		return
	}
	at := s.Room(uint64(len(text)))
	copy(s.B[at:], text)
	s.Put64(off, at)
	s.Put32(length, uint32(len(text)))
}

// Room reserves n bytes.
func (s *Segment) Room(n uint64) uint64 {
	s.t.Helper()
	at := s.next
	s.next = (s.next + n + 7) &^ 7
	if s.next > uint64(len(s.B)) {
		s.t.Fatalf("a segment of %d bytes has no room for %d at %d", len(s.B), n, at)
	}
	return at
}

// Put32 and Put64 store words, and Get32 reads one.
func (s *Segment) Put32(off uint64, v uint32) { binary.NativeEndian.PutUint32(s.B[off:], v) }
func (s *Segment) Put64(off uint64, v uint64) { binary.NativeEndian.PutUint64(s.B[off:], v) }
func (s *Segment) Get32(off uint64) uint32    { return binary.NativeEndian.Uint32(s.B[off:]) }
func (s *Segment) get64(off uint64) uint64    { return binary.NativeEndian.Uint64(s.B[off:]) }

// Stamp sets the time stamp.
func (s *Segment) Stamp(t time.Time) {
	s.Put64(TimeOff, uint64(t.Unix()))
	s.Put64(TimeOff+8, uint64(t.Nanosecond()/1000))
}

// SlotOff returns the offset of a slot. If the slot's block is not there, SlotOff makes
// it.
func (s *Segment) SlotOff(n uint32) uint64 {
	s.t.Helper()
	k, index := layout.SlotPlace(n)
	at := uint64(layout.HdrSlotBlock + k*8)
	if s.get64(at) == 0 {
		s.Put64(at, s.Room(layout.SlotBlockFirst<<k*layout.SlotLen))
	}
	return s.get64(at) + uint64(index)*layout.SlotLen
}

// Add puts a volatile context into a slot and returns the offset of its data.
func (s *Segment) Add(slot uint32, template int, path, descr string, mend ...func(off uint64)) uint64 {
	s.t.Helper()
	off := s.SlotOff(slot)
	s.Put32(off+layout.SlotSeq, s.Get32(off+layout.SlotSeq)+1)
	clear(s.B[off : off+layout.DescrLen+layout.PathLen])
	c := s.contexts[template]
	c.Path, c.Descr, c.Help, c.Labels = path, descr, "", ""
	s.describe(off, c)
	data := s.data(off, c)
	s.Put32(off+layout.SlotTemplate, uint32(template))
	s.Put32(off+layout.SlotActive, 1)
	for _, f := range mend {
		f(off)
	}
	s.Put32(off+layout.SlotSeq, s.Get32(off+layout.SlotSeq)+1)
	s.Slots = max(s.Slots, slot+1)
	s.Put32(layout.HdrSlotsCount, s.Slots)
	s.Count(slot)
	return data
}

// Delete removes the context in a slot.
func (s *Segment) Delete(slot uint32) {
	off := s.SlotOff(slot)
	s.Put32(off+layout.SlotSeq, s.Get32(off+layout.SlotSeq)+1)
	s.Put32(off+layout.SlotActive, 0)
	s.Put32(off+layout.SlotSeq, s.Get32(off+layout.SlotSeq)+1)
	s.Count(slot)
}

// Count counts a change of a slot.
func (s *Segment) Count(slot uint32) {
	n := s.Get32(layout.HdrChanges)
	if s.Recent {
		s.Put32(layout.HdrRecent+uint64(n%layout.RecentCount)*4, slot+1)
	}
	s.Put32(layout.HdrChanges, n+1)
}

// Publish writes the segment into a folder, as a supplier does, and maps it: from then on
// B is what readers see. uid is the owner; -1 means the test's own user. Publish holds the
// lock that says that the supplier lives until Die or End. It returns the path.
func (s *Segment) Publish(dir string, uid int) string {
	s.t.Helper()
	if uid < 0 {
		uid = os.Getuid()
	} else {
		s.Put32(layout.HdrUID, uint32(uid))
	}
	name := fmt.Sprintf("%d-%d-%x", uid, os.Getpid(), time.Now().UnixNano())
	hidden := filepath.Join(dir, layout.NewPrefix+name)
	s.check(os.WriteFile(hidden, s.B, layout.FileMode))
	s.check(os.Chmod(hidden, layout.FileMode))
	s.check(os.Chown(hidden, uid, -1))
	f, err := os.OpenFile(hidden, os.O_RDWR, 0)
	s.check(err)
	s.file = f
	s.check(unix.FcntlFlock(f.Fd(), unix.F_OFD_SETLK, &unix.Flock_t{Type: unix.F_WRLCK, Start: layout.AliveOffset, Len: 1}))
	// A mapping keeps the descriptor that it was made from open, and so its locks.
	m, err := os.OpenFile(hidden, os.O_RDWR, 0)
	s.check(err)
	defer m.Close()
	s.B, err = unix.Mmap(int(m.Fd()), 0, len(s.B), unix.PROT_READ|unix.PROT_WRITE, unix.MAP_SHARED)
	s.check(err)
	s.path = filepath.Join(dir, name+layout.Suffix)
	s.check(os.Rename(hidden, s.path))
	s.t.Cleanup(func() {
		s.Die()
		_ = unix.Munmap(s.B)
	})
	return s.path
}

func (s *Segment) check(err error) {
	s.t.Helper()
	if err != nil {
		s.t.Fatal(err)
	}
}

// Notice is what the supplier was told, in the words of the file.
type Notice struct{ GoAway, Interval, Values uint32 }

// Notice reads what the agent has told the supplier. All words are zero if it has told
// nothing.
func (s *Segment) Notice() (n Notice) {
	dir, name := filepath.Split(s.path)
	b, err := os.ReadFile(reader.NoticePath(dir, name))
	if errors.Is(err, fs.ErrNotExist) {
		return n
	}
	s.check(err)
	if len(b) != layout.NoticeLen {
		s.t.Fatalf("a notice of %d bytes", len(b))
	}
	word := func(off int) uint32 { return binary.NativeEndian.Uint32(b[off:]) }
	return Notice{word(layout.NoticeGoAway), word(layout.NoticeInterval), word(layout.NoticeSubscrib)}
}

// Path returns the path of a segment that is published.
func (s *Segment) Path() string { return s.path }

// Die does what the kernel does when the supplier is killed: the file stays, without its
// lock.
func (s *Segment) Die() { s.file.Close() }

// End does what a supplier does when it ends.
func (s *Segment) End() {
	s.Put32(layout.HdrState, layout.StateEnded)
	_ = os.Remove(s.path) // the agent may have removed it already
	s.Die()
}

// Truncate cuts the file off under all mappings. B must not be touched any more. If the
// file becomes longer, it gets storage for that, as a supplier's file does.
func (s *Segment) Truncate(size int64) {
	s.check(s.file.Truncate(size))
	if size > 0 {
		s.check(unix.Fallocate(int(s.file.Fd()), 0, 0, size))
	}
}

// Punch takes away the storage of n bytes at off and so makes a hole in the file.
func (s *Segment) Punch(off, n int64) {
	s.check(unix.Fallocate(int(s.file.Fd()), unix.FALLOC_FL_PUNCH_HOLE|unix.FALLOC_FL_KEEP_SIZE, off, n))
}

// ContextOff returns the offset of a context's record.
func (s *Segment) ContextOff(i int) uint64 {
	return s.get64(layout.HdrContextsOff) + uint64(i)*layout.ContextLen
}

// StatOff returns the offset of a statistic's record.
func (s *Segment) StatOff(i int) uint64 {
	return s.get64(layout.HdrStatsOff) + uint64(i)*layout.StatLen
}

// ASN gives an ASN.1 number to the context that Add puts into a slot.
func ASN(s *Segment, number uint32) func(off uint64) {
	return func(off uint64) { s.Put32(off+layout.CtxASN, number) }
}
