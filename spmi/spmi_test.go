//go:build linux

package spmi_test

import (
	"math"
	"reflect"
	"runtime"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/pcp-rtime/rtime/internal/ddsseg/layout"
	segreader "github.com/pcp-rtime/rtime/internal/ddsseg/reader"
	"github.com/pcp-rtime/rtime/pcp"
	"github.com/pcp-rtime/rtime/spmi"
)

// TestLosesNothing: eight goroutines add at once to values of every kind.
func TestLosesNothing(t *testing.T) {
	const each = 1000000
	var v struct {
		Big    spmi.Counter
		Level  spmi.Gauge
		Small  spmi.CounterOf[uint16]
		Sum    spmi.Float
		Narrow spmi.FloatCounterOf[float32]
		Time   spmi.Timer
	}
	dir := segments(t)
	open(t, spmi.Options{Dir: dir}, &spmi.Context{Path: "DDS/T/all", Values: &v})
	var wg sync.WaitGroup
	for range 8 {
		wg.Go(func() {
			for i := range each {
				v.Big.Inc()
				if i%10 == 0 {
					v.Level.Add(-3)
					v.Small.Add(5)
					v.Sum.Add(0.5)
					v.Time.Add(7 * time.Microsecond)
				}
				if i%100 == 0 {
					v.Narrow.Add(1)
				}
			}
		})
	}
	wg.Wait()
	r := reader(t, dir)
	got := values(t, r, find(t, r.Contexts(), "DDS/T/all"))
	const tenth = 8 * each / 10
	small := 5 * tenth
	level := int64(-3 * tenth)
	want := []uint64{8 * each, uint64(level), uint64(uint16(small)), math.Float64bits(tenth / 2),
		math.Float64bits(8 * each / 100), 7 * tenth}
	if !reflect.DeepEqual(got, want) {
		t.Errorf("got %v, want %v", got, want)
	}
	if v.Big.Value() != 8*each || v.Level.Value() != level || v.Small.Value() != uint16(small) ||
		v.Sum.Value() != tenth/2 || v.Narrow.Value() != 8*each/100 || v.Time.Value() != 7*tenth*time.Microsecond {
		t.Errorf("the program sees something else: %v", v)
	}
}

// TestAllOrNone: two goroutines update ten values together, and a reader sees them all
// equal.
func TestAllOrNone(t *testing.T) {
	var q [10]spmi.Quantity
	var stats []spmi.Stat
	for i := range q {
		stats = append(stats, spmi.Stat{Name: string(rune('a' + i)), To: &q[i]})
	}
	c := &spmi.Context{Path: "DDS/T/ten", Stats: stats}
	dir := segments(t)
	open(t, spmi.Options{Dir: dir}, c)
	var stop atomic.Bool
	var wg sync.WaitGroup
	for range 2 {
		wg.Go(func() {
			for n := int64(0); !stop.Load(); n++ {
				c.Update(func() {
					for i := range q {
						q[i].Add(n)
					}
				})
				runtime.Gosched()
			}
		})
	}
	r := reader(t, dir)
	seen := find(t, r.Contexts(), "DDS/T/ten")
	out := make([]uint64, 10)
	read, distinct, last := 0, 0, uint64(0)
	for deadline := time.Now().Add(5 * time.Minute); (read < 50000 || distinct < 100) && time.Now().Before(deadline); {
		if !collect(t, r, seen, out) {
			continue
		}
		read++
		if out[0] != last {
			last = out[0]
			distinct++
		}
		for i, v := range out {
			if v != out[0] {
				t.Fatalf("value %d is %d, the first %d", i, v, out[0])
			}
		}
	}
	stop.Store(true)
	wg.Wait()
	if read < 50000 || distinct < 100 {
		t.Fatalf("%d reads of %d states in five minutes", read, distinct)
	}
}

