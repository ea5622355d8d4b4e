//go:build linux

package ddsseg_test

import (
	"errors"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/pcp-rtime/rtime/internal/ddsseg"
	"github.com/pcp-rtime/rtime/internal/ddsseg/readertest"
	"github.com/pcp-rtime/rtime/internal/shm"
)

// TestDamagedRecords damages each field that a reader relies on, in each way that must
// be told, and reads.
func TestDamagedRecords(t *testing.T) {
	format, limit := ddsseg.ErrFormat, ddsseg.ErrLimit
	put32 := func(off uint64, v uint32) func(*readertest.Segment) {
		return func(s *readertest.Segment) { s.Put32(off, v) }
	}
	put64 := func(off, v uint64) func(*readertest.Segment) {
		return func(s *readertest.Segment) { s.Put64(off, v) }
	}
	ctx := func(i int, off uint64, v uint32) func(*readertest.Segment) {
		return func(s *readertest.Segment) { s.Put32(s.ContextOff(i)+off, v) }
	}
	ctx64 := func(i int, off, v uint64) func(*readertest.Segment) {
		return func(s *readertest.Segment) { s.Put64(s.ContextOff(i)+off, v) }
	}
	stat := func(off uint64, v uint32) func(*readertest.Segment) {
		return func(s *readertest.Segment) { s.Put32(s.StatOff(1)+off, v) }
	}
	fill := func(at func(*readertest.Segment) uint64, n int, text string) func(*readertest.Segment) {
		return func(s *readertest.Segment) {
			field := s.B[at(s):][:n]
			clear(field)
			if text == "" {
				for i := range field {
					field[i] = 'x'
				}
			}
			copy(field, text)
		}
	}
	path := func(text string) func(*readertest.Segment) {
		return fill(func(s *readertest.Segment) uint64 { return s.ContextOff(1) }, ddsseg.PathLen, text)
	}
	name := func(text string) func(*readertest.Segment) {
		return fill(func(s *readertest.Segment) uint64 { return s.StatOff(1) }, ddsseg.NameLen, text)
	}
	for what, c := range map[string]struct {
		mend func(*readertest.Segment)
		want error
	}{
		"nothing":                   {func(*readertest.Segment) {}, nil},
		"magic":                     {put32(0, 1), format},
		"byte order":                {put32(ddsseg.HdrOrder, 0x04030201), format},
		"version":                   {put32(ddsseg.HdrMajor, 2), format},
		"later minor version":       {put32(ddsseg.HdrMajor, 1|9<<16), nil},
		"header length":             {put32(ddsseg.HdrHeaderLen, 520), format},
		"statistics' length":        {put32(ddsseg.HdrStatLen, 0), format},
		"contexts' length":          {put32(ddsseg.HdrContextLen, 1), format},
		"slots' length":             {put32(ddsseg.HdrSlotLen, 1<<31), format},
		"pointers":                  {put32(ddsseg.HdrWord, 2), format},
		"size 0":                    {put64(ddsseg.HdrSize, 0), format},
		"size too large":            {put64(ddsseg.HdrSize, math.MaxUint64), format},
		"building":                  {put32(ddsseg.HdrState, 0), ddsseg.ErrNotReady},
		"ended":                     {put32(ddsseg.HdrState, 2), ddsseg.ErrEnded},
		"state":                     {put32(ddsseg.HdrState, 3), format},
		"owner":                     {put32(ddsseg.HdrUID, 77), ddsseg.ErrOwner},
		"name without end":          {fill(func(*readertest.Segment) uint64 { return ddsseg.HdrName }, 64, ""), format},
		"time stamp's place":        {put32(ddsseg.HdrTimeOff, math.MaxUint32-7), format},
		"time stamp in the header":  {put32(ddsseg.HdrTimeOff, 64), format},
		"time stamp unaligned":      {put32(ddsseg.HdrTimeOff, 516), format},
		"time stamp's width":        {put32(ddsseg.HdrTimeWord, 3), format},
		"go-away word's place":      {put32(ddsseg.HdrGoAwayOff, readertest.DefaultSize), format},
		"go-away word's length":     {put32(ddsseg.HdrGoAwayLen, 2), format},
		"interval's place":          {put32(ddsseg.HdrIntervalOff, 0), format},
		"subscription's place":      {put32(ddsseg.HdrSubscribOff, 1<<31), format},
		"port's place":              {put32(ddsseg.HdrPortOff, 1), format},
		"statistics' place":         {put64(ddsseg.HdrStatsOff, math.MaxUint64-7), format},
		"statistics unaligned":      {put64(ddsseg.HdrStatsOff, 513), format},
		"statistics in the header":  {put64(ddsseg.HdrStatsOff, 8), format},
		"statistics' count":         {put32(ddsseg.HdrStatsCount, math.MaxUint32), limit},
		"more statistics than room": {put32(ddsseg.HdrStatsCount, 1000), format},
		"contexts' place":           {put64(ddsseg.HdrContextsOff, 1<<40), format},
		"contexts' count":           {put32(ddsseg.HdrContextsCount, 200001), limit},
		"a context's kind":          {ctx(1, ddsseg.CtxKind, 2), format},
		"first statistic":           {ctx(1, ddsseg.CtxFirstStat, 4), format},
		"first statistic, overflow": {ctx(1, ddsseg.CtxFirstStat, math.MaxUint32), format},
		"count of statistics":       {ctx(1, ddsseg.CtxStatCount, math.MaxUint32), format},
		"data's place":              {ctx64(1, ddsseg.CtxDataOff, math.MaxUint64-7), format},
		"data unaligned":            {ctx64(1, ddsseg.CtxDataOff, 1004), format},
		"data in the header":        {ctx64(1, ddsseg.CtxDataOff, 0), format},
		"data's length":             {ctx(1, ddsseg.CtxDataLen, math.MaxUint32), format},
		"data too short":            {ctx(1, ddsseg.CtxDataLen, 15), format},
		"help's place":              {ctx64(1, ddsseg.CtxHelpOff, math.MaxUint64), format},
		"help's length":             {ctx(1, ddsseg.CtxHelpLen, ddsseg.MaxHelp+1), limit},
		"labels' place":             {ctx64(1, ddsseg.CtxLabelsOff, 8), format},
		"labels' length":            {ctx(1, ddsseg.CtxLabelsLen, math.MaxUint32), limit},
		"path without end":          {path(""), format},
		"path elsewhere":            {path("CPU/cpu0"), format},
		"path empty element":        {path("DDS//x"), format},
		"path with control":         {path("DDS/v/\x01"), format},
		"path everybody's":          {path("DDS/v"), format},
		"path twice":                {path("DDS/IBM"), format},
		"name of statistic no end":  {name(""), format},
		"name of statistic slash":   {name("a/b"), format},
		"name of statistic twice":   {name("gadgets"), format},
		"value type":                {stat(ddsseg.StatValueType, 2), format},
		"data type":                 {stat(ddsseg.StatDataType, ddsseg.DataTypes), format},
		"type":                      {stat(ddsseg.StatType, math.MaxUint32), format},
		"size of a value":           {stat(ddsseg.StatSize, 3), format},
		"size of a value 0":         {stat(ddsseg.StatSize, 0), format},
		"size of a value, huge":     {stat(ddsseg.StatSize, math.MaxUint32), format},
		"size of a double":          {func(s *readertest.Segment) { stat(ddsseg.StatType, ddsseg.Double)(s); stat(ddsseg.StatSize, 2)(s) }, format},
		"offset":                    {stat(ddsseg.StatOffset, 9), format},
		"offset, overflow":          {stat(ddsseg.StatOffset, math.MaxUint32-3), format},
		"statistic's help": {func(s *readertest.Segment) {
			s.Put64(s.StatOff(1)+ddsseg.StatHelpOff, 1)
			stat(ddsseg.StatHelpLen, 8)(s)
		}, format},
		"statistic's labels": {func(s *readertest.Segment) {
			s.Put64(s.StatOff(1)+ddsseg.StatLabelsOff, 1)
			stat(ddsseg.StatLabelsLen, ddsseg.MaxLabels+1)(s)
		}, limit},
	} {
		t.Run(what, func(t *testing.T) {
			s := sample(t, 0)
			c.mend(s)
			file := filepath.Join(t.TempDir(), "f")
			if err := os.WriteFile(file, s.B, 0o600); err != nil {
				t.Fatal(err)
			}
			r, err := ddsseg.OpenReader(file, limits)
			if !errors.Is(err, c.want) {
				t.Errorf("%v, want %v", err, c.want)
			}
			if err != nil && !strings.Contains(err.Error(), file) {
				t.Errorf("%v does not name the file", err)
			}
			if r != nil {
				use(r)
				r.Close()
			}
		})
	}
}

