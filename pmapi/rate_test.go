package pmapi

import (
	"errors"
	"math"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"github.com/pcp-rtime/rtime/pcp"
	"github.com/pcp-rtime/rtime/pdu"
)

// sampleOf makes a sample of one metric. Instance i has values[i].
func sampleOf(m *Metric, at time.Duration, values ...pcp.Value) *Sample {
	s := &Sample{Time: time.Unix(1000, 0).Add(at), Metrics: []*Metric{m}, Sets: []pdu.ValueSet{{PMID: m.PMID}}}
	for i, v := range values {
		s.Sets[0].Values = append(s.Sets[0].Values, pdu.InstValue{Inst: int32(i), Value: v})
	}
	return s
}

// TestRate: rates have the metric's units, and a wrap is distinguished from a restart.
func TestRate(t *testing.T) {
	count := func(t pcp.Type, u pcp.Units) *Metric {
		return &Metric{Desc: pcp.Desc{PMID: 1, Type: t, Sem: pcp.SemCounter, Units: u}}
	}
	u32 := func(n uint32) pcp.Value { return pcp.Num(n) }
	i32 := func(n int32) pcp.Value { return pcp.Num(n) }
	u64 := func(n uint64) pcp.Value { return pcp.Num(n) }
	for name, tt := range map[string]struct {
		m             *Metric
		before, after pcp.Value
		interval      time.Duration
		want          float64
		err           error
	}{
		"grows":                  {count(pcp.TypeU32, pcp.Count), u32(10), u32(30), 2 * time.Second, 10, nil},
		"stays":                  {count(pcp.TypeU32, pcp.Count), u32(10), u32(10), time.Second, 0, nil},
		"64 bits":                {count(pcp.TypeU64, pcp.Bytes), u64(1 << 62), u64(1<<62 + 1<<40), time.Second, 1 << 40, nil},
		"double":                 {count(pcp.TypeDouble, pcp.Count), pcp.Num(1.5), pcp.Num(2.0), time.Second / 2, 1, nil},
		"float":                  {count(pcp.TypeFloat, pcp.Count), pcp.Num(float32(1.5)), pcp.Num(float32(2)), time.Second, 0.5, nil},
		"milliseconds":           {count(pcp.TypeU32, pcp.Milliseconds), u32(0), u32(500), time.Second, 0.5, nil},
		"hours":                  {count(pcp.TypeU32, pcp.Hours), u32(0), u32(1), 2 * time.Hour, 0.5, nil},
		"wraps":                  {count(pcp.TypeU32, pcp.Count), u32(math.MaxUint32 - 4), u32(5), time.Second, 10, nil},
		"signed wraps":           {count(pcp.Type32, pcp.Count), i32(math.MaxInt32 - 4), i32(math.MinInt32 + 5), time.Second, 10, nil},
		"signed, through 0":      {count(pcp.Type32, pcp.Count), i32(-5), i32(5), time.Second, 10, nil},
		"64 bits wrap":           {count(pcp.TypeU64, pcp.Count), u64(math.MaxUint64 - 4), u64(5), time.Second, 10, nil},
		"restarts":               {count(pcp.TypeU32, pcp.Count), u32(1000), u32(5), time.Second, 0, ErrRestart},
		"restarts high":          {count(pcp.TypeU32, pcp.Count), u32(3 << 30), u32(1 << 30), time.Second, 0, ErrRestart},
		"restarts in the middle": {count(pcp.TypeU32, pcp.Count), u32(3<<30 - 1), u32(5), time.Second, 0, ErrRestart},
		"last of the last":       {count(pcp.TypeU32, pcp.Count), u32(3 << 30), u32(1<<30 - 1), time.Second, 1<<31 - 1, nil},
		"64 bits restart":        {count(pcp.TypeU64, pcp.Count), u64(1 << 40), u64(5), time.Second, 0, ErrRestart},
		"double restarts":        {count(pcp.TypeDouble, pcp.Count), pcp.Num(3.0), pcp.Num(2.0), time.Second, 0, ErrRestart},
		"no time":                {count(pcp.TypeU32, pcp.Count), u32(1), u32(2), 0, 0, errInterval},
		"time goes back":         {count(pcp.TypeU32, pcp.Count), u32(1), u32(2), -time.Second, 0, errInterval},
		"not a number":           {count(pcp.TypeString, pcp.None), pcp.Str("a"), pcp.Str("b"), time.Second, 0, errNotNumber},
		"NaN":                    {count(pcp.TypeDouble, pcp.None), pcp.Num(1.0), pcp.Num(math.NaN()), time.Second, 0, errNotNumber},
		"infinite":               {count(pcp.TypeDouble, pcp.None), pcp.Num(1.0), pcp.Num(math.Inf(1)), time.Second, 0, errNotNumber},
		"another type":           {count(pcp.TypeU32, pcp.None), u64(1), u32(2), time.Second, 0, errNotNumber},
		"no such scale of time":  {count(pcp.TypeU32, pcp.UnitsFromWord(0x01009000)), u32(1), u32(2), time.Second, 0, errNotNumber},
		"not a counter":          {load, u32(1), u32(2), time.Second, 0, errNotCounter},
	} {
		before, now := sampleOf(tt.m, 0, tt.before), sampleOf(tt.m, tt.interval, tt.after)
		got, err := now.Rate(before, 0, 0)
		if err != tt.err || math.Abs(got-tt.want) > 1e-9*math.Abs(tt.want) {
			t.Errorf("%s: %v, %v; want %v, %v", name, got, err, tt.want, tt.err)
		}
		if err != nil && !errors.Is(err, ErrNoRate) {
			t.Errorf("%s: %v does not wrap ErrNoRate", name, err)
		}
	}
}

