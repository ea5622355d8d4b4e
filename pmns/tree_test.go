package pmns

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/pcp-rtime/rtime/pcp"
)

func TestCheckName(t *testing.T) {
	for _, c := range []struct {
		name string
		ok   bool
	}{
		{"a", true}, {"rtime.lan.below10", true}, {"dds.IBM.Test_2", true}, {"roots.a", true}, {"a.root", true},
		{"", false}, {".", false}, {"a.", false}, {".a", false}, {"a..b", false}, {"1a", false},
		{"a.1", false}, {"_a", false}, {"a-b", false}, {"a b", false}, {"ä", false}, {"a{", false},
		{"a[", false}, {"@a", false}, {"a`", false}, {"root", false}, {"root.a", false}, {"a\n", false},
	} {
		if err := CheckName(c.name); (err == nil) != c.ok {
			t.Errorf("CheckName(%q) = %v, want ok %v", c.name, err, c.ok)
		}
	}
}

// sample is a small tree with a shared identifier and a dynamic root.
func sample(t *testing.T) *Tree {
	t.Helper()
	tree := new(Tree)
	for name, id := range map[string]pcp.PMID{
		"rtime.lan.resptime":    pcp.MakePMID(400, 0, 1),
		"rtime.lan.respavg":     pcp.MakePMID(400, 0, 2),
		"rtime.lan.agent.hosts": pcp.MakePMID(400, 1, 0),
		"rtime.lan.agent.alias": pcp.MakePMID(400, 0, 1),
		"rtime.dds.contexts":    pcp.MakePMID(402, 0, 0),
		"dds":                   Dynamic(402),
	} {
		if err := tree.Add(name, id); err != nil {
			t.Fatal(err)
		}
	}
	return tree
}

func TestLookup(t *testing.T) {
	tree := sample(t)
	for _, c := range []struct {
		name string
		id   pcp.PMID
		err  error
	}{
		{"rtime.lan.respavg", pcp.MakePMID(400, 0, 2), nil},
		{"dds", Dynamic(402), nil},
		{"rtime.lan", pcp.PMIDNull, pcp.ErrNonLeaf},
		{"", pcp.PMIDNull, pcp.ErrNonLeaf},
		{"rtime.lan.nothing", pcp.PMIDNull, pcp.ErrName},
		{"rtime.lan.respavg.x", pcp.PMIDNull, pcp.ErrName},
		{"rtime..lan", pcp.PMIDNull, pcp.ErrName},
		{"dds.IBM", pcp.PMIDNull, pcp.ErrName},
		{".", pcp.PMIDNull, pcp.ErrName},
	} {
		if id, err := tree.Lookup(c.name); id != c.id || !errors.Is(err, c.err) {
			t.Errorf("Lookup(%q) = %v, %v, want %v, %v", c.name, id, err, c.id, c.err)
		}
	}
}

func TestAddRefuses(t *testing.T) {
	tree := sample(t)
	before := fmt.Sprint(tree.Traverse(""))
	good := pcp.MakePMID(400, 2, 0)
	for _, c := range []struct {
		name string
		id   pcp.PMID
		want string
	}{
		{"rtime.lan.respavg", good, "there already"},
		{"rtime.lan", good, "taken by a node"},
		{"rtime.lan.respavg.x.y", good, `below the metric "rtime.lan.respavg"`},
		{"dds.x", good, `below the metric "dds"`},
		{"rtime.lan.new.", good, "empty part"},
		{"x", pcp.PMIDNull, "not a metric's"},
		{"x", pcp.MakePMID(511, 511, 0), "not a metric's"},
		{"x", pcp.MakePMID(511, 3, 1), "not a metric's"},
	} {
		if err := tree.Add(c.name, c.id); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("Add(%q, %v) = %v, want %q", c.name, c.id, err, c.want)
		}
	}
	if after := fmt.Sprint(tree.Traverse("")); after != before {
		t.Errorf("failed Adds changed the tree:\n%s\n%s", before, after)
	}
}

func TestLists(t *testing.T) {
	tree := sample(t)
	if got, want := tree.Names(pcp.MakePMID(400, 0, 1)), []string{"rtime.lan.agent.alias", "rtime.lan.resptime"}; !slices.Equal(got, want) {
		t.Errorf("Names = %q, want %q", got, want)
	}
	if got := tree.Names(pcp.MakePMID(1, 1, 1)); got != nil {
		t.Errorf("Names of an unknown identifier = %q", got)
	}
	for name, want := range map[string][]Child{
		"":          {{"dds", true}, {"rtime", false}},
		"rtime.lan": {{"agent", false}, {"respavg", true}, {"resptime", true}},
		"dds":       {},
	} {
		if got, err := tree.Children(name); err != nil || !slices.Equal(got, want) {
			t.Errorf("Children(%q) = %v, %v, want %v", name, got, err, want)
		}
	}
	if _, err := tree.Children("x"); !errors.Is(err, pcp.ErrName) {
		t.Errorf("Children of an unknown name: %v", err)
	}
	got, err := tree.Traverse("rtime.lan")
	want := []Leaf{
		{"rtime.lan.agent.alias", pcp.MakePMID(400, 0, 1)},
		{"rtime.lan.agent.hosts", pcp.MakePMID(400, 1, 0)},
		{"rtime.lan.respavg", pcp.MakePMID(400, 0, 2)},
		{"rtime.lan.resptime", pcp.MakePMID(400, 0, 1)},
	}
	if err != nil || !slices.Equal(got, want) {
		t.Errorf("Traverse = %v, %v, want %v", got, err, want)
	}
	if got, err := tree.Traverse("dds"); err != nil || len(got) != 1 || got[0].String() != "dds 402:*:*" {
		t.Errorf("Traverse of a leaf = %v, %v", got, err)
	}
}