// TestDamagedSlots: a slot that makes no sense is told of as such, and the others are
// there; what makes all slots senseless is an error.
func TestDamagedSlots(t *testing.T) {
	put32 := func(off uint64, v uint32) func(*readertest.Segment, uint64) {
		return func(s *readertest.Segment, slot uint64) { s.Put32(slot+off, v) }
	}
	for what, mend := range map[string]func(*readertest.Segment, uint64){
		"template":            put32(ddsseg.SlotTemplate, 3),
		"template, huge":      put32(ddsseg.SlotTemplate, math.MaxUint32),
		"template, no such":   put32(ddsseg.SlotTemplate, 1),
		"data's place":        func(s *readertest.Segment, slot uint64) { s.Put64(slot+ddsseg.CtxDataOff, 1<<50) },
		"data in the header":  func(s *readertest.Segment, slot uint64) { s.Put64(slot+ddsseg.CtxDataOff, 0) },
		"data's length":       put32(ddsseg.CtxDataLen, 8),
		"data's length, huge": put32(ddsseg.CtxDataLen, math.MaxUint32),
		"path":                put32(ddsseg.CtxPath, 0),
		"description":         func(s *readertest.Segment, slot uint64) { copy(s.B[slot+64:], strings.Repeat("x", 64)) },
		"help": func(s *readertest.Segment, slot uint64) {
			s.Put64(slot+ddsseg.CtxHelpOff, 1<<50)
			s.Put32(slot+ddsseg.CtxHelpLen, 1)
		},
		"labels without bound": func(s *readertest.Segment, slot uint64) {
			s.Put64(slot+ddsseg.CtxLabelsOff, 600)
			s.Put32(slot+ddsseg.CtxLabelsLen, 1<<31)
		},
	} {
		s := sample(t, 0)
		s.Add(0, 2, "DDS/IBM/Test/good", "")
		s.Add(1, 2, "DDS/IBM/Test/bad", "", func(off uint64) { mend(s, off) })
		r := open(t, s.Publish(t.TempDir(), -1))
		w := newWatch()
		scan(t, r, w)
		if w.at[0] == nil || w.at[1] != nil || !errors.Is(w.bad[1], ddsseg.ErrFormat) && !errors.Is(w.bad[1], ddsseg.ErrLimit) {
			t.Errorf("%s: %v %v", what, w.at, w.bad)
		}
	}
	for what, mend := range map[string]func(*readertest.Segment){
		"count":           func(s *readertest.Segment) { s.Put32(ddsseg.HdrSlotsCount, math.MaxUint32) },
		"no block":        func(s *readertest.Segment) { s.Put32(ddsseg.HdrSlotsCount, 65) },
		"block's place":   func(s *readertest.Segment) { s.Put64(ddsseg.HdrSlotBlock, math.MaxUint64-7) },
		"block in header": func(s *readertest.Segment) { s.Put64(ddsseg.HdrSlotBlock, 256) },
		"block unaligned": func(s *readertest.Segment) { s.Put64(ddsseg.HdrSlotBlock, 1001) },
	} {
		s := sample(t, 0)
		s.Add(0, 2, "DDS/IBM/Test/good", "")
		mend(s)
		r := open(t, s.Publish(t.TempDir(), -1))
		if _, err := r.Scan(newWatch(), 1000); !errors.Is(err, ddsseg.ErrFormat) && !errors.Is(err, ddsseg.ErrLimit) {
			t.Errorf("%s: %v", what, err)
		}
	}
}

