package pmda_test

import (
	"strings"
	"testing"

	"github.com/pcp-rtime/rtime/pcp"
	"github.com/pcp-rtime/rtime/pmda"
)

func number() (int32, error) { return 1, nil }

// TestAllMistakesTogether: one agent with all the mistakes there are.
func TestAllMistakesTogether(t *testing.T) {
	fine := pmda.Metric{Name: "bad.fine", Item: 1, Sem: pcp.SemInstant, OneLine: "x", Get: pmda.Value(number)}
	metric := func(name string, item int, spoil func(*pmda.Metric)) pmda.Metric {
		m := fine
		m.Name, m.Item = name, item
		spoil(&m)
		return m
	}
	rows := &pmda.InDom[int]{Serial: 1, Name: "rows", OneLine: "rows"}
	lines := &pmda.InDom[int]{Serial: 1, Name: "lines", OneLine: "lines"}
	mute := &pmda.InDom[int]{Serial: 2, Name: "mute", Labels: pcp.Labels{{Name: "1st", Value: 1}}}
	far := &pmda.InDom[int]{Serial: 1 << 22, Name: "far", OneLine: "far"}
	over := func(d *pmda.InDom[int]) func(*pmda.Metric) {
		return func(m *pmda.Metric) { m.Get = pmda.Per(d, func(int) (int32, bool) { return 0, true }) }
	}
	a := &pmda.Agent{
		Name: "two words", Domain: 511, Roots: []string{"bad..root", ""},
		Labels:        pcp.Labels{{Name: "agent", Value: "mine"}, {Name: "a-b", Value: "x"}},
		ClusterLabels: map[int]pcp.Labels{4096: nil, 7: {{Name: "c", Value: struct{}{}}}},
		Metrics: []pmda.Metric{
			fine,
			metric("bad.number", 1, func(*pmda.Metric) {}),
			metric("bad.fine", 2, func(*pmda.Metric) {}),
			metric("bad.fine.below", 3, func(*pmda.Metric) {}),
			metric("bad", 4, func(*pmda.Metric) {}),
			metric("9lives", 5, func(*pmda.Metric) {}),
			metric("", 6, func(*pmda.Metric) {}),
			metric("bad._all", 1024, func(m *pmda.Metric) {
				m.Cluster, m.Sem, m.OneLine, m.Get = -1, 2, "", pmda.Getter{}
				m.Units = pcp.MakeUnits(0, 0, 0, 9, 0, 0)
				m.Labels = pcp.Labels{{Name: "dup", Value: 1}, {Name: "dup", Value: 2}}
			}),
			metric("bad.lines", 8, func(m *pmda.Metric) { m.OneLine = "two\nlines" }),
			metric("bad.counter", 9, func(m *pmda.Metric) {
				m.Sem, m.Get = pcp.SemCounter, pmda.Value(func() (string, error) { return "", nil })
			}),
			metric("bad.type", 10, func(m *pmda.Metric) { m.Get = pmda.Func(pcp.TypeUnknown, nil, func(*pmda.Values) {}) }),
			metric("bad.rows", 11, over(rows)),
			metric("bad.samerows", 12, over(lines)),
			metric("bad.mute", 13, over(mute)),
			metric("bad.far", 14, over(far)),
			metric("bad.cluster", 0, func(m *pmda.Metric) { m.Cluster = 4096 }),
		},
	}
	_, err := pmda.New(a, pmda.Options{Log: logTo(t)})
	if err == nil {
		t.Fatal("an agent full of mistakes is taken")
	}
	for _, want := range []string{
		`agent "two words" is not well declared`,
		`name "two words" is not one word without slashes`,
		`domain 511 is not within 1..510`,
		`"bad..root": empty part`,
		`dynamic subtree: pmns: empty name`,
		`label agent: twice`,
		`label "a-b"`,
		`labels of cluster 4096`,
		`labels of cluster 7: pdu: label c: a value of type struct {}`,
		`metric "bad.number": number 0.1 is taken by bad.fine`,
		`metric "bad.fine": pmns: name "bad.fine" is there already`,
		`metric "bad.fine.below": pmns: name "bad.fine.below" lies below the metric "bad.fine"`,
		`metric "bad": pmns: name "bad" is taken by a node with names below it`,
		`"9lives" does not begin with a letter`,
		`metric "": pmns: empty name`,
		`metric "bad._all": cluster -1 is not within 0..4095`,
		`item 1024 is not within 0..1023`,
		`part "_all" does not begin with a letter`,
		`no Get`,
		`semantics Sem(2) is not counter, instant or discrete`,
		`units 0x00090000 have a scale or an extra unit`,
		`no one-line help`,
		`label dup: twice`,
		`metric "bad.lines": the one-line help has more than one line`,
		`metric "bad.counter": a counter cannot be of type STRING`,
		`metric "bad.type": type UNKNOWN cannot be declared by an agent`,
		`rows and lines have the same serial 1`,
		`mute: no one-line help`,
		`mute: pdu: label "1st"`,
		`far: serial 4194304 is not within 0..4194303`,
		`metric "bad.cluster": cluster 4096 is not within 0..4095`,
	} {
		if !strings.Contains(err.Error(), want) {
			t.Errorf("the error does not say: %s", want)
		}
	}
	for _, wrong := range []string{"is taken by bad.rows", `"bad.rows"`, "number 4096.0"} {
		if strings.Contains(err.Error(), wrong) {
			t.Errorf("the error says: %s", wrong)
		}
	}
	if t.Failed() {
		t.Logf("all of it:\n%v", err)
	}
}

func TestNew(t *testing.T) {
	fine := []pmda.Metric{{Name: "a.b", Sem: pcp.SemInstant, OneLine: "x", Get: pmda.Value(number)}}
	for _, x := range []struct {
		what string
		a    pmda.Agent
		o    pmda.Options
		ok   bool
	}{
		{"metrics", pmda.Agent{Name: "a", Domain: 1, Metrics: fine}, pmda.Options{}, true},
		{"the last domain", pmda.Agent{Name: "a", Domain: 510, Metrics: fine}, pmda.Options{}, true},
		{"a dynamic subtree alone", pmda.Agent{Name: "a", Domain: 1, Roots: []string{"a"}}, pmda.Options{}, true},
		{"another domain", pmda.Agent{Name: "a", Domain: 511, Metrics: fine}, pmda.Options{Domain: 5}, true},
		{"nothing", pmda.Agent{Name: "a", Domain: 1}, pmda.Options{}, false},
		{"no domain", pmda.Agent{Name: "a", Metrics: fine}, pmda.Options{}, false},
		{"no name", pmda.Agent{Domain: 1, Metrics: fine}, pmda.Options{}, false},
		{"a name with a slash", pmda.Agent{Name: "a/b", Domain: 1, Metrics: fine}, pmda.Options{}, false},
		{"another domain, too large", pmda.Agent{Name: "a", Domain: 1, Metrics: fine}, pmda.Options{Domain: 511}, false},
		{"another domain, negative", pmda.Agent{Name: "a", Domain: 1, Metrics: fine}, pmda.Options{Domain: -1}, false},
	} {
		x.o.Log = logTo(t)
		if _, err := pmda.New(&x.a, x.o); (err == nil) != x.ok {
			t.Errorf("%s: %v", x.what, err)
		}
	}
}
