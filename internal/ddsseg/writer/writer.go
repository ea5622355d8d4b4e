// Package writer makes the segment of a supplier, for package spmi. It does not check what
// it is told to write.
package writer

import (
	"errors"
	"maps"
	"os"
	"slices"
	"sync"
	"sync/atomic"
	"time"
	"unsafe"

	"github.com/pcp-rtime/rtime/internal/ddsseg/layout"
)

// ErrNoRoom says that a segment cannot grow: the file system, the address space or a limit
// of the process is exhausted. The error returned also wraps the cause.
var ErrNoRoom = errors.New("no room for a supplier's segment")

// ClaimedError says that another supplier has the path.
type ClaimedError struct{ Path string }

func (e *ClaimedError) Error() string { return e.Path + " belongs to another supplier" }

// StatDecl is what a statistic's record holds. The texts must fit their fields, and the
// values must be as the layout says. A Writer does not check that.
type StatDecl struct {
	Name, Descr    string
	Min, Max       int64
	ValueType      uint32
	DataType, Type uint32
	Offset, Size   uint32
	ASN, Units     uint32
	Help, Labels   string
}

// ContextDecl is what the record of a context holds. A volatile context leaves out the
// statistics and the data length, because its template has them.
type ContextDecl struct {
	Path, Descr  string
	ASN          uint32
	Template     bool
	Stats        []StatDecl
	DataLen      uint32
	Help, Labels string
}

// Area is where a context keeps its values. It consists of whole 64-bit words, which do
// not move until Writer.Free.
type Area struct {
	Words  []uint64
	Update Update
}

// Writer writes a segment. Its methods may be called by several goroutines at once.
type Writer struct {
	mu     sync.Mutex
	m      *writerMap
	claims *claims
	mine   map[string]bool // paths that are claimed
	ended  bool

	line   Line
	notice Notice
	end    uint64         // bytes in use
	pools  [64]([]uint64) // free blocks of 1<<k bytes
	slots  []uint32       // free slots
	used   uint32         // slots ever used
	block  [layout.SlotBlocks]uint64
	fixed  []Area
	decls  []ContextDecl
}

// stampLen is the size of the line that holds the time stamp.
const stampLen = 64

// Program is what a segment says about the program that makes it.
type Program struct {
	Name    string
	TimeOut uint32 // see layout.HdrTimeOut
}

// Create claims the paths first, then makes, fills and publishes a segment in dir. It
// returns a *ClaimedError if one of the paths is taken, and another error if the directory
// or the system does not allow a segment. After an error nothing is left behind. If
// prepare is not nil, it stores the values that readers see at first. Create returns its
// error.
func Create(dir string, p Program, contexts []ContextDecl, claim []string, prepare func(*Writer) error) (*Writer, error) {
	c, err := openClaims(dir)
	if err != nil {
		return nil, err
	}
	w := &Writer{claims: c, mine: map[string]bool{}, decls: contexts}
	if err := w.Claim(claim...); err != nil {
		c.close()
		return nil, err
	}
	if w.m, err = newWriterMap(dir); err == nil {
		if err = w.fill(p); err == nil && prepare != nil {
			err = prepare(w)
		}
		if err == nil {
			err = w.m.publish()
		}
		if err != nil {
			w.m.end()
			w.m.free()
		}
	}
	if err != nil {
		w.Release(slices.Collect(maps.Keys(w.mine))...)
		c.close()
		return nil, err
	}
	w.notice.path = noticePath(w.m.path)
	return w, nil
}

