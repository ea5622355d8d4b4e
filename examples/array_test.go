package examples_test

import (
	"fmt"
	"strconv"
	"testing"

	"github.com/pcp-rtime/rtime/pcp"
	"github.com/pcp-rtime/rtime/pdu"
	"github.com/pcp-rtime/rtime/pmda"
	"github.com/pcp-rtime/rtime/pmda/pmdatest"
)

// sensor is the place of a sensor's values in the arrays.
type sensor uint32

// room is one of many instance domains, which share one file of ids.
type room struct {
	sensors      *pmda.InDom[sensor]
	warm, lit    []uint64 // by sensor, as of the present fetch
	read         func(sensor) (warm, lit int64)
	serial, many int
}

// within gives the instances of one domain ids of those that all share.
type within struct {
	all    pmda.Numbers
	prefix string
}

func (w within) ID(name string) (int32, error) { return w.all.ID(w.prefix + name) }

func (r *room) add(s *pmda.Server, all pmda.Numbers) error {
	r.sensors = &pmda.InDom[sensor]{
		Serial: r.serial, OneLine: "sensors of a room",
		IDs: within{all, strconv.Itoa(r.serial) + " "},
		Prepare: func(wanted []sensor) {
			for _, i := range wanted {
				warm, lit := r.read(i) // both at once
				r.warm[i], r.lit[i] = uint64(warm), uint64(lit)
			}
		},
	}
	r.warm, r.lit = make([]uint64, r.many), make([]uint64, r.many)
	for item, values := range [][]uint64{r.warm, r.lit} {
		err := s.Add(pmda.Metric{Name: fmt.Sprintf("house.room%d.%s", r.serial, []string{"warm", "lit"}[item]),
			Cluster: r.serial, Item: item, Sem: pcp.SemInstant, OneLine: "of a sensor",
			Get: pmda.Indexed(pcp.Type64, r.sensors, func() ([]uint64, func(sensor) bool) { return values, nil }),
		})
		if err != nil {
			return err
		}
	}
	for i := range r.many {
		if _, err := r.sensors.Add(fmt.Sprintf("s%d", i), sensor(i)); err != nil {
			return err
		}
	}
	return nil
}

func house(rooms ...*room) *pmda.Agent {
	return &pmda.Agent{Name: "house", Domain: 506, Roots: []string{"house"}, Start: func(s *pmda.Server) error {
		all, err := s.OpenIDs("sensors", 1<<30)
		if err != nil {
			return err
		}
		for _, r := range rooms {
			if err := r.add(s, all); err != nil {
				return err
			}
		}
		return nil
	}}
}

// Two rooms of three sensors: each is read once for both metrics, and only if it is
// wanted, and ids are unique in the house.
func TestHouse(t *testing.T) {
	reads := 0
	read := func(i sensor) (warm, lit int64) {
		reads++
		return int64(i) - 1, int64(i) * 100
	}
	c := pmdatest.Start(t, house(&room{serial: 1, many: 3, read: read}, &room{serial: 2, many: 3, read: read}))
	id := func(room, item int) pcp.PMID { return pcp.MakePMID(506, room, item) }
	ids := make(map[int32]bool)
	for _, set := range c.Fetch(id(1, 0), id(1, 1), id(2, 0)) {
		for n, v := range set.Values {
			want := int64(n) - 1
			if set.PMID == id(1, 1) {
				want = int64(n) * 100
			}
			if x, err := v.Value.Int64(); err != nil || x != want {
				t.Errorf("%v %d: %v %v, want %d", set.PMID, v.Inst, x, err, want)
			}
			ids[v.Inst] = true
		}
	}
	if reads != 6 || len(ids) != 6 {
		t.Errorf("%d sensors read, %d ids", reads, len(ids))
	}
	dom := pcp.MakeInDom(506, 1)
	one, err := c.Lookup(dom, "s2")
	if err != nil {
		t.Fatal(err)
	}
	c.Profile(pdu.InDomProfile{InDom: dom, State: pdu.Exclude, List: []int32{one}})
	if sets := c.Fetch(id(1, 0), id(1, 1)); reads != 7 || len(sets[0].Values) != 1 || len(sets[1].Values) != 1 {
		t.Errorf("of one sensor: %d read, %v", reads-6, sets)
	}
}
