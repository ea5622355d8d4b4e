package pmda_test

import (
	"fmt"
	"maps"
	"math"
	"slices"
	"strings"
	"syscall"
	"testing"

	"github.com/pcp-rtime/rtime/pcp"
	"github.com/pcp-rtime/rtime/pdu"
	"github.com/pcp-rtime/rtime/pmda"
	"github.com/pcp-rtime/rtime/pmda/pmdatest"
)

// show prints the value sets of a fetch: instances in ascending order and values, or
// the error.
func show(t *testing.T, z *zoo, sets []pdu.ValueSet) string {
	t.Helper()
	var b strings.Builder
	for _, s := range sets {
		if s.Err != 0 {
			fmt.Fprintf(&b, "error %d; ", int32(s.Err))
			continue
		}
		slices.SortFunc(s.Values, func(a, b pdu.InstValue) int { return int(a.Inst) - int(b.Inst) })
		for _, v := range s.Values {
			fmt.Fprintf(&b, "%d=%v ", v.Inst, v.Value)
		}
		b.WriteString("; ")
	}
	return strings.TrimSuffix(b.String(), "; ")
}

func TestFetch(t *testing.T) {
	z := newZoo()
	c, _ := visit(t, z)
	leo, _ := c.Lookup(beastDom, "leo")
	both := func(a, b string) string { return map[int32]string{0: a + " " + b, 1: b + " " + a}[leo] + " " }
	tweety := 1 - leo
	weights := both(fmt.Sprintf("%d=190.5", leo), fmt.Sprintf("%d=0.03", tweety))
	for _, x := range []struct {
		ids  []pcp.PMID
		want string
	}{
		{[]pcp.PMID{zooID(itemCount)}, "-1=2 "},
		{[]pcp.PMID{zooID(itemWeight)}, weights},
		{[]pcp.PMID{zooID(itemLegs)}, both(fmt.Sprintf("%d=4", leo), fmt.Sprintf("%d=2", tweety))},
		{[]pcp.PMID{zooID(itemKind)}, both(fmt.Sprintf("%d=lion", leo), fmt.Sprintf("%d=bird", tweety))},
		{[]pcp.PMID{zooID(itemBroken)}, "error -12389"},
		{[]pcp.PMID{zooID(itemErrno)}, fmt.Sprintf("error %d", -int(syscall.ENODEV))},
		{[]pcp.PMID{zooID(999)}, "error -12358"},
		{[]pcp.PMID{pcp.MakePMID(29, 3, itemCount)}, "error -12358"},
		{[]pcp.PMID{pcp.PMIDNull}, "error -12358"},
		{[]pcp.PMID{zooID(itemCage)}, ""},
		{[]pcp.PMID{zooID(itemBlob)}, "-1=AGGREGATE[010203] "},
		{[]pcp.PMID{zooID(itemMood)}, "-1=0.5 "},
		{[]pcp.PMID{zooID(itemCount), zooID(999), zooID(itemWeight), zooID(itemCount), zooID(itemBroken), zooID(itemWeight)},
			"-1=2 ; error -12358; " + weights + "; -1=2 ; error -12389; " + weights},
	} {
		if got := show(t, z, c.Fetch(x.ids...)); got != x.want {
			t.Errorf("fetch of %v: %q, want %q", x.ids, got, x.want)
		}
	}
}

