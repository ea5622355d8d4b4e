package pmapi

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/pcp-rtime/rtime/pcp"
	"github.com/pcp-rtime/rtime/pmapi"
	"github.com/pcp-rtime/rtime/test/pcptest"
)

// TestNames: the name space is the one that pminfo prints, by traversal, by children, and from
// names to identifiers and back.
func TestNames(t *testing.T) {
	t.Parallel()
	p := start(t)
	p.Run("pmstore", "-h", "local:", "-F", "test.control.add", "late.comer")
	c := client(t, p)
	ctx := context.Background()
	want := make(map[string]string) // identifiers by name, as pminfo -m prints them
	for line := range strings.Lines(p.Run("pminfo", "-h", "local:", "-m")) {
		name, id, _ := strings.Cut(strings.TrimSpace(line), " PMID: ")
		if !strings.HasPrefix(id, "511.") { // libpcp's own, which pmcd does not know
			want[name] = id
		}
	}
	names, err := c.Traverse(ctx, "")
	if err != nil {
		t.Fatal(err)
	}
	if len(names) != len(want) || want["test.dynamic.late.comer"] == "" {
		t.Errorf("%d names, pminfo prints %d", len(names), len(want))
	}
	ids, err := c.LookupNames(ctx, names...)
	if err != nil {
		t.Fatal(err)
	}
	for i, name := range names {
		if ids[i].String() != want[name] {
			t.Errorf("%s is %v, pminfo says %q", name, ids[i], want[name])
		}
		back, err := c.NamesOf(ctx, ids[i])
		if err != nil || !slices.Contains(back, name) {
			t.Errorf("%v, which is %s, has the names %q, %v", ids[i], name, back, err)
		}
	}
	slices.Sort(names)
	walked := walk(t, c, "")
	slices.Sort(walked)
	if !slices.Equal(walked, names) {
		t.Errorf("by children the names are\n%q\nby traversal\n%q", walked, names)
	}
}

// walk returns the metrics below a node by asking for children.
func walk(t *testing.T, c *pmapi.Client, node string) []string {
	t.Helper()
	children, err := c.Children(context.Background(), node)
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	for _, child := range children {
		full := strings.TrimPrefix(node+"."+child.Name, ".")
		if child.Leaf {
			names = append(names, full)
		} else {
			names = append(names, walk(t, c, full)...)
		}
	}
	return names
}

// TestUnknown: what is not there is said by the error that PCP has for it.
func TestUnknown(t *testing.T) {
	t.Parallel()
	c := client(t, start(t))
	ctx := context.Background()
	const none = pcp.InDom(490<<22 | 77)
	color := metrics(t, c, "test.color")[0]
	for what, tt := range map[string]struct {
		got  error
		want error
	}{
		"children":          {second(c.Children(ctx, "no.such")), pcp.ErrName},
		"traversal":         {second(c.Traverse(ctx, "no.such")), pcp.ErrName},
		"names":             {second(c.NamesOf(ctx, pcp.MakePMID(490, 9, 9))), pcp.ErrPMID},
		"descriptor":        {second(c.Desc(ctx, pcp.MakePMID(490, 9, 9))), pcp.ErrPMID},
		"metrics":           {second(c.Metrics(ctx, "test.color", "test.no.such")), pcp.ErrName},
		"a node":            {second(c.Metrics(ctx, "test")), pcp.ErrName},
		"instances":         {second(c.Instances(ctx, none)), pcp.ErrInDom},
		"number":            {second(c.LookupInstance(ctx, color.InDom, "blue")), pcp.ErrInst},
		"number of nothing": {second(c.LookupInstance(ctx, color.InDom, "")), pcp.ErrInst},
		"name":              {second(c.InstanceName(ctx, color.InDom, 99)), pcp.ErrInst},
		"name below 0":      {second(c.InstanceName(ctx, color.InDom, -1)), pcp.ErrInst},
		"help":              {second(c.Text(ctx, pcp.MakePMID(490, 9, 9), pcp.TextHelp)), pcp.ErrPMID},
	} {
		if !errors.Is(tt.got, tt.want) {
			t.Errorf("%s: %v, want %v", what, tt.got, tt.want)
		}
		if pmapi.MayRetry(tt.got) {
			t.Errorf("%s: MayRetry of %v", what, tt.got)
		}
	}
	ids, err := c.LookupNames(ctx, "test.no.such", "test.color", "test")
	if err != nil || ids[0] != pcp.PMIDNull || ids[1] != color.PMID || ids[2] != pcp.PMIDNull {
		t.Errorf("LookupNames: %v, %v", ids, err)
	}
	// A fetch brings what there is of the others.
	var s pmapi.Sample
	alien := &pmapi.Metric{Desc: pcp.Desc{PMID: pcp.MakePMID(490, 9, 9)}}
	nobody := &pmapi.Metric{Desc: pcp.Desc{PMID: pcp.MakePMID(491, 9, 9)}}
	wrong := *color
	wrong.Type = pcp.TypeDouble
	if err := c.Fetch(ctx, &s, nil, alien, color, &wrong, nobody); err != nil {
		t.Fatal(err)
	}
	if s.Sets[0].Err != pcp.ErrPMID || len(s.Sets[1].Values) != 2 || s.Sets[2].Err != pcp.ErrConv || s.Sets[3].Err != pcp.ErrNoAgent {
		t.Errorf("sets %+v", s.Sets)
	}
}