// TestRecords: the segment holds everything that is declared.
func TestRecords(t *testing.T) {
	var level spmi.QuantityOf[int32]
	var v struct {
		Gadgets spmi.Counter `spmi:"gadgets" descr:"Fake counter value" asn:"1" min:"0" max:"100" units:"kbyte/s" as:"long" help:"Long help."`
		Plain   spmi.Float
		Not     spmi.Counter `spmi:"-"`
		other   int
	}
	v.other++
	dir := segments(t)
	open(t, spmi.Options{Dir: dir, Name: "records", Vendor: "DDS/IBM"},
		&spmi.Context{Path: "DDS/IBM", Descr: "IBM-defined Dynamic Data-Suppliers", ASN: 2},
		&spmi.Context{Path: "Test", Descr: "Bogus Context Number 1", ASN: 220, Help: "h", Values: &v,
			Stats:  []spmi.Stat{{Name: "%level", To: &level, Min: -5, Labels: map[string]string{"b": "2", "a": "<1>"}}},
			Labels: map[string]string{"x": "y"}})
	level.Set(-7)
	v.Gadgets.Add(22)
	v.Plain.Set(0.25)
	v.Not.Add(1)
	r := reader(t, dir)
	if i := r.Info(); i.Name != "records" || i.Language != layout.LanguageGo || i.Start == 0 || i.PIDNS == 0 {
		t.Errorf("header: %+v", i)
	}
	if c := find(t, r.Contexts(), "DDS/IBM"); c.ASN != 2 || len(c.Stats) != 0 || c.Descr != "IBM-defined Dynamic Data-Suppliers" {
		t.Errorf("vendor: %+v", c)
	}
	c := find(t, r.Contexts(), "DDS/IBM/Test")
	if c.ASN != 220 || c.Descr != "Bogus Context Number 1" || c.Help != "h" || c.Labels != `{"x":"y"}` || c.Template || len(c.Stats) != 3 {
		t.Fatalf("context: %+v", c)
	}
	want := []segreader.Stat{
		{Name: "%level", Min: -5, Type: layout.Int, DataType: layout.Int, Size: 4, Labels: `{"a":"\u003c1\u003e","b":"2"}`},
		{Name: "gadgets", Descr: "Fake counter value", Max: 100, Counter: true, Type: layout.ULong, DataType: layout.Long, Size: 8, ASN: 1,
			Units: pcp.KBytes.Per(pcp.Seconds).Word(), Help: "Long help."},
		{Name: "plain", Type: layout.Double, DataType: layout.Double, Size: 8},
	}
	for i, s := range c.Stats {
		s.Offset = 0
		if s != want[i] {
			t.Errorf("statistic %d:\n got %+v\nwant %+v", i, s, want[i])
		}
	}
	got, minus := values(t, r, c), int64(-7)
	if got[0] != uint64(minus) || got[1] != 22 || math.Float64frombits(got[2]) != 0.25 {
		t.Errorf("values %v", got)
	}
}

// TestUnits: the word is PCP's for every unit that a tag can name and for the extreme
// values.
func TestUnits(t *testing.T) {
	for _, c := range []struct {
		units spmi.Units
		want  pcp.Units
	}{
		{spmi.NoUnits, pcp.None}, {spmi.Count, pcp.Count}, {spmi.Bytes, pcp.Bytes}, {spmi.KBytes, pcp.KBytes},
		{spmi.Nanoseconds, pcp.Nanoseconds}, {spmi.Microseconds, pcp.Microseconds}, {spmi.Milliseconds, pcp.Milliseconds},
		{spmi.Seconds, pcp.Seconds}, {spmi.Count.Per(spmi.Seconds), pcp.PerSecond},
		{spmi.MakeUnits(-8, 7, -1, 8, spmi.Hour, -8),
			pcp.MakeUnits(-8, 7, -1, pcp.SpaceYByte, pcp.TimeHour, -8)},
	} {
		var n spmi.Counter
		dir := segments(t)
		s := open(t, spmi.Options{Dir: dir}, &spmi.Context{Path: "DDS/T/u", Stats: []spmi.Stat{{Name: "n", To: &n, Units: c.units}}})
		r := reader(t, dir)
		if got := find(t, r.Contexts(), "DDS/T/u").Stats[0].Units; got != c.want.Word() {
			t.Errorf("%+v: %#x, want %#x", c.units, got, c.want.Word())
		}
		s.Close()
	}
	for _, bad := range []string{"furlong", "byte/", "/s", "byte/s/s", " "} {
		if _, err := spmi.ParseUnits(bad); err == nil {
			t.Errorf("ParseUnits(%q) has no error", bad)
		}
	}
}