// TestProfile asks for both a metric of a fast getter and one of Func.
func TestProfile(t *testing.T) {
	z := newZoo()
	z.agent.Start = func(s *pmda.Server) error {
		z.server = s
		for i := range int32(6) {
			if _, err := z.beasts.Add(fmt.Sprintf("b%d", i), &beast{"b", float64(i), i}); err != nil {
				return err
			}
			if _, err := z.cages.Add(fmt.Sprintf("c%d", i), i); err != nil {
				return err
			}
		}
		return nil
	}
	z.fetch = func(v *pmda.Values) { // gives all and has the server drop what is not wanted
		z.beasts.All(func(inst pcp.Instance, b *beast) bool {
			v.Set(inst.ID, pcp.Num(uint64(b.legs)))
			return true
		})
	}
	c, _ := visit(t, z)
	one := func(s pdu.ProfileState, list ...int32) []pdu.InDomProfile {
		return []pdu.InDomProfile{{InDom: beastDom, State: s, List: list}}
	}
	other := []pdu.InDomProfile{{InDom: cageDom, State: pdu.Exclude, List: []int32{1}}}
	for _, x := range []struct {
		what string
		p    pdu.Profile
		want []int32
	}{
		{"all", pdu.Profile{}, []int32{0, 1, 2, 3, 4, 5}},
		{"none", pdu.Profile{Default: pdu.Exclude}, nil},
		{"only two", pdu.Profile{Default: pdu.Exclude, InDoms: one(pdu.Exclude, 1, 4)}, []int32{1, 4}},
		{"only two, default all", pdu.Profile{InDoms: one(pdu.Exclude, 4, 1)}, []int32{1, 4}},
		{"only one, listed thrice", pdu.Profile{InDoms: one(pdu.Exclude, 4, 4, 4)}, []int32{4}},
		{"only none", pdu.Profile{InDoms: one(pdu.Exclude)}, nil},
		{"only unknown ones", pdu.Profile{InDoms: one(pdu.Exclude, 99, -1, math.MaxInt32, math.MinInt32)}, nil},
		{"only known and unknown", pdu.Profile{InDoms: one(pdu.Exclude, 99, 2, -1)}, []int32{2}},
		{"all but two", pdu.Profile{InDoms: one(pdu.Include, 5, 0)}, []int32{1, 2, 3, 4}},
		{"all but two, default none", pdu.Profile{Default: pdu.Exclude, InDoms: one(pdu.Include, 5, 0, 0)}, []int32{1, 2, 3, 4}},
		{"all but none", pdu.Profile{Default: pdu.Exclude, InDoms: one(pdu.Include)}, []int32{0, 1, 2, 3, 4, 5}},
		{"all but unknown ones", pdu.Profile{InDoms: one(pdu.Include, 99, -1)}, []int32{0, 1, 2, 3, 4, 5}},
		{"another indom restricted", pdu.Profile{InDoms: other}, []int32{0, 1, 2, 3, 4, 5}},
		{"another indom restricted, default none", pdu.Profile{Default: pdu.Exclude, InDoms: other}, nil},
		{"two indoms", pdu.Profile{InDoms: append(one(pdu.Exclude, 3), other...)}, []int32{3}},
		{"all again", pdu.Profile{}, []int32{0, 1, 2, 3, 4, 5}},
	} {
		c.Send(&x.p)
		for range 2 { // made anew, and from the cache
			for _, item := range []int{itemLegs, itemWeight, itemKind, itemCustom} {
				if got := insts(c, item); !slices.Equal(got, x.want) {
					t.Errorf("%s: item %d has values of %v, want %v", x.what, item, got, x.want)
				}
			}
			if got := insts(c, itemCount); !slices.Equal(got, []int32{pcp.InstNull}) {
				t.Errorf("%s: a metric of one value has %v", x.what, got)
			}
		}
	}
}

// insts returns which instances a fetch gives values of.
func insts(c *pmdatest.Conn, item int) (ids []int32) {
	for _, v := range c.Fetch(zooID(item))[0].Values {
		ids = append(ids, v.Inst)
	}
	slices.Sort(ids)
	return ids
}

