package agent

import (
	"strings"
	"unicode"

	"github.com/pcp-rtime/rtime/pcp"
	"github.com/pcp-rtime/rtime/pmda"
	"github.com/pcp-rtime/rtime/pmdas/arm/internal/collect"
)

func (a *Agent) declareInDoms() {
	a.trans = &pmda.InDom[uint32]{
		Serial: 0, Name: "transactions", Keep: true,
		OneLine: "transactions",
		Help: "Each transaction has an instance APPLICATION/TRANSACTION. The names are those that\n" +
			"programs gave, without blanks and cut to 31 bytes. All processes of all users that\n" +
			"use the same names count as one, unless the configuration has the line users apart;\n" +
			"then names begin with the user's name and a colon. APPLICATION/other counts the\n" +
			"transactions of an application that are over a limit. An instance stays until the\n" +
			"machine is started again.",
		InstanceLabels: func(i uint32) pcp.Labels { return a.tranLabels(a.snap.Trans[i]) },
	}
	a.apps = &pmda.InDom[uint32]{
		Serial: 1, Name: "applications", Keep: true,
		OneLine: "applications",
		Help: "Each application that a program has named has an instance. The name is without blanks\n" +
			"and cut to 31 bytes.",
		InstanceLabels: func(i uint32) pcp.Labels { return appLabels(a.snap.Apps[i]) },
	}
	a.metrics = &pmda.InDom[uint32]{
		Serial: 2, Name: "application metrics", Keep: true,
		OneLine: "metrics that applications define for their transactions",
		Help: "Each metric of each transaction has an instance APPLICATION/TRANSACTION/METRIC.\n" +
			"Programs describe up to six numbers and a string when they name a transaction, and\n" +
			"give the values at its start, updates and stop (ARM 2.0, data buffers).",
		InstanceLabels: a.metricLabels,
	}
	a.pairs = &pmda.InDom[uint32]{
		Serial: 3, Name: "parents", Keep: true,
		OneLine: "transactions, each with the transaction that it is part of",
		Help: "Two transactions have an instance if the second was started with a correlator of the\n" +
			"first, its parent: APPLICATION/TRANSACTION>APPLICATION/TRANSACTION. A parent that was\n" +
			"not measured on this host is VENDOR:ADDRESS:CLASS.",
		InstanceLabels: a.pairLabels,
	}
}

// taken is how many rows of each of the snapshot's lists have become instances.
type taken struct{ trans, apps, metrics, pairs uint32 }

// grow makes instances of the rows that are new in the snapshot.
func (a *Agent) grow() {
	if a.snap.Rows == a.rows {
		return
	}
	a.rows, a.Relabel = a.snap.Rows, true
	grow(a, a.trans, &a.taken.trans, a.snap.Trans, func(t *collect.Tran) string { return t.Name })
	grow(a, a.apps, &a.taken.apps, a.snap.Apps, func(p *collect.App) string { return p.Name })
	grow(a, a.metrics, &a.taken.metrics, a.snap.Metrics, func(m *collect.Metric) string { return m.Name })
	grow(a, a.pairs, &a.taken.pairs, a.snap.Pairs, func(p *collect.Pair) string { return p.Name })
}

// grow adds instances for the rows from *done on. It leaves out a row that cannot become an
// instance, because all numbers of its file are used up or another row has its name.
func grow[T any](a *Agent, d *pmda.InDom[uint32], done *uint32, rows []T, name func(T) string) {
	for ; int(*done) < len(rows); *done++ {
		if _, err := d.Add(name(rows[*done]), *done); err != nil {
			if a.unnamed++; a.unnamed <= maxUnnamed {
				a.Log.Printf("not exported: %v", err)
			}
		}
	}
}

// maxUnnamed is how many rows that are left out the log names.
const maxUnnamed = 20

func (a *Agent) tranLabels(t *collect.Tran) pcp.Labels {
	l := pcp.Labels{
		{Name: "application", Value: plainName(a.snap.Apps[t.App])},
		{Name: "transaction", Value: printable(t.Key)},
	}
	return appendNotes(l, t.Descr, t.User)
}

func appLabels(p *collect.App) pcp.Labels {
	return appendNotes(pcp.Labels{{Name: "application", Value: plainName(p)}}, p.Descr, p.User)
}

func (a *Agent) metricLabels(i uint32) pcp.Labels {
	m := a.snap.Metrics[i]
	return append(a.tranLabels(a.snap.Trans[m.Tran]), pcp.Label{Name: "metric", Value: printable(m.Label)})
}

// pairLabels are the labels of the child, and the name of the parent. The pair that counts
// everything over the limit has no labels.
func (a *Agent) pairLabels(i uint32) pcp.Labels {
	p := a.snap.Pairs[i]
	if p.Child < 0 {
		return nil
	}
	parent, _, _ := strings.Cut(p.Name, ">")
	return append(a.tranLabels(a.snap.Trans[p.Child]), pcp.Label{Name: "parent", Value: parent})
}

// appendNotes appends the labels of a row that are not parts of its name.
func appendNotes(l pcp.Labels, descr, user string) pcp.Labels {
	if descr != "" {
		l = append(l, pcp.Label{Name: "description", Value: printable(descr), Optional: true})
	}
	if user != "" {
		l = append(l, pcp.Label{Name: "user", Value: user})
	}
	return l
}

// plainName is an application's name without its user.
func plainName(p *collect.App) string {
	if p.User == "" {
		return p.Name
	}
	return strings.TrimPrefix(p.Name, p.User+":")
}

// printable makes text of what a program gave, because labels and string values travel
// through JSON and to terminals. It allocates only if there is something to replace.
func printable(s string) string {
	return strings.Map(func(r rune) rune {
		if r == unicode.ReplacementChar || !unicode.IsPrint(r) {
			return '?'
		}
		return r
	}, s)
}