// TestNoRate: two samples that cannot be compared have no rate.
func TestNoRate(t *testing.T) {
	now := sampleOf(reads, time.Second, pcp.Num(uint64(5)), pcp.Num(uint64(6)))
	for name, tt := range map[string]struct {
		change func(before *Sample)
		want   error
	}{
		"the first sample":  {func(b *Sample) { *b = Sample{} }, errNoValue},
		"another metric":    {func(b *Sample) { b.Sets[0].PMID++ }, errOthers},
		"no such instance":  {func(b *Sample) { b.Sets[0].Values = b.Sets[0].Values[:1] }, errNoValue},
		"an agent restarts": {func(b *Sample) { b.Changes.note(pcp.StateRestart) }, ErrRestart},
		"an agent is new":   {func(b *Sample) { b.Changes.note(pcp.StateAdded) }, ErrRestart},
		"a new connection":  {func(b *Sample) { b.Changes.reconnected() }, ErrRestart},
		"new labels":        {func(b *Sample) { b.Changes.note(pcp.StateLabels | pcp.StateNames) }, nil},
	} {
		before := sampleOf(reads, 0, pcp.Num(uint64(1)), pcp.Num(uint64(2)))
		tt.change(before)
		if _, err := now.Rate(before, 0, 1); err != tt.want {
			t.Errorf("%s: %v, want %v", name, err, tt.want)
		}
	}
}

func TestRateUnits(t *testing.T) {
	for from, want := range map[pcp.Units]string{
		pcp.Count:                       "count / sec",
		pcp.KBytes:                      "Kbyte / sec",
		pcp.Milliseconds:                "",
		pcp.Count.Per(pcp.Milliseconds): "count / millisec^2",
		pcp.MakeUnits(1, 1, 0, 1, 2, 0): "Kbyte",
		pcp.MakeUnits(0, 1, 1, 0, 3, 6): "count x 10^6",
		pcp.None:                        "/ sec",
	} {
		if got := (&Metric{Desc: pcp.Desc{Units: from}}).RateUnits().String(); got != want {
			t.Errorf("%v: %q, want %q", from, got, want)
		}
	}
}

// TestFind: values are found in any order, also a second time and after another fetch.
func TestFind(t *testing.T) {
	s := &Sample{Metrics: []*Metric{load, reads}, Sets: make([]pdu.ValueSet, 2)}
	r := rand.New(rand.NewPCG(1, 2))
	for _, n := range []int{0, 1, 5, 100} {
		for _, shuffled := range []bool{false, true} {
			for i := range s.order {
				s.order[i] = s.order[i][:0] // as a fetch does
			}
			values := s.Sets[1].Values[:0]
			for i := range n {
				values = append(values, pdu.InstValue{Inst: int32(10 * i), Value: pcp.Num(uint32(i))})
			}
			if shuffled {
				r.Shuffle(n, func(i, j int) { values[i], values[j] = values[j], values[i] })
			}
			s.Sets[1].Values = values
			for i := range int32(10 * n) {
				v, ok := s.Find(1, i)
				if ok != (i%10 == 0) || ok && v.Bits() != uint64(i/10) {
					t.Errorf("%d values: instance %d is %v, %v", n, i, v, ok)
				}
			}
		}
	}
	if _, ok := s.Find(0, 0); ok || !slices.IsSortedFunc(s.order[1], func(a, b int32) int {
		return int(s.Sets[1].Values[a].Inst - s.Sets[1].Values[b].Inst)
	}) {
		t.Error("the order is not that of the instances")
	}
}
