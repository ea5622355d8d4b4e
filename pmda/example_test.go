package pmda_test

import (
	"errors"
	"fmt"
	"io"
	"log"
	"time"

	"github.com/pcp-rtime/rtime/pcp"
	"github.com/pcp-rtime/rtime/pmda"
)

// export prints what an agent would export.
func export(a *pmda.Agent) {
	s, err := pmda.New(a, pmda.Options{Log: log.New(io.Discard, "", 0)})
	if err != nil {
		log.Fatal(err)
	}
	list, err := s.Export() // nobody serves yet
	if err != nil {
		log.Fatal(err)
	}
	for _, e := range list {
		fmt.Print(e.Name)
		for _, v := range e.Values {
			fmt.Printf(" [%s] %v", v.Inst, v.Value)
		}
		if e.Err != nil {
			fmt.Print(" ", e.Err)
		}
		fmt.Println()
	}
}

// An agent with one value and one for each instance. A program hands it to Main.
func Example() {
	type disk struct{ reads uint64 }
	disks := &pmda.InDom[*disk]{Name: "disks", Keep: true, OneLine: "disks"}
	a := &pmda.Agent{
		Name: "example", Domain: 500,
		Metrics: []pmda.Metric{{
			Name: "example.disks", Item: 0, Sem: pcp.SemDiscrete, Units: pcp.Count, OneLine: "number of disks",
			Get: pmda.Value(func() (uint32, error) { return uint32(disks.Len()), nil }),
		}, {
			Name: "example.reads", Item: 1, Sem: pcp.SemCounter, Units: pcp.Count, OneLine: "reads from the disk",
			Get: pmda.Per(disks, func(d *disk) (uint64, bool) { return d.reads, true }),
		}},
	}
	if err := disks.Sync(map[string]*disk{"sda": {reads: 17}, "sdb": {reads: 4}}); err != nil {
		log.Fatal(err)
	}
	export(a)
	// Output:
	// example.disks [] 2
	// example.reads [sda] 17 [sdb] 4
}

func ExampleInDom_Sync() {
	users := &pmda.InDom[int]{OneLine: "users"}
	for _, now := range []map[string]int{{"anna": 1, "bert": 2}, {"bert": 3, "carl": 4}} {
		if err := users.Sync(now); err != nil {
			log.Fatal(err)
		}
		users.All(func(i pcp.Instance, n int) bool {
			fmt.Printf("%s has id %d and %d sessions\n", i.Name, i.ID, n)
			return true
		})
	}
	// Unordered output:
	// anna has id 0 and 1 sessions
	// bert has id 1 and 2 sessions
	// bert has id 1 and 3 sessions
	// carl has id 2 and 4 sessions
}

func ExampleStoreAs() {
	level := int32(1)
	store := pmda.StoreAs(func(s *pmda.Store, n int32) error {
		if n < 0 {
			return fmt.Errorf("%w: level %d is below 0", pcp.ErrBadStore, n)
		}
		level = n
		return nil
	})
	for _, v := range []pcp.Value{pcp.Num(int32(7)), pcp.Num(int32(-7))} {
		err := store(&pmda.Store{Name: "example.level", Value: v})
		fmt.Println(level, errors.Is(err, pcp.ErrBadStore))
	}
	// Output:
	// 7 false
	// 7 true
}

func ExampleServer_Event() {
	var queue pmda.EventQueue
	s, err := pmda.New(&pmda.Agent{
		Name: "doors", Domain: 500,
		Metrics: []pmda.Metric{
			{Name: "doors.opened", Item: 0, Sem: pcp.SemInstant, OneLine: "doors that were opened",
				Get: pmda.Events(pcp.TypeHighresEvent, &queue)},
			{Name: "doors.number", Item: 1, Sem: pcp.SemDiscrete, OneLine: "number of a door",
				Get: pmda.Value(func() (uint32, error) { return 0, pmda.ErrNoValue })},
		},
	}, pmda.Options{})
	if err != nil {
		log.Fatal(err)
	}
	record, err := s.Event(time.Unix(0, 0), pcp.EventPoint, pmda.With("doors.number", uint32(7)))
	if err != nil {
		log.Fatal(err)
	}
	queue.Append(record)
	fmt.Println(record.Params[0].PMID, record.Params[0].Value)
	// Output: 500.0.1 7
}