func TestDynamicRoot(t *testing.T) {
	tree := sample(t)
	for name, want := range map[string]string{
		"dds": "dds 402 true", "dds.a.b": "dds 402 true", "ddsx": " 0 false", "": " 0 false",
		"rtime.lan.respavg": "rtime.lan.respavg 0 false", "rtime.lan": " 0 false",
	} {
		root, domain, ok := tree.DynamicRoot(name)
		if got := fmt.Sprint(root, " ", domain, " ", ok); got != want {
			t.Errorf("DynamicRoot(%q) = %q, want %q", name, got, want)
		}
	}
}

func TestRemove(t *testing.T) {
	tree := sample(t)
	for name, want := range map[string]error{"rtime.lan": pcp.ErrNonLeaf, "": pcp.ErrNonLeaf, "x": pcp.ErrName, "rtime.lan.respavg.x": pcp.ErrName} {
		if err := tree.Remove(name); !errors.Is(err, want) {
			t.Errorf("Remove(%q) = %v, want %v", name, err, want)
		}
	}
	if err := tree.Remove("rtime.dds.contexts"); err != nil {
		t.Fatal(err)
	}
	if _, err := tree.Lookup("rtime.dds"); !errors.Is(err, pcp.ErrName) {
		t.Errorf("an inner node stays with nothing below it: %v", err)
	}
	if n, err := tree.RemoveAll("rtime.lan"); n != 4 || err != nil {
		t.Errorf("RemoveAll = %d, %v", n, err)
	}
	if got, _ := tree.Children(""); !slices.Equal(got, []Child{{"dds", true}}) || tree.Len() != 1 {
		t.Errorf("left over: %v, Len %d", got, tree.Len())
	}
	if got := tree.Names(pcp.MakePMID(400, 0, 1)); got != nil {
		t.Errorf("identifier of removed names still has %q", got)
	}
	if n, err := tree.RemoveAll(""); n != 1 || err != nil || tree.Len() != 0 || len(tree.ids) != 0 {
		t.Errorf("RemoveAll of the top = %d, %v, Len %d", n, err, tree.Len())
	}
}

// TestAgainstMap plays random additions and removals and compares with plain maps.
func TestAgainstMap(t *testing.T) {
	rnd := rand.New(rand.NewPCG(1, 2))
	tree, model := new(Tree), map[string]pcp.PMID{}
	for range 20000 {
		name := fmt.Sprintf("a%d", rnd.IntN(4))
		for range rnd.IntN(3) {
			name += fmt.Sprintf(".b%d", rnd.IntN(4))
		}
		taken := false
		for have := range model {
			taken = taken || have == name || strings.HasPrefix(have, name+".") || strings.HasPrefix(name, have+".")
		}
		_, there := model[name]
		if rnd.IntN(2) == 0 {
			id := pcp.MakePMID(400, 0, rnd.IntN(3))
			if err := tree.Add(name, id); (err == nil) == taken {
				t.Fatalf("Add(%q) = %v, taken %v", name, err, taken)
			} else if err == nil {
				model[name] = id
			}
		} else if err := tree.Remove(name); (err == nil) != there {
			t.Fatalf("Remove(%q) = %v, there %v", name, err, there)
		} else {
			delete(model, name)
		}
		compare(t, tree, model)
	}
}

func compare(t *testing.T, tree *Tree, model map[string]pcp.PMID) {
	t.Helper()
	got := map[string]pcp.PMID{}
	leaves, _ := tree.Traverse("")
	for _, l := range leaves {
		got[l.Name] = l.PMID
	}
	if !reflect.DeepEqual(got, model) || tree.Len() != len(model) {
		t.Fatalf("tree %v, model %v", got, model)
	}
	total := 0
	for id := range tree.ids {
		for _, name := range tree.Names(id) {
			if total++; model[name] != id {
				t.Fatalf("Names(%v) holds %q", id, name)
			}
		}
	}
	if total != len(model) {
		t.Fatalf("%d names by identifier, %d in all", total, len(model))
	}
}

// TestAddCostsTheSame counts what one more name allocates below a node with ten and
// with 100,000 children, all of one identifier.
func TestAddCostsTheSame(t *testing.T) {
	cost := func(children int) float64 {
		tree := new(Tree)
		id := pcp.MakePMID(400, 0, 0)
		for i := range children {
			if err := tree.Add(fmt.Sprintf("dds.c%d", i), id); err != nil {
				t.Fatal(err)
			}
		}
		return testing.AllocsPerRun(100, func() {
			if tree.Add("dds.new", id) != nil || tree.Remove("dds.new") != nil {
				t.Error("cannot add and remove")
			}
		})
	}
	few, many := cost(10), cost(100000)
	if few != many || few > 10 {
		t.Errorf("add and remove allocate %v times among 10 names, %v among 100,000", few, many)
	}
}

func BenchmarkAddRemove(b *testing.B) {
	for _, n := range []int{10, 100000} {
		b.Run(fmt.Sprint(n), func(b *testing.B) {
			tree := new(Tree)
			for i := range n {
				_ = tree.Add(fmt.Sprintf("dds.c%d", i), pcp.MakePMID(400, i>>10, i&1023))
			}
			b.ResetTimer()
			for b.Loop() {
				_ = tree.Add("dds.new", pcp.MakePMID(400, 0, 0))
				_ = tree.Remove("dds.new")
			}
		})
	}
}
