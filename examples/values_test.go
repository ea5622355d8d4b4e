// Package examples_test holds the snippets of docs/writing-an-agent.md: each declares
// a small agent and then asks it, over the same bytes as pmcd would.
package examples_test

import (
	"errors"
	"runtime"
	"testing"

	"github.com/pcp-rtime/rtime/pcp"
	"github.com/pcp-rtime/rtime/pmda"
	"github.com/pcp-rtime/rtime/pmda/pmdatest"
)

// disk is what an instance carries: the data behind the values.
type disk struct {
	reads   uint64
	model   string
	healthy bool
}

// values shows the three ways to get values.
func values() *pmda.Agent {
	disks := &pmda.InDom[*disk]{Name: "disks", OneLine: "disks"}
	return &pmda.Agent{
		Name: "values", Domain: 501,
		Start: func(*pmda.Server) error {
			_, err := disks.Add("sda", &disk{reads: 12, model: "Tape", healthy: true})
			if err == nil {
				_, err = disks.Add("sdb", &disk{reads: 7})
			}
			return err
		},
		Metrics: []pmda.Metric{{
			// One value. Its Go type is the metric's type: U32 here.
			Name: "values.cpus", Item: 0, Sem: pcp.SemDiscrete, Units: pcp.Count,
			Get:     pmda.Value(func() (uint32, error) { return uint32(runtime.NumCPU()), nil }),
			OneLine: "processors",
		}, {
			// An error in place of the value: pcp.ErrValue is "no value now".
			Name: "values.battery", Item: 1, Sem: pcp.SemInstant,
			Get:     pmda.Value(func() (float64, error) { return 0, pcp.ErrValue }),
			OneLine: "charge of the battery in percent",
		}, {
			// A value for each instance.
			Name: "values.reads", Item: 2, Sem: pcp.SemCounter, Units: pcp.Count,
			Get:     pmda.Per(disks, func(d *disk) (uint64, bool) { return d.reads, true }),
			OneLine: "reads from the disk",
		}, {
			// false: this instance has no value now.
			Name: "values.model", Item: 3, Sem: pcp.SemDiscrete,
			Get:     pmda.Per(disks, func(d *disk) (string, bool) { return d.model, d.model != "" }),
			OneLine: "model of the disk",
		}, {
			// Everything else, value by value.
			Name: "values.health", Item: 4, Sem: pcp.SemInstant,
			Get: pmda.Func(pcp.TypeString, disks, func(v *pmda.Values) {
				disks.All(func(inst pcp.Instance, d *disk) bool {
					if v.Wants(inst.ID) && d.healthy { // spare the work that nobody asked for
						v.Set(inst.ID, pcp.Str("ok"))
					}
					return true
				})
			}),
			OneLine: "health of the disk",
		}},
	}
}

func TestValues(t *testing.T) {
	c := pmdatest.Start(t, values())
	for _, x := range []struct{ metric, inst, want string }{
		{"values.reads", "sda", "12"},
		{"values.reads", "sdb", "7"},
		{"values.model", "sda", "Tape"},
		{"values.health", "sda", "ok"},
	} {
		if v, err := c.Value(x.metric, x.inst); err != nil || v.String() != x.want {
			t.Errorf("%s[%s]: %v, %v; want %s", x.metric, x.inst, v, err, x.want)
		}
	}
	for _, x := range [][2]string{{"values.model", "sdb"}, {"values.health", "sdb"}, {"values.battery", ""}} {
		if v, err := c.Value(x[0], x[1]); !errors.Is(err, pcp.ErrValue) {
			t.Errorf("%s[%s]: %v, %v; want %v", x[0], x[1], v, err, pcp.ErrValue)
		}
	}
	if d, err := c.Desc("values.cpus"); err != nil || d.Type != pcp.TypeU32 || d.InDom != pcp.InDomNull {
		t.Errorf("values.cpus: %+v, %v", d, err)
	}
}

// All mistakes in a table are reported together.
func TestMistakes(t *testing.T) {
	_, err := pmda.New(&pmda.Agent{Name: "bad one", Domain: 501, Metrics: []pmda.Metric{
		{Name: "bad.a", Item: 5000, Sem: pcp.SemInstant, OneLine: "a"},
	}}, pmda.Options{})
	if err == nil {
		t.Fatal("no error")
	}
	t.Log(err)
	for _, want := range []string{`name "bad one" is not one word without slashes`, "item 5000 is not within 0..1023", "no Get"} {
		if !contains(err.Error(), want) {
			t.Errorf("%q is missing", want)
		}
	}
}