// fill writes everything that the segment holds when it is published.
func (w *Writer) fill(p Program) error {
	stats := 0
	for _, c := range w.decls {
		stats += len(c.Stats)
	}
	statsOff := uint64(layout.HeaderLen)
	contextsOff := statsOff + uint64(stats)*layout.StatLen
	stamp := contextsOff + uint64(len(w.decls))*layout.ContextLen
	if err := w.reserve(stamp + stampLen); err != nil {
		return err
	}
	w.header(p, stamp)
	w.line = Line{w.at(stamp)}
	w.put64(layout.HdrStatsOff, statsOff)
	w.put32(layout.HdrStatsCount, uint32(stats))
	w.put64(layout.HdrContextsOff, contextsOff)
	w.put32(layout.HdrContextsCount, uint32(len(w.decls)))
	w.line.Stamp(time.Now())
	first := uint32(0)
	for i, c := range w.decls {
		if err := w.context(contextsOff+uint64(i)*layout.ContextLen, c, first); err != nil {
			return err
		}
		for _, s := range c.Stats {
			if err := w.stat(statsOff+uint64(first)*layout.StatLen, s); err != nil {
				return err
			}
			first++
		}
	}
	atomic.StoreUint32(w.at32(layout.HdrState), layout.StateReady)
	return nil
}

func (w *Writer) header(p Program, stamp uint64) {
	copy(w.m.mem[layout.HdrMagic:], layout.Magic)
	w.put32(layout.HdrOrder, layout.Order)
	*(*uint16)(w.at(layout.HdrMajor)) = layout.Major
	*(*uint16)(w.at(layout.HdrMinor)) = layout.Minor
	w.put32(layout.HdrHeaderLen, layout.HeaderLen)
	w.put32(layout.HdrWord, uint32(unsafe.Sizeof(uintptr(0))))
	w.put32(layout.HdrStatLen, layout.StatLen)
	w.put32(layout.HdrContextLen, layout.ContextLen)
	w.put32(layout.HdrSlotLen, layout.SlotLen)
	pidns, start := identity()
	w.put32(layout.HdrPID, uint32(os.Getpid()))
	w.put64(layout.HdrPIDNS, pidns)
	w.put64(layout.HdrStart, start)
	w.put32(layout.HdrUID, uint32(os.Geteuid()))
	w.put32(layout.HdrTimeOff, uint32(stamp))
	w.put32(layout.HdrTimeWord, 8)
	w.put32(layout.HdrTimeOut, p.TimeOut)
	w.put32(layout.HdrLanguage, layout.LanguageGo)
	w.text(layout.HdrName, layout.PathLen, p.Name)
}

func (w *Writer) stat(off uint64, s StatDecl) error {
	w.text(off+layout.StatName, layout.NameLen, s.Name)
	w.text(off+layout.StatDescr, layout.DescrLen, s.Descr)
	w.put64(off+layout.StatMin, uint64(s.Min))
	w.put64(off+layout.StatMax, uint64(s.Max))
	w.put32(off+layout.StatValueType, s.ValueType)
	w.put32(off+layout.StatDataType, s.DataType)
	w.put32(off+layout.StatType, s.Type)
	w.put32(off+layout.StatOffset, s.Offset)
	w.put32(off+layout.StatSize, s.Size)
	w.put32(off+layout.StatASN, s.ASN)
	w.put32(off+layout.StatUnits, s.Units)
	return errors.Join(
		w.long(off+layout.StatHelpOff, off+layout.StatHelpLen, s.Help),
		w.long(off+layout.StatLabelsOff, off+layout.StatLabelsLen, s.Labels))
}

// context writes a record. Unless it is that of a template, it also makes the area of the
// values.
func (w *Writer) context(off uint64, c ContextDecl, first uint32) error {
	w.text(off+layout.CtxPath, layout.PathLen, c.Path)
	w.text(off+layout.CtxDescr, layout.DescrLen, c.Descr)
	w.put32(off+layout.CtxASN, c.ASN)
	w.put32(off+layout.CtxFirstStat, first)
	w.put32(off+layout.CtxStatCount, uint32(len(c.Stats)))
	w.put32(off+layout.CtxDataLen, c.DataLen)
	area := Area{Update: w.update(off)}
	if c.Template {
		w.put32(off+layout.CtxKind, layout.KindTemplate)
	} else if c.DataLen > 0 {
		data, err := w.alloc(uint64(c.DataLen))
		if err != nil {
			return err
		}
		w.put64(off+layout.CtxDataOff, data)
		area.Words = w.words(data, c.DataLen)
	}
	w.fixed = append(w.fixed, area)
	return errors.Join(
		w.long(off+layout.CtxHelpOff, off+layout.CtxHelpLen, c.Help),
		w.long(off+layout.CtxLabelsOff, off+layout.CtxLabelsLen, c.Labels))
}