// TestTypes: each type has its format, at both ends of its range.
func TestTypes(t *testing.T) {
	var v struct {
		A spmi.CounterOf[uint64]
		B spmi.CounterOf[int64]
		C spmi.QuantityOf[uint32] `as:"unsign"`
		D spmi.QuantityOf[int32]
		E spmi.QuantityOf[uint16]
		F spmi.QuantityOf[int16]
		G spmi.QuantityOf[uint8]
		H spmi.QuantityOf[uintptr] `as:"addr"`
		I spmi.FloatOf[float32]
		J spmi.FloatCounter
		K spmi.Timer
	}
	dir := segments(t)
	open(t, spmi.Options{Dir: dir}, &spmi.Context{Path: "DDS/T/types", Values: &v})
	v.A.Set(math.MaxUint64)
	v.B.Set(math.MinInt64)
	v.C.Set(math.MaxUint32)
	v.D.Set(math.MinInt32)
	v.E.Set(math.MaxUint16)
	v.F.Set(math.MinInt16)
	v.G.Set(255)
	v.H.Set(math.MaxUint32)
	v.I.Set(-1.5)
	v.J.Set(math.MaxFloat64)
	v.K.Set(12345*time.Second + 678*time.Microsecond + 9)
	r := reader(t, dir)
	c := find(t, r.Contexts(), "DDS/T/types")
	neg := func(v int64) uint64 { return uint64(v) }
	want := []struct{ typ, as, size, value uint64 }{
		{layout.ULong, layout.ULong, 8, math.MaxUint64}, {layout.Long, layout.Long, 8, neg(math.MinInt64)},
		{layout.UInt, layout.Unsign, 4, math.MaxUint32}, {layout.Int, layout.Int, 4, neg(math.MinInt32)},
		{layout.UShort, layout.UShort, 2, math.MaxUint16}, {layout.Short, layout.Short, 2, neg(math.MinInt16)},
		{layout.Char, layout.Char, 1, 255}, {layout.Ptr, layout.Addr, 8, math.MaxUint32},
		{layout.Float, layout.Float, 4, math.Float64bits(-1.5)}, {layout.Double, layout.Double, 8, math.Float64bits(math.MaxFloat64)},
		{layout.Timeval, layout.Timeval, 8, 12345000678},
	}
	for i, got := range values(t, r, c) {
		s, w := c.Stats[i], want[i]
		if uint64(s.Type) != w.typ || uint64(s.DataType) != w.as || uint64(s.Size) != w.size || got != w.value {
			t.Errorf("%s: type %d as %d, %d bytes, %#x; want %+v", s.Name, s.Type, s.DataType, s.Size, got, w)
		}
	}
	if v.K.Value() != 12345*time.Second+678*time.Microsecond || v.F.Value() != math.MinInt16 || v.I.Value() != -1.5 {
		t.Error("the program reads something else")
	}
}

// TestDemand: the supplier reads what a consumer writes. Touch and Update count as activity.
func TestDemand(t *testing.T) {
	dir := segments(t)
	c := context("DDS/T/x", stat("s"))
	s := open(t, spmi.Options{Dir: dir, Manual: true}, c)
	r := reader(t, dir)
	if s.GoAway() || s.Subscribed() != 0 || s.Interval() != 0 {
		t.Error("a new supplier was told something")
	}
	tell(t, dir, segreader.Notice{Values: 12, Interval: 1500 * time.Millisecond})
	await(t, "the supplier knows the demand", func() bool { return s.Subscribed() == 12 })
	if s.Interval() != 1500*time.Millisecond || s.GoAway() {
		t.Errorf("every %v, go away %v", s.Interval(), s.GoAway())
	}
	tell(t, dir, segreader.Notice{GoAway: time.Now()})
	if !s.GoAway() || s.Subscribed() != 0 {
		t.Error("not told to go")
	}
	for name, f := range map[string]func(){"Touch": s.Touch, "Update": func() { c.Update(func() {}) }} {
		before := stamp(t, r)
		time.Sleep(2 * time.Microsecond)
		f()
		if !stamp(t, r).After(before) {
			t.Errorf("%s does not count as activity", name)
		}
	}
}