// use reads all there is to read.
func use(r *ddsseg.Reader) {
	w := newWatch()
	_, _ = r.Changed()
	_, _ = r.Scan(w, 1000)
	_, _ = r.Scan(w, 1000)
	list := make([]*ddsseg.Context, 0, len(w.at))
	for _, c := range w.at {
		list = append(list, c)
	}
	for i := range r.Contexts() {
		list = append(list, &r.Contexts()[i])
	}
	for _, c := range list {
		fields := make([]ddsseg.Field, len(c.Stats))
		for i := range c.Stats {
			fields[i] = c.Stats[i].Field()
			_, _, _ = r.Text(&c.Place, &c.Stats[i])
		}
		_, _ = r.Collect(&c.Place, fields, make([]uint64, len(fields)))
	}
	_, _ = r.Stamp()
	_, _ = r.GoAway()
	_ = r.SetGoAway()
	_ = r.SetDemand(1, 1)
	_, _ = r.State()
}

// FuzzReader reads arbitrary bytes, then cuts the file off while it is mapped and reads
// on. The first bytes are those of a good segment, with what the fuzzer gives laid over
// it at an offset.
func FuzzReader(f *testing.F) {
	base := sample(f, 65<<10)
	base.Add(0, 2, "DDS/IBM/Test/a", "")
	base.Add(70, 2, "DDS/IBM/Test/b", "")
	f.Add([]byte{}, uint16(0), uint16(0))
	for _, off := range []uint64{0, 24, 64, 80, 104, base.ContextOff(1), base.StatOff(1), base.SlotOff(0)} {
		f.Add([]byte("\xff\xff\xff\xff\xff\xff\xff\x7f"), uint16(off), uint16(4096))
	}
	f.Fuzz(func(t *testing.T, over []byte, off, cut uint16) {
		b := append([]byte(nil), base.B...)
		copy(b[min(int(off), len(b)):], over)
		path := filepath.Join(t.TempDir(), "f")
		if err := os.WriteFile(path, b, 0o600); err != nil {
			t.Fatal(err)
		}
		r, err := ddsseg.OpenReader(path, limits)
		if err != nil {
			return
		}
		defer r.Close()
		use(r)
		if err := os.Truncate(path, int64(cut)); err != nil {
			t.Fatal(err)
		}
		use(r)
	})
}

// TestNotSegments: other kinds of files are refused with their names.
func TestNotSegments(t *testing.T) {
	dir := t.TempDir()
	for i, c := range []struct {
		text string
		want error
	}{
		{"", shm.ErrSmall}, {"RTDDSEG1", shm.ErrSmall}, {strings.Repeat("\x00", 4096), ddsseg.ErrFormat}, {strings.Repeat("RTDDSEG1", 512), ddsseg.ErrFormat},
	} {
		path := filepath.Join(dir, fmt.Sprint(i))
		if err := os.WriteFile(path, []byte(c.text), 0o600); err != nil {
			t.Fatal(err)
		}
		if _, err := ddsseg.OpenReader(path, limits); !errors.Is(err, c.want) {
			t.Errorf("%.10q: %v, want %v", c.text, err, c.want)
		}
	}
}