// text writes a string that ends with NUL within a field of n bytes.
func (w *Writer) text(off uint64, n int, s string) {
	copy(w.m.mem[off:off+uint64(n)-1], s)
}

// long writes a text of any length to an area of its own.
func (w *Writer) long(off, length uint64, s string) error {
	if s == "" {
		return nil
	}
	at, err := w.alloc(uint64(len(s)))
	if err != nil {
		return err
	}
	copy(w.m.mem[at:], s)
	w.put64(off, at)
	w.put32(length, uint32(len(s)))
	return nil
}

func (w *Writer) at(off uint64) unsafe.Pointer { return unsafe.Pointer(&w.m.mem[off]) }
func (w *Writer) at32(off uint64) *uint32      { return (*uint32)(w.at(off)) }
func (w *Writer) at64(off uint64) *uint64      { return (*uint64)(w.at(off)) }
func (w *Writer) put32(off uint64, v uint32)   { atomic.StoreUint32(w.at32(off), v) }
func (w *Writer) put64(off uint64, v uint64)   { atomic.StoreUint64(w.at64(off), v) }
func (w *Writer) words(off uint64, n uint32) []uint64 {
	return unsafe.Slice(w.at64(off), (n+7)/8)
}

// Fixed returns the area of the i-th context that the writer was created with.
func (w *Writer) Fixed(i int) Area { return w.fixed[i] }

// Line returns the line that holds the time stamp.
func (w *Writer) Line() Line { return w.line }

// Notice returns what the agent tells the supplier.
func (w *Writer) Notice() *Notice { return &w.notice }

// Line is the line of a segment that holds only the time stamp.
type Line struct{ p unsafe.Pointer }

// NewLine returns a line in private memory.
func NewLine() Line { return Line{unsafe.Pointer(new([stampLen / 8]uint64))} }

// Stamp sets the time. A reader may see the seconds of one stamp with the microseconds of
// another. The result is wrong by at most a second.
func (l Line) Stamp(t time.Time) {
	atomic.StoreInt64((*int64)(l.p), t.Unix())
	atomic.StoreInt64((*int64)(unsafe.Add(l.p, 8)), int64(t.Nanosecond()/1000))
}

// Claim claims all the paths or none.
func (w *Writer) Claim(paths ...string) error {
	err := w.claims.claim(paths...)
	if err == nil {
		w.mu.Lock()
		defer w.mu.Unlock()
		for _, path := range paths {
			w.mine[path] = true
		}
	}
	return err
}

// Release gives paths up.
func (w *Writer) Release(paths ...string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	for _, path := range paths {
		if w.mine[path] {
			delete(w.mine, path)
			w.claims.release(path)
		}
	}
}

// Taken reports whether any supplier whose segments lie in dir claims the path. It returns
// an error if it cannot find out.
func Taken(dir, path string) (bool, error) {
	c, err := openClaims(dir)
	if err != nil {
		return false, err
	}
	defer c.close()
	return c.taken(path), nil
}

// End withdraws the segment and gives up its claims. The program may store into areas
// until Unmap, but nobody sees those stores.
func (w *Writer) End() {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.ended {
		return
	}
	w.ended = true
	w.put32(layout.HdrState, layout.StateEnded)
	w.m.end()
	w.notice.close()
	w.claims.release(slices.Collect(maps.Keys(w.mine))...)
	w.claims.close()
}

// Unmap ends the segment and gives the address space back. Nothing may touch an area after
// that.
func (w *Writer) Unmap() {
	w.End()
	w.m.free()
}
