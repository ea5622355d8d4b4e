package collect

import (
	"github.com/pcp-rtime/rtime/internal/armseg/reader"
)

// merger adds entries up.
type merger struct {
	to    *pastEntry
	trans map[[2]string]*pastTran
	order [][2]string
	pairs map[string]*pastPair
	names []string
}

func (m *merger) add(e *pastEntry) {
	for i := range e.Trans {
		t := &e.Trans[i]
		k := [2]string{t.App, t.Tran}
		if have := m.trans[k]; have != nil {
			have.merge(t)
			continue
		}
		m.trans[k] = t
		m.order = append(m.order, k)
	}
	for i := range e.Pairs {
		p := &e.Pairs[i]
		if have := m.pairs[p.Name]; have != nil {
			have.Count += p.Count
			have.GoodNS += p.GoodNS
			have.Aborted += p.Aborted
			have.Failed += p.Failed
			continue
		}
		m.pairs[p.Name] = p
		m.names = append(m.names, p.Name)
	}
}

func (m *merger) finish() {
	for _, k := range m.order {
		m.to.Trans = append(m.to.Trans, *m.trans[k])
	}
	for _, name := range m.names {
		m.to.Pairs = append(m.to.Pairs, *m.pairs[name])
	}
}

// add adds a cell.
func (t *pastTran) add(c *reader.Totals) {
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

// merge adds what comes later.
func (t *pastTran) merge(later *pastTran) {
	t.add(&later.Totals)
	t.Abandoned += later.Abandoned
	if later.Count > 0 {
		t.Avg = later.Avg
	}
	if later.LastAt >= t.LastAt {
		t.Last, t.LastAt = later.Last, later.LastAt
	}
	for i := range later.Metrics {
		m := &later.Metrics[i]
		t.metric(m.Label, m.Type).add(&m.MetricTotals)
	}
}

// addMetric adds a metric of a cell.
func (t *pastTran) addMetric(row *metricRow, m *reader.MetricTotals) {
	t.metric(row.Label, m.Type).add(m)
}

func (t *pastTran) metric(label string, typ uint32) *pastMetric {
	for i := range t.Metrics {
		if m := &t.Metrics[i]; m.Label == label && kindOf(m.Type) == kindOf(typ) {
			return m
		}
	}
	t.Metrics = append(t.Metrics, pastMetric{Label: label})
	return &t.Metrics[len(t.Metrics)-1]
}

func (m *pastMetric) add(t *reader.MetricTotals) {
	was := m.MetricTotals
	m.MetricTotals = *t
	if was.Type != 0 {
		m.Count += was.Count
		m.Sum = finite(m.Sum + was.Sum)
		m.Min, m.Max = min(m.Min, was.Min), max(m.Max, was.Max)
	}
}

// pastTran returns an empty record of a row.
func (r *rows) pastTran(t *tranRow) *pastTran {
	a := r.apps[t.App]
	return &pastTran{App: a.key, AppDescr: a.Descr, Tran: t.Key, Descr: t.Descr,
		Totals: reader.Totals{Min: ^uint64(0)}, Avg: t.AvgNS, Last: t.Last, LastAt: t.average.last}
}

// recall adds what is recorded to the rows.
func (c *Collector) recall(user string, e *pastEntry) {
	for i := range e.Trans {
		t := &e.Trans[i]
		a := c.rows.otherApp
		if t.App != "" {
			a = func() *appRow { return c.rows.appOf(&c.conf, user, t.App, t.AppDescr) }
		}
		c.rows.tranOf(&c.conf, a(), t.Tran, t.Descr).recall(c, t)
	}
	for i := range e.Pairs {
		p := &e.Pairs[i]
		parent, child := c.rows.split(p.Name)
		if child < 0 && p.Name != other+">"+other {
			continue // named by another rule
		}
		c.rows.addPair(p.Name, parent, child).add(&p.PairTotals)
	}
}

func (t *tranRow) recall(c *Collector, p *pastTran) {
	t.dirty = true
	t.Count += p.Count
	t.GoodNS += p.GoodNS
	t.Aborted += p.Aborted
	t.AbortedNS += p.AbortedNS
	t.Failed += p.Failed
	t.FailedNS += p.FailedNS
	t.Updates += p.Updates
	t.BadData += p.BadData
	t.Abandoned += p.Abandoned
	t.extremes(p.Min, p.Max)
	if p.Count > 0 {
		t.Seen, t.AvgNS = true, p.Avg
		if p.LastAt >= t.average.last {
			t.Last, t.average.last = p.Last, p.LastAt
		}
	}
	for i := range p.Metrics {
		m := &p.Metrics[i]
		if row := c.rows.metricOf(t, m.Label, m.Type); row != nil {
			row.add(&m.MetricTotals, true)
		}
	}
}

// record returns the lines of a record of rows that must be written anew.
func (r *rows) record() []any {
	lines := []any{rowsHead{r.apart}}
	if list := r.choices(); len(list) > 0 {
		lines = append(lines, list)
	}
	return lines
}

// choices returns all that is decided.
func (r *rows) choices() (list []choice) {
	for _, a := range r.apps {
		if a.Name != other {
			list = append(list, choice{Kind: kindApp, Name: a.Name})
		}
	}
	for _, t := range r.trans {
		if t.Key != other {
			list = append(list, choice{Kind: kindTran, Name: t.Name})
		}
	}
	for _, p := range r.pairs {
		if p.Name != other+">"+other {
			list = append(list, choice{Kind: kindPair, Name: p.Name})
		}
	}
	for k, names := range r.over {
		for name := range names {
			list = append(list, choice{Kind: kind(k), Name: name, Over: true})
		}
		if r.ever[k] {
			list = append(list, choice{Kind: kind(k), Over: true})
		}
	}
	return list
}