func second[T any](_ T, err error) error { return err }

// TestDescs: descriptors asked for together and one by one are the same, and they are what
// pminfo prints.
func TestDescs(t *testing.T) {
	t.Parallel()
	p := start(t)
	p.Run("pmstore", "-h", "local:", "-F", "test.control.add", "late.comer")
	c := client(t, p)
	ctx := context.Background()
	names, err := c.Traverse(ctx, "")
	if err != nil {
		t.Fatal(err)
	}
	list := metrics(t, c, names...)
	ids := []pcp.PMID{pcp.MakePMID(490, 9, 9)}
	for _, m := range list {
		ids = append(ids, m.PMID)
		d, err := c.Desc(ctx, m.PMID)
		if err != nil || d != m.Desc {
			t.Errorf("%s is %+v, together with others %+v; %v", m.Name, d, m.Desc, err)
		}
		out := p.Run("pminfo", "-h", "local:", "-d", m.Name)
		units := m.Units.String()
		if units == "" {
			units = "none"
		}
		if want := fmt.Sprintf("Semantics: %v  Units: %s", m.Sem, units); !strings.Contains(out, want) {
			t.Errorf("%s: %q, pminfo prints %s", m.Name, want, out)
		}
	}
	descs, err := c.Descs(ctx, ids...)
	if err != nil || descs[0].PMID != pcp.PMIDNull {
		t.Fatalf("Descs: %v, %v", descs[0], err)
	}
	for i, m := range list {
		if descs[i+1] != m.Desc {
			t.Errorf("%s is %+v, together with an unknown metric %+v", m.Name, m.Desc, descs[i+1])
		}
	}
}

// TestInstances: names and numbers of instances, both ways.
func TestInstances(t *testing.T) {
	t.Parallel()
	c := client(t, start(t))
	ctx := context.Background()
	d := metrics(t, c, "test.color")[0].InDom
	list, err := c.Instances(ctx, d)
	if err != nil || fmt.Sprint(list) != "[{0 red} {1 green}]" {
		t.Errorf("instances %v, %v", list, err)
	}
	if id, err := c.LookupInstance(ctx, d, "green"); err != nil || id != 1 {
		t.Errorf("green is %d, %v", id, err)
	}
	if name, err := c.InstanceName(ctx, d, 1); err != nil || name != "green" {
		t.Errorf("instance 1 is %q, %v", name, err)
	}
}

// TestText: long help, the line that stands in for it, and that of an instance domain.
func TestText(t *testing.T) {
	t.Parallel()
	c := client(t, start(t))
	ctx := context.Background()
	list := metrics(t, c, "test.fetches", "test.color")
	for _, tt := range []struct {
		id    pcp.PMID
		level pcp.TextType
		want  string
	}{
		{list[0].PMID, pcp.TextOneLine, "fetches of this metric"},
		{list[0].PMID, pcp.TextHelp, "The first fetch gives 1."},
		{list[1].PMID, pcp.TextHelp, "a value for each color"},
	} {
		if got, err := c.Text(ctx, tt.id, tt.level); err != nil || got != tt.want {
			t.Errorf("help %d of %v: %q, %v; want %q", tt.level, tt.id, got, err, tt.want)
		}
	}
	if got, err := c.InDomText(ctx, list[1].InDom, pcp.TextOneLine); err != nil || got != "colors" {
		t.Errorf("help for the instance domain: %q, %v", got, err)
	}
}

// TestLabels: labels of all levels come together, and those of instances change.
func TestLabels(t *testing.T) {
	t.Parallel()
	p := start(t)
	c := client(t, p)
	ctx := context.Background()
	color := metrics(t, c, "test.color")[0]
	labels, err := c.Labels(ctx, color.Desc)
	if err != nil {
		t.Fatal(err)
	}
	found := make(map[string]any)
	for _, l := range labels {
		found[l.Name] = l.Value
	}
	if found["agent"] != name || found["hostname"] == nil {
		t.Errorf("labels %v", labels)
	}
	if got, err := c.InstanceLabels(ctx, color.InDom); err != nil || fmt.Sprint(got) != "map[0:[{shade plain false}] 1:[{shade plain false}]]" {
		t.Errorf("labels of instances: %v, %v", got, err)
	}
	var s pmapi.Sample
	fetch := func() {
		if err := c.Fetch(ctx, &s, nil, color); err != nil {
			t.Fatal(err)
		}
	}
	fetch()
	before := s.Changes
	p.Run("pmstore", "-h", "local:", "-F", "test.control.shade", "dark")
	pcptest.Eventually(t, "the client is told of new labels", func() error {
		if fetch(); s.Changes.Labels == before.Labels {
			return fmt.Errorf("changes %+v", s.Changes)
		}
		return nil
	})
	if got, err := c.InstanceLabels(ctx, color.InDom); err != nil || fmt.Sprint(got[0]) != "[{shade dark false}]" {
		t.Errorf("labels of instances after the change: %v, %v", got, err)
	}
}