// TestInstancesChange under a profile that stays the same.
func TestInstancesChange(t *testing.T) {
	z := newZoo()
	c, _ := visit(t, z)
	leo, _ := c.Lookup(beastDom, "leo")
	fetch := func() string { return show(t, z, c.Fetch(zooID(itemLegs), zooID(itemWeight))) }
	see := func(what, want string) {
		t.Helper()
		if got := fetch(); got != want {
			t.Errorf("%s: %q, want %q", what, got, want)
		}
	}
	c.Profile(pdu.InDomProfile{InDom: beastDom, State: pdu.Exclude, List: []int32{leo}})
	see("before", fmt.Sprintf("%d=4 ; %d=190.5 ", leo, leo))
	z.do(t, func() { z.beasts.Add("leo", &beast{"lion", 200, 3}) })
	see("with other data", fmt.Sprintf("%d=3 ; %d=200 ", leo, leo))
	z.do(t, func() { z.beasts.Add("leo", &beast{"ghost", 200, 3}) })
	see("without a value", "; ")
	z.do(t, func() { z.beasts.Remove("tweety 1st"); z.beasts.Add("rex", &beast{"dog", 9, 4}) })
	z.do(t, func() { z.beasts.Remove("leo") })
	see("removed", "; ")
	z.do(t, func() { z.beasts.Add("leo", &beast{"lion", 7, 4}) })
	see("back again, with the id it had", fmt.Sprintf("%d=4 ; %d=7 ", leo, leo))
	c.Send(&pdu.Profile{})
	rex, _ := c.Lookup(beastDom, "rex")
	if got, want := insts(c, itemLegs), []int32{leo, rex}; !slices.Equal(got, slices.Sorted(slices.Values(want))) {
		t.Errorf("instances %v, want %v", got, want)
	}
	if rex == 0 || rex == 1 {
		t.Errorf("rex has id %d, which was given to another", rex)
	}
}

// TestInDomMethods calls them as an agent does.
func TestInDomMethods(t *testing.T) {
	d := &pmda.InDom[int]{Serial: 1}
	if d.Remove("x") || d.Len() != 0 || !d.Used("x").IsZero() {
		t.Error("an empty domain is not empty")
	}
	if _, ok := d.Get("x"); ok {
		t.Error("an empty domain has x")
	}
	for _, bad := range []string{"", "a\nb", "a\x00b"} {
		if _, err := d.Add(bad, 0); err == nil || !strings.Contains(err.Error(), "instance domain 1") {
			t.Errorf("Add(%q): %v", bad, err)
		}
	}
	a, err := d.Add("one two", 1)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := d.Add("one three", 1); err == nil || !strings.Contains(err.Error(), `"one two"`) {
		t.Errorf("a name that differs behind the blank: %v", err)
	}
	if _, err := d.Add("one", 1); err == nil {
		t.Error("a name that is another's first word is taken")
	}
	if d.Remove("one") || d.Remove("one three") {
		t.Error("Remove takes another's name")
	}
	if _, ok := d.Get("one"); ok {
		t.Error("Get takes another's name")
	}
	b, _ := d.Add("b", 2)
	if x, ok := d.ByID(b); !ok || x != 2 {
		t.Errorf("ByID: %v, %v", x, ok)
	}
	if again, err := d.Add("one two", 3); again != a || err != nil {
		t.Errorf("Add again: %d, %v, want %d", again, err, a)
	}
	if x, ok := d.Get("one two"); !ok || x != 3 {
		t.Errorf("Get: %v, %v", x, ok)
	}
	if !d.Remove("one two") || d.Len() != 1 {
		t.Error("Remove does not remove")
	}
	if x, ok := d.ByID(b); !ok || x != 2 { // it has moved
		t.Errorf("ByID after a removal: %v, %v", x, ok)
	}
	if _, ok := d.ByID(a); ok {
		t.Error("ByID finds what was removed")
	}
	if c, err := d.Add("one three", 9); err != nil || c == a || c == b {
		t.Errorf("a new name has id %d, %v; %d and %d are given", c, err, a, b)
	}
	all := make(map[string]int)
	d.All(func(i pcp.Instance, x int) bool { all[i.Name] = x; return true })
	if !maps.Equal(all, map[string]int{"b": 2, "one three": 9}) {
		t.Errorf("All: %v", all)
	}
	n := 0
	d.All(func(pcp.Instance, int) bool { n++; return false })
	if n != 1 {
		t.Errorf("All goes on %d times after false", n)
	}
}