func stamp(t *testing.T, r *segreader.Reader) time.Time {
	t.Helper()
	at, err := r.Stamp()
	if err != nil {
		t.Fatal(err)
	}
	return at
}

// TestStamp: a supplier counts as active even if the program does nothing.
func TestStamp(t *testing.T) {
	dir := segments(t)
	open(t, spmi.Options{Dir: dir}, &spmi.Context{Path: "DDS/T"})
	r := reader(t, dir)
	first := stamp(t, r)
	if since := time.Since(first); since < 0 || since > time.Minute {
		t.Fatalf("first stamp %v ago", since)
	}
	for deadline := time.Now().Add(2 * time.Minute); !stamp(t, r).After(first); time.Sleep(10 * time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatal("no second stamp in two minutes")
		}
	}
}

// allocations returns how many allocations f makes each time. The runtime counts those
// of all goroutines, such as those that clean up after earlier tests. Those of other
// goroutines are left out, because only f's own occur in every round.
func allocations(runs int, f func()) float64 {
	least := testing.AllocsPerRun(runs, f)
	for i := 0; i < 9 && least > 0; i++ {
		least = min(least, testing.AllocsPerRun(runs, f))
	}
	return least
}

// TestNoAllocation: the hot paths keep what the package promises.
func TestNoAllocation(t *testing.T) {
	var v struct {
		N spmi.Counter
		F spmi.Float
		T spmi.Timer
	}
	c := &spmi.Context{Path: "DDS/T/x", Values: &v}
	open(t, spmi.Options{Dir: segments(t)}, c)
	x := 0.0
	if n := allocations(100, func() {
		v.N.Add(2)
		v.F.Set(x)
		v.T.Add(time.Millisecond)
		c.Update(func() { v.N.Inc(); v.F.Add(x); x++ })
	}); n != 0 {
		t.Errorf("%v allocations", n)
	}
}

func TestZeroHandles(t *testing.T) {
	var v struct {
		N spmi.Counter
		Q spmi.Gauge
		F spmi.Float
		C spmi.FloatCounter
		T spmi.Timer
	}
	v.N.Inc()
	v.Q.Set(4)
	v.F.Add(1)
	v.C.Add(1)
	v.T.Add(1)
	var c spmi.Context
	ran := false
	c.Update(func() { ran = true })
	if v.N.Value() != 0 || v.Q.Value() != 0 || v.F.Value() != 0 || v.T.Value() != 0 || !ran {
		t.Error("handles that were not opened hold something")
	}
}

// TestPanicInUpdate: a panic of the program passes through Update, and the context
// still works.
func TestPanicInUpdate(t *testing.T) {
	var n spmi.Counter
	c := &spmi.Context{Path: "DDS/T/x", Stats: []spmi.Stat{{Name: "n", To: &n}}}
	dir := segments(t)
	open(t, spmi.Options{Dir: dir}, c)
	func() {
		defer func() { recover() }()
		c.Update(func() { n.Inc(); panic("mine") })
	}()
	c.Update(func() { n.Inc() })
	r := reader(t, dir)
	if got := values(t, r, find(t, r.Contexts(), "DDS/T/x")); got[0] != 2 {
		t.Errorf("%d", got[0])
	}
}

func TestErrorText(t *testing.T) {
	e := &spmi.Error{Code: spmi.CodeDuplicate, Path: "DDS/x"}
	if got := e.Error(); got != "spmi: DDS/x: already exists (193)" {
		t.Error(got)
	}
	if !strings.Contains(spmi.Code(3).String(), "3") {
		t.Error(spmi.Code(3).String())
	}
}
