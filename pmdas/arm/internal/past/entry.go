package past

import (
	"math"

	"github.com/pcp-rtime/rtime/internal/armseg/reader"
)

// Entry is what one process had counted, or several.
type Entry struct {
	File  string `json:"file,omitempty"` // of the one process
	Inode uint64 `json:"inode,omitempty"`
	Files []File `json:"files,omitempty"` // of several: those that are still there
	Trans []Tran `json:"trans,omitempty"`
	Pairs []Pair `json:"pairs,omitempty"`
}

// AllFiles returns the files whose counts are in the entry.
func (e *Entry) AllFiles() []File {
	if e.File != "" {
		return append(e.Files, File{e.File, e.Inode})
	}
	return e.Files
}

// File is a program's file, by its name in the directory and its inode.
type File struct {
	File  string `json:"file"`
	Inode uint64 `json:"inode"`
}

// Tran is what was counted of a transaction. Make it with NewTran.
type Tran struct {
	App      string `json:"app"` // "" for what was over a limit
	AppDescr string `json:"appdescr,omitempty"`
	Tran     string `json:"tran"`
	Descr    string `json:"descr,omitempty"`
	reader.Totals
	Abandoned uint64   `json:"abandoned,omitempty"`
	Avg       float64  `json:"avg,omitempty"`    // weighted average, nanoseconds
	Last      uint64   `json:"last,omitempty"`   // latest response time, nanoseconds
	LastAt    int64    `json:"lastat,omitempty"` // when that ended, CLOCK_MONOTONIC
	Metrics   []Metric `json:"metrics,omitempty"`
}

// Metric is what was counted of an application's metric.
type Metric struct {
	Label string `json:"label"`
	reader.MetricTotals
}

// Pair is what was counted of a transaction and its parent.
type Pair struct {
	Name string `json:"name"`
	reader.PairTotals
}

// NewTran returns a transaction of which nothing is counted.
func NewTran(app, tran string) *Tran {
	return &Tran{App: app, Tran: tran, Totals: reader.Totals{Min: ^uint64(0)}}
}

// Add adds what a cell holds.
func (t *Tran) Add(c *reader.Totals) {
	t.Count += c.Count
	t.GoodNS += c.GoodNS
	t.Aborted += c.Aborted
	t.AbortedNS += c.AbortedNS
	t.Failed += c.Failed
	t.FailedNS += c.FailedNS
	t.Updates += c.Updates
	t.BadData += c.BadData
	t.Min, t.Max = min(t.Min, c.Min), max(t.Max, c.Max)
}

// AddMetric adds what a cell holds of a metric. Metrics of the same label and kind are one.
func (t *Tran) AddMetric(label string, m *reader.MetricTotals) {
	t.metric(label, reader.KindOf(m.Type)).add(m)
}

func (t *Tran) metric(label string, kind reader.Kind) *Metric {
	for i := range t.Metrics {
		if m := &t.Metrics[i]; m.Label == label && reader.KindOf(m.Type) == kind {
			return m
		}
	}
	t.Metrics = append(t.Metrics, Metric{Label: label})
	return &t.Metrics[len(t.Metrics)-1]
}

// merge adds what came later.
func (t *Tran) merge(later *Tran) {
	t.Add(&later.Totals)
	t.Abandoned += later.Abandoned
	if later.Count > 0 {
		t.Avg = later.Avg
	}
	if later.LastAt >= t.LastAt {
		t.Last, t.LastAt = later.Last, later.LastAt
	}
	for i := range later.Metrics {
		t.AddMetric(later.Metrics[i].Label, &later.Metrics[i].MetricTotals)
	}
}

func (m *Metric) add(t *reader.MetricTotals) {
	was := m.MetricTotals
	m.MetricTotals = *t
	if was.Type != 0 {
		m.Count += was.Count
		m.Sum = Finite(m.Sum + was.Sum)
		m.Min, m.Max = min(m.Min, was.Min), max(m.Max, was.Max)
	}
}

// Finite returns the number nearest to v that can be recorded.
func Finite(v float64) float64 { return min(max(v, -math.MaxFloat64), math.MaxFloat64) }

// merger adds entries up.
type merger struct {
	to    *Entry
	trans map[[2]string]int // their places in to
	pairs map[string]int
}

func newMerger() *merger {
	return &merger{to: new(Entry), trans: make(map[[2]string]int), pairs: make(map[string]int)}
}

func (m *merger) add(e *Entry) {
	for i := range e.Trans {
		t := &e.Trans[i]
		k := [2]string{t.App, t.Tran}
		if at, ok := m.trans[k]; ok {
			m.to.Trans[at].merge(t)
			continue
		}
		m.trans[k] = len(m.to.Trans)
		m.to.Trans = append(m.to.Trans, *t)
	}
	for i := range e.Pairs {
		p := &e.Pairs[i]
		if at, ok := m.pairs[p.Name]; ok {
			have := &m.to.Pairs[at]
			have.Count += p.Count
			have.GoodNS += p.GoodNS
			have.Aborted += p.Aborted
			have.Failed += p.Failed
			continue
		}
		m.pairs[p.Name] = len(m.to.Pairs)
		m.to.Pairs = append(m.to.Pairs, *p)
	}
}
