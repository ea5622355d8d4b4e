package library

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/pcp-rtime/rtime/test/pcptest"
)

// names lists the metrics at and below a node.
func names(p *pcptest.PCP, node string) []string {
	r := p.Try("pminfo", "-h", "local:", node)
	var list []string
	for _, n := range strings.Fields(r.Out) {
		if strings.HasPrefix(n, node+".") {
			list = append(list, n)
		}
	}
	slices.Sort(list)
	return list
}

func TestDynamicNames(t *testing.T) {
	t.Parallel()
	p := start(t)
	want := func(list ...string) {
		t.Helper()
		if got := names(p, "test.dynamic"); !slices.Equal(got, list) {
			t.Errorf("names are %v, want %v", got, list)
		}
	}
	want()
	// An empty subtree does not affect the others.
	contains(t, p.Run("pminfo", "-h", "local:", "test"), "test.fetches", "test.event")
	for _, name := range []string{"a", "b.c", "b.d"} {
		store(p, "test.control.add", name)
	}
	want("test.dynamic.a", "test.dynamic.b.c", "test.dynamic.b.d")
	for i, name := range []string{"a", "b.c", "b.d"} {
		name = "test.dynamic." + name
		if got := p.Value(name); got != fmt.Sprint(i) {
			t.Errorf("%s is %s, want %d", name, got, i)
		}
		contains(t, p.Run("pminfo", "-h", "local:", "-dmt", name), fmt.Sprintf("PMID: 490.2.%d", i),
			fmt.Sprintf("dynamic metric %d", i), "32-bit unsigned int")
	}
	if got := names(p, "test.dynamic.b"); len(got) != 2 {
		t.Errorf("names below an inner node: %v", got)
	}
	store(p, "test.control.remove", "b.c")
	want("test.dynamic.a", "test.dynamic.b.d")
	r := p.Try("pminfo", "-h", "local:", "-f", "test.dynamic.b.c")
	if !strings.Contains(r.Out+r.Err, "Unknown metric name") {
		t.Errorf("a metric that was removed: %v", r)
	}
	if r := p.Try("pmstore", "-h", "local:", "-F", "test.control.remove", "b.c"); !strings.Contains(r.Out+r.Err, "Unknown metric name") {
		t.Errorf("removing it again: %v", r)
	}
	store(p, "test.control.add", "b.c")
	contains(t, p.Run("pminfo", "-h", "local:", "-m", "test.dynamic.b.c"), "PMID: 490.2.1")
	store(p, "test.control.remove", "a")
	store(p, "test.control.remove", "b.c")
	store(p, "test.control.remove", "b.d")
	want()
	contains(t, p.Run("pminfo", "-h", "local:", "test"), "test.fetches", "test.event")
}

// TestNamesChange: pmlogger, recording a subtree, takes in a metric that is added
// while it runs, because the agent raises the bit for changed names.
func TestNamesChange(t *testing.T) {
	t.Parallel()
	p := start(t)
	store(p, "test.control.add", "first")
	conf := p.WriteFile("logger.conf", "log mandatory on 200 msec {\ntest.dynamic\ntest.fetches\n}\n")
	logger := p.Spawn("pmlogger", "-h", "local:", "-c", conf, "-l", p.Path("log/logger.log"), p.Path("archive"))
	archived := func(metric string) {
		t.Helper()
		pcptest.Eventually(t, "the archive has "+metric, func() error {
			if !logger.Running() {
				t.Fatalf("pmlogger has ended: %s", p.Log("logger"))
			}
			r := p.Try("pmprobe", "-a", p.Path("archive"), metric)
			if !strings.HasPrefix(r.Out, metric+" 1") {
				return fmt.Errorf("%v", r)
			}
			return nil
		})
	}
	archived("test.dynamic.first")
	store(p, "test.control.add", "second")
	archived("test.dynamic.second")
	logger.Signal(15)
	logger.Wait()
	if out := p.Run("pmdumplog", p.Path("archive")); strings.Contains(out, "<mark>") {
		t.Errorf("the archive has <mark> records:\n%s", out)
	}
}

// TestStateBits: clients learn of changed names and labels with the next values, once.
func TestStateBits(t *testing.T) {
	t.Parallel()
	p := start(t)
	c, err := dial(p.Socket())
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	const metric = 490<<22 | 1 // test.busy
	want := func(when string, bits uint32) {
		t.Helper()
		got, err := c.fetch(metric)
		if err != nil {
			t.Fatalf("%s: %v", when, err)
		}
		if got != bits {
			t.Errorf("%s: state bits %d, want %d", when, got, bits)
		}
	}
	const labels, names = 8, 16
	want("at first", 0)
	store(p, "test.control.shade", "dark")
	contains(t, p.Run("pminfo", "-h", "local:", "-l", "test.color"), `"shade":"dark"`)
	want("labels have changed", labels)
	want("after that", 0)
	store(p, "test.control.add", "x")
	want("a name has come", names)
	want("after that", 0)
	store(p, "test.control.remove", "x")
	store(p, "test.control.shade", "light")
	want("a name has gone and labels have changed", names|labels)
	want("after that", 0)
}
