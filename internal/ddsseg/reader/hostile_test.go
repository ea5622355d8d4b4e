//go:build linux

package reader_test

import (
	"errors"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/pcp-rtime/rtime/internal/ddsseg/layout"
	"github.com/pcp-rtime/rtime/internal/ddsseg/reader"
	"github.com/pcp-rtime/rtime/internal/ddsseg/reader/readertest"
	"github.com/pcp-rtime/rtime/internal/shm"
)

// TestDamagedRecords damages each field that a reader relies on, in each way that the
// reader must report, and reads.
func TestDamagedRecords(t *testing.T) {
	format, limit := reader.ErrFormat, reader.ErrLimit
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
		return fill(func(s *readertest.Segment) uint64 { return s.ContextOff(1) }, layout.PathLen, text)
	}
	name := func(text string) func(*readertest.Segment) {
		return fill(func(s *readertest.Segment) uint64 { return s.StatOff(1) }, layout.NameLen, text)
	}
	for what, c := range map[string]struct {
		mend func(*readertest.Segment)
		want error
	}{
		"nothing":                   {func(*readertest.Segment) {}, nil},
		"magic":                     {put32(0, 1), format},
		"byte order":                {put32(layout.HdrOrder, 0x04030201), format},
		"version":                   {put32(layout.HdrMajor, 2), format},
		"later minor version":       {put32(layout.HdrMajor, 1|9<<16), nil},
		"header length":             {put32(layout.HdrHeaderLen, 520), format},
		"statistics' length":        {put32(layout.HdrStatLen, 0), format},
		"contexts' length":          {put32(layout.HdrContextLen, 1), format},
		"slots' length":             {put32(layout.HdrSlotLen, 1<<31), format},
		"pointers":                  {put32(layout.HdrWord, 2), format},
		"size 0":                    {put64(layout.HdrSize, 0), format},
		"size too large":            {put64(layout.HdrSize, math.MaxUint64), format},
		"building":                  {put32(layout.HdrState, 0), reader.ErrNotReady},
		"ended":                     {put32(layout.HdrState, 2), reader.ErrEnded},
		"state":                     {put32(layout.HdrState, 3), format},
		"owner":                     {put32(layout.HdrUID, 77), reader.ErrOwner},
		"name without end":          {fill(func(*readertest.Segment) uint64 { return layout.HdrName }, 64, ""), format},
		"time stamp's place":        {put32(layout.HdrTimeOff, math.MaxUint32-7), format},
		"time stamp in the header":  {put32(layout.HdrTimeOff, 64), format},
		"time stamp unaligned":      {put32(layout.HdrTimeOff, 516), format},
		"time stamp's width":        {put32(layout.HdrTimeWord, 3), format},
		"statistics' place":         {put64(layout.HdrStatsOff, math.MaxUint64-7), format},
		"statistics unaligned":      {put64(layout.HdrStatsOff, 513), format},
		"statistics in the header":  {put64(layout.HdrStatsOff, 8), format},
		"statistics' count":         {put32(layout.HdrStatsCount, math.MaxUint32), limit},
		"more statistics than room": {put32(layout.HdrStatsCount, 1000), format},
		"contexts' place":           {put64(layout.HdrContextsOff, 1<<40), format},
		"contexts' count":           {put32(layout.HdrContextsCount, 200001), limit},
		"a context's kind":          {ctx(1, layout.CtxKind, 2), format},
		"first statistic":           {ctx(1, layout.CtxFirstStat, 4), format},
		"first statistic, overflow": {ctx(1, layout.CtxFirstStat, math.MaxUint32), format},
		"count of statistics":       {ctx(1, layout.CtxStatCount, math.MaxUint32), format},
		"data's place":              {ctx64(1, layout.CtxDataOff, math.MaxUint64-7), format},
		"data unaligned":            {ctx64(1, layout.CtxDataOff, 1004), format},
		"data in the header":        {ctx64(1, layout.CtxDataOff, 0), format},
		"data's length":             {ctx(1, layout.CtxDataLen, math.MaxUint32), format},
		"data too short":            {ctx(1, layout.CtxDataLen, 15), format},
		"help's place":              {ctx64(1, layout.CtxHelpOff, math.MaxUint64), format},
		"help's length":             {ctx(1, layout.CtxHelpLen, reader.MaxHelp+1), limit},
		"labels' place":             {ctx64(1, layout.CtxLabelsOff, 8), format},
		"labels' length":            {ctx(1, layout.CtxLabelsLen, math.MaxUint32), limit},
		"path without end":          {path(""), format},
		"path elsewhere":            {path("CPU/cpu0"), format},
		"path empty element":        {path("DDS//x"), format},
		"path with control":         {path("DDS/v/\x01"), format},
		"path everybody's":          {path("DDS/v"), format},
		"path twice":                {path("DDS/IBM"), format},
		"name of statistic no end":  {name(""), format},
		"name of statistic slash":   {name("a/b"), format},
		"name of statistic twice":   {name("gadgets"), format},
		"value type":                {stat(layout.StatValueType, 2), format},
		"data type":                 {stat(layout.StatDataType, layout.DataTypes), format},
		"type":                      {stat(layout.StatType, math.MaxUint32), format},
		"size of a value":           {stat(layout.StatSize, 3), format},
		"size of a value 0":         {stat(layout.StatSize, 0), format},
		"size of a value, huge":     {stat(layout.StatSize, math.MaxUint32), format},
		"size of a double":          {func(s *readertest.Segment) { stat(layout.StatType, layout.Double)(s); stat(layout.StatSize, 2)(s) }, format},
		"offset":                    {stat(layout.StatOffset, 9), format},
		"offset, overflow":          {stat(layout.StatOffset, math.MaxUint32-3), format},
		"statistic's help": {func(s *readertest.Segment) {
			s.Put64(s.StatOff(1)+layout.StatHelpOff, 1)
			stat(layout.StatHelpLen, 8)(s)
		}, format},
		"statistic's labels": {func(s *readertest.Segment) {
			s.Put64(s.StatOff(1)+layout.StatLabelsOff, 1)
			stat(layout.StatLabelsLen, reader.MaxLabels+1)(s)
		}, limit},
	} {
		t.Run(what, func(t *testing.T) {
			s := sample(t, 0)
			c.mend(s)
			file := filepath.Join(t.TempDir(), "f")
			if err := os.WriteFile(file, s.B, 0o600); err != nil {
				t.Fatal(err)
			}
			r, err := reader.Open(file, limits)
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

// TestDamagedSlots: a slot that makes no sense is reported, and the others are there.
// Damage that makes no sense of all slots is an error.
func TestDamagedSlots(t *testing.T) {
	put32 := func(off uint64, v uint32) func(*readertest.Segment, uint64) {
		return func(s *readertest.Segment, slot uint64) { s.Put32(slot+off, v) }
	}
	for what, mend := range map[string]func(*readertest.Segment, uint64){
		"template":            put32(layout.SlotTemplate, 3),
		"template, huge":      put32(layout.SlotTemplate, math.MaxUint32),
		"template, no such":   put32(layout.SlotTemplate, 1),
		"data's place":        func(s *readertest.Segment, slot uint64) { s.Put64(slot+layout.CtxDataOff, 1<<50) },
		"data in the header":  func(s *readertest.Segment, slot uint64) { s.Put64(slot+layout.CtxDataOff, 0) },
		"data's length":       put32(layout.CtxDataLen, 8),
		"data's length, huge": put32(layout.CtxDataLen, math.MaxUint32),
		"path":                put32(layout.CtxPath, 0),
		"description":         func(s *readertest.Segment, slot uint64) { copy(s.B[slot+64:], strings.Repeat("x", 64)) },
		"help": func(s *readertest.Segment, slot uint64) {
			s.Put64(slot+layout.CtxHelpOff, 1<<50)
			s.Put32(slot+layout.CtxHelpLen, 1)
		},
		"labels without bound": func(s *readertest.Segment, slot uint64) {
			s.Put64(slot+layout.CtxLabelsOff, 600)
			s.Put32(slot+layout.CtxLabelsLen, 1<<31)
		},
	} {
		s := sample(t, 0)
		s.Add(0, 2, "DDS/IBM/Test/good", "")
		s.Add(1, 2, "DDS/IBM/Test/bad", "", func(off uint64) { mend(s, off) })
		r := open(t, s.Publish(t.TempDir(), -1))
		w := newWatch()
		scan(t, r, w)
		if w.at[0] == nil || w.at[1] != nil || !errors.Is(w.bad[1], reader.ErrFormat) && !errors.Is(w.bad[1], reader.ErrLimit) {
			t.Errorf("%s: %v %v", what, w.at, w.bad)
		}
	}
	for what, mend := range map[string]func(*readertest.Segment){
		"count":           func(s *readertest.Segment) { s.Put32(layout.HdrSlotsCount, math.MaxUint32) },
		"no block":        func(s *readertest.Segment) { s.Put32(layout.HdrSlotsCount, 65) },
		"block's place":   func(s *readertest.Segment) { s.Put64(layout.HdrSlotBlock, math.MaxUint64-7) },
		"block in header": func(s *readertest.Segment) { s.Put64(layout.HdrSlotBlock, 256) },
		"block unaligned": func(s *readertest.Segment) { s.Put64(layout.HdrSlotBlock, 1001) },
	} {
		s := sample(t, 0)
		s.Add(0, 2, "DDS/IBM/Test/good", "")
		mend(s)
		r := open(t, s.Publish(t.TempDir(), -1))
		if _, err := r.Scan(newWatch(), 1000); !errors.Is(err, reader.ErrFormat) && !errors.Is(err, reader.ErrLimit) {
			t.Errorf("%s: %v", what, err)
		}
	}
}

// use reads all that there is to read.
func use(r *reader.Reader) {
	w := newWatch()
	_, _ = r.Changed()
	_, _ = r.Scan(w, 1000)
	_, _ = r.Scan(w, 1000)
	list := make([]*reader.Context, 0, len(w.at))
	for _, c := range w.at {
		list = append(list, c)
	}
	for i := range r.Contexts() {
		list = append(list, &r.Contexts()[i])
	}
	for _, c := range list {
		fields := make([]reader.Field, len(c.Stats))
		for i := range c.Stats {
			fields[i] = c.Stats[i].Field()
			_, _, _ = r.Text(&c.Place, &c.Stats[i])
		}
		_, _ = r.Collect(&c.Place, fields, make([]uint64, len(fields)))
	}
	_, _ = r.Stamp()
	_, _ = r.State()
}

// FuzzReader reads arbitrary bytes, then cuts the file off while it is mapped and reads
// on. The file is a good segment; the fuzzer's bytes overwrite it from an offset on.
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
		r, err := reader.Open(path, limits)
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

// TestNotSegments: files of other kinds are refused, and the error names the kind.
func TestNotSegments(t *testing.T) {
	dir := t.TempDir()
	for i, c := range []struct {
		text string
		want error
	}{
		{"", shm.ErrSmall}, {"RTDDSEG1", shm.ErrSmall}, {strings.Repeat("\x00", 4096), reader.ErrFormat}, {strings.Repeat("RTDDSEG1", 512), reader.ErrFormat},
	} {
		path := filepath.Join(dir, fmt.Sprint(i))
		if err := os.WriteFile(path, []byte(c.text), 0o600); err != nil {
			t.Fatal(err)
		}
		if _, err := reader.Open(path, limits); !errors.Is(err, c.want) {
			t.Errorf("%.10q: %v, want %v", c.text, err, c.want)
		}
	}
}