// TestValuesSet gives values of other types than the metric's, which is U64.
func TestValuesSet(t *testing.T) {
	z := newZoo()
	c, j := visit(t, z)
	for _, x := range []struct {
		give func(*pmda.Values)
		want string
	}{
		{func(v *pmda.Values) {}, ""},
		{func(v *pmda.Values) { v.Set(0, pcp.Num(int32(5))) }, "0=5 "},
		{func(v *pmda.Values) { v.Set(0, pcp.Num(5.0)); v.Set(1, pcp.Num(uint64(math.MaxUint64))) }, "0=5 1=18446744073709551615 "},
		{func(v *pmda.Values) { v.Set(0, pcp.Num(uint64(1))); v.Set(1, pcp.Num(int32(-1))) }, "error -12364"},
		{func(v *pmda.Values) { v.Set(0, pcp.Str("5")) }, "error -12362"},
		{func(v *pmda.Values) { v.Set(0, pcp.Num(uint64(1))); v.Fail(errZoo); v.Set(1, pcp.Num(uint64(1))) }, "error -12345"},
		{func(v *pmda.Values) { v.Fail(pcp.ErrIPC) }, "error -12345"},
		{func(v *pmda.Values) { v.Fail(pcp.ErrTimeout) }, "error -12345"},
		{func(v *pmda.Values) { v.Fail(syscall.EPIPE) }, "error -12345"},
		{func(v *pmda.Values) { v.Fail(pcp.Error(7)) }, "error -12345"},
		{func(v *pmda.Values) { v.Fail(nil) }, "error -12345"},
		{func(v *pmda.Values) { v.Fail(fmt.Errorf("not yet: %w", pcp.ErrValue)) }, "error -12351"},
	} {
		z.do(t, func() { z.fetch = x.give })
		if got := show(t, z, c.Fetch(zooID(itemCustom), zooID(itemCount))); got != x.want+"; -1=2 " {
			t.Errorf("%q, want %q", got, x.want+"; -1=2 ")
		}
	}
	if j.count("fetch of zoo.custom: the keeper is ill") != 1 || j.count("not yet: ") != 1 {
		t.Errorf("the log does not name what failed:\n%s", j)
	}
}

// TestUsed: a look-up stamps the instance that it finds, a fetch those that its profile
// wants, and neither any others.
func TestUsed(t *testing.T) {
	z := newZoo()
	c, _ := visit(t, z)
	used := func(name string) (u int64) {
		z.do(t, func() {
			if s := z.beasts.Used(name); !s.IsZero() {
				u = s.UnixNano()
			}
		})
		return u
	}
	c.Fetch(zooID(itemCount))
	if used("leo") != 0 || used("tweety 1st") != 0 {
		t.Error("used before anybody asked")
	}
	leo, _ := c.Lookup(beastDom, "leo")
	found := used("leo")
	if found == 0 || used("tweety 1st") != 0 {
		t.Errorf("a look-up of leo stamps leo %d, tweety %d", found, used("tweety 1st"))
	}
	c.Profile(pdu.InDomProfile{InDom: beastDom, State: pdu.Exclude, List: []int32{leo, 99}})
	c.Fetch(zooID(itemLegs))
	first := used("leo")
	if first <= found || used("tweety 1st") != 0 || used("tweety") != 0 {
		t.Errorf("a fetch of leo stamps leo %d, tweety %d", first, used("tweety 1st"))
	}
	c.Send(&pdu.Profile{})
	c.Fetch(zooID(itemLegs))
	all := used("leo")
	if all <= first || used("tweety 1st") != all {
		t.Errorf("a fetch of all stamps leo %d, tweety %d; before %d", all, used("tweety 1st"), first)
	}
	c.Profile(pdu.InDomProfile{InDom: beastDom, State: pdu.Exclude, List: []int32{leo}})
	c.Fetch(zooID(itemLegs))
	if used("leo") <= all || used("tweety 1st") != all {
		t.Error("a later fetch of leo stamps another, or not leo")
	}
}

// TestRepeats: a metric that is asked for again and again in one fetch is answered a
// few times, so that a small request cannot ask for gigabytes.
func TestRepeats(t *testing.T) {
	z := newZoo()
	c, _ := visit(t, z)
	ids := slices.Repeat([]pcp.PMID{zooID(itemCount)}, 3000)
	for range 2 {
		for i, s := range c.Fetch(ids...) {
			if i < 4 && (s.Err != 0 || len(s.Values) != 1) || i >= 4 && s.Err != pcp.ErrTooBig {
				t.Fatalf("set %d: %+v", i, s)
			}
		}
	}
}
