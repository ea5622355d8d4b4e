package dds

import (
	"fmt"
	"os"
	"os/exec"
	"slices"
	"strings"
	"syscall"
	"testing"

	"github.com/pcp-rtime/rtime/test/pcptest"
)

// guideProgram builds one of the guide's programs with gcc and a libSpmi of its own, and
// returns a function that starts it.
func guideProgram(t *testing.T, p *pcptest.PCP, name string, flags ...string) func() *exec.Cmd {
	t.Helper()
	lib, program := t.TempDir(), p.Path(name)
	command(t, "make", "-s", "BUILD="+lib, "CC=gcc", "all")
	args := append([]string{"gcc", "-std=gnu17", "-w", "-Iinclude", `-DFILE_NAME="` + p.Path(name+".hook") + `"`}, flags...)
	command(t, append(args, "-o", program, "examples/"+name+".c", "-L"+lib, "-lSpmi", "-Wl,-rpath,"+lib)...)
	return func() *exec.Cmd {
		t.Helper()
		c := exec.Command(program)
		c.Env = append(p.Env(), "RTIME_DDS_DIR="+p.Path("run/dds"))
		c.Stdout, c.Stderr = os.Stdout, os.Stderr
		if err := c.Start(); err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() {
			_ = c.Process.Kill()
			_ = c.Wait()
		})
		return c
	}
}

// guideTree is the tree of the guide's program: names, types, beginning of the help,
// descriptions as one-line help, first values.
var guideTree = []struct {
	metric, kind, semantics, help, line string
	first                               float64
}{
	{"dds.IBM.Test.gadgets", "64-bit unsigned int", "counter", "Path DDS/IBM/Test/gadgets, ASN.1 number 1", "Fake counter value", 22},
	{"dds.IBM.Test.widgets", "64-bit unsigned int", "counter", "Path DDS/IBM/Test/widgets, ASN.1 number 2", "Another fake counter value", 42},
	{"dds.IBM.Moretest.SubTest.level", "64-bit unsigned int", "instant", "Path DDS/IBM/Moretest/SubTest/level, ASN.1 number 1", "Fake quantity value", 28},
	{"dds.IBM.Moretest.SubTest.queue", "64-bit unsigned int", "instant", "Path DDS/IBM/Moretest/SubTest/queue, ASN.1 number 2", "Another fake quantity value", 62},
}

// bingoTree is what the guide adds to it.
var bingoTree = []struct{ metric, kind, line string }{
	{"dds.IBM.Moretest.problems", "32-bit int", "Fake counter value"}, // the bits of the guide's float
	{"dds.IBM.Moretest.solutions", "64-bit int", "Another fake counter value"},
}

// bongoTree is yet another context of the same program, of a kind of its own.
var bongoTree = []struct{ metric, semantics, line string }{
	{"dds.IBM.Moretest.questions", "counter", "Third fake counter value"},
	{"dds.IBM.Moretest.doubts", "instant", "Third fake quantity value"},
}

// checkTree looks at names, one-line help, types, semantics and help of the tree. There
// are no other names.
func checkTree(t *testing.T, p *pcptest.PCP, volatile bool) {
	t.Helper()
	var want []string
	for _, m := range guideTree {
		has(t, p.Run("pminfo", "-h", "local:", "-dT", m.metric), "Data Type: "+m.kind+" ", "Semantics: "+m.semantics+" ", m.help+",", "scale from 0 to 100.")
		want = append(want, m.metric+" ["+m.line+"]")
	}
	for _, m := range bingoTree {
		if volatile {
			has(t, p.Run("pminfo", "-h", "local:", "-d", m.metric), "Data Type: "+m.kind+" ", "Semantics: counter ")
			want = append(want, m.metric+" ["+m.line+"]")
		}
	}
	for _, m := range bongoTree {
		if volatile {
			has(t, p.Run("pminfo", "-h", "local:", "-d", m.metric), "Data Type: 64-bit unsigned int ", "Semantics: "+m.semantics+" ")
			want = append(want, m.metric+" ["+m.line+"]")
		}
	}
	got := strings.Split(strings.TrimSpace(p.Run("pminfo", "-h", "local:", "-t", "dds")), "\n")
	slices.Sort(got)
	slices.Sort(want)
	if !slices.Equal(got, want) {
		t.Errorf("the tree is\n%s\nthe guide's\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
}

// grows waits until a metric has more than it had, twice, and returns what it has then.
func grows(t *testing.T, p *pcptest.PCP, metric, inst string) float64 {
	t.Helper()
	last := p.Number(metric, inst)
	for range 2 {
		pcptest.Eventually(t, fmt.Sprintf("%s grows beyond %v", metric, last), func() error {
			v := p.Number(metric, inst)
			if v <= last {
				return fmt.Errorf("%v", v)
			}
			last = v
			return nil
		})
	}
	return last
}

// first waits for the first values of a program's metric.
func first(t *testing.T, p *pcptest.PCP, metric string) {
	t.Helper()
	pcptest.Eventually(t, "the program's values", func() error {
		v, err := p.TryValues(metric)
		if err == nil && len(v) == 0 {
			err = fmt.Errorf("none")
		}
		return err
	})
}

// ends ends the program in order by a signal, as the guide does.
func ends(t *testing.T, p *pcptest.PCP, c *exec.Cmd, sig syscall.Signal, metric string) {
	t.Helper()
	if err := c.Process.Signal(sig); err != nil {
		t.Fatal(err)
	}
	if err := c.Wait(); err != nil {
		t.Errorf("%v: %v", sig, err)
	}
	is(t, p, metric, "", "")
}

// TestGuidePermanent: the guide's program of permanent statistics, in C.
func TestGuidePermanent(t *testing.T) {
	t.Parallel()
	p := start(t, "", false)
	run := guideProgram(t, p, "permanent")
	c := run()
	first(t, p, "dds.IBM.Test.gadgets")
	checkTree(t, p, false)
	for _, m := range guideTree {
		if v := grows(t, p, m.metric, ""); v < m.first {
			t.Errorf("%s is %v, began with %v", m.metric, v, m.first)
		}
	}
	has(t, p.Run("pmval", "-h", "local:", "-s", "3", "-t", "0.5", "dds.IBM.Test.gadgets"), "semantics: cumulative counter")
	is(t, p, "rtime.dds.supplier.state", "permanent.hook@root", "ready")
	_ = c.Process.Kill()
	_ = c.Wait()
	is(t, p, "dds.IBM.Test.gadgets", "", "")
	c = run() // no ipcrm
	first(t, p, "dds.IBM.Test.gadgets")
	grows(t, p, "dds.IBM.Test.gadgets", "")
	ends(t, p, c, syscall.SIGTERM, "dds.IBM.Test.gadgets")
}

// TestGuideVolatile: the guide's program of volatile statistics, compiled so that Bingo
// and Bongo come and go every few seconds. Each has the same number each time. Bongo is of
// another kind: it has none of Bingo's statistics, and Bingo has none of Bongo's.
func TestGuideVolatile(t *testing.T) {
	t.Parallel()
	p := start(t, "", false)
	c := guideProgram(t, p, "volatile", "-DADD_EVERY=5", "-DDELETE_EVERY=7",
		"-DADD_ANOTHER_EVERY=3", "-DDELETE_ANOTHER_EVERY=8", "-DIDLE=1")()
	first(t, p, "dds.IBM.Test.gadgets")
	kinds := []struct{ metric, inst, path, description, asn string }{
		{"dds.IBM.Moretest.solutions", "Bingo", "DDS/IBM/Moretest/Bingo", "Dynamically added", "1"},
		{"dds.IBM.Moretest.questions", "Bongo", "DDS/IBM/Moretest/Bongo", "Also added dynamically", "2"},
	}
	var ids []int
	for _, k := range kinds {
		ids = append(ids, counts(t, p, k.metric, k.inst))
	}
	checkTree(t, p, true)
	for i, k := range kinds {
		for range 2 {
			is(t, p, k.metric, k.inst, "")
			if again := counts(t, p, k.metric, k.inst); again != ids[i] {
				t.Errorf("%s has the number %d, and had %d", k.inst, again, ids[i])
			}
		}
		isContext(t, p, k.path, k.description, k.asn)
	}
	grows(t, p, "dds.IBM.Test.gadgets", "")
	grows(t, p, "dds.IBM.Moretest.SubTest.queue", "")
	ends(t, p, c, syscall.SIGTERM, "dds.IBM.Test.gadgets")
}

// counts waits until a metric has a value other than 0 for this instance alone, and returns
// the instance's number.
func counts(t *testing.T, p *pcptest.PCP, metric, inst string) (id int) {
	t.Helper()
	pcptest.Eventually(t, inst+" counts", func() error {
		v, err := p.TryValues(metric)
		if b, ok := v[inst]; err != nil || len(v) != 1 || !ok || b.Text == "0" {
			return fmt.Errorf("%v %v", v, err)
		}
		id = v[inst].ID
		return nil
	})
	return id
}

// isContext waits until a path is in the tree of contexts, with this description and ASN.1
// number.
func isContext(t *testing.T, p *pcptest.PCP, path, description, asn string) {
	t.Helper()
	pcptest.Eventually(t, path+" is in the tree of contexts", func() error {
		paths, err := p.TryValues("rtime.dds.context.path")
		if err != nil {
			return err
		}
		for inst, v := range paths {
			if v.Text != path {
				continue
			}
			descr, err := p.TryValues("rtime.dds.context.description")
			if err != nil {
				return err
			}
			number, err := p.TryValues("rtime.dds.context.asn")
			if err != nil {
				return err
			}
			if descr[inst].Text != description || number[inst].Text != asn {
				return fmt.Errorf("it is %q with the number %q", descr[inst].Text, number[inst].Text)
			}
			return nil
		}
		return fmt.Errorf("there are %v", paths)
	})
}

// TestGuideSignals: the guide's program SpmiDds ends in order by each of its signals, and
// when the agent tells it to go away. Nothing is left of it, and it can be started again.
func TestGuideSignals(t *testing.T) {
	t.Parallel()
	p := start(t, "", false)
	run := guideProgram(t, p, "SpmiDds", "-DIDLE=1")
	const metric, supplier = "dds.IBM.sample1.gadgets", "SpmiDds.hook@root"
	var want string
	for _, sig := range []syscall.Signal{syscall.SIGTERM, syscall.SIGHUP, syscall.SIGINT, syscall.SIGSEGV, 0} {
		c := run()
		first(t, p, metric)
		if v := grows(t, p, metric, ""); v < 22 {
			t.Errorf("gadgets is %v, began with 22", v)
		}
		if v := grows(t, p, "dds.IBM.sample1.widgets", ""); v < 42 {
			t.Errorf("widgets is %v, began with 42", v)
		}
		is(t, p, "rtime.dds.supplier.state", supplier, "ready")
		isContext(t, p, "DDS/IBM/sample1", "Bogus Context Number 1", "191")
		tree := p.Run("pminfo", "-h", "local:", "-dTt", "dds")
		if want == "" {
			has(t, tree, "dds.IBM.sample1.gadgets", "[Fake counter value]", "dds.IBM.sample1.widgets", "[Another fake counter value]",
				"Data Type: 64-bit unsigned int ", "Semantics: counter ", "Path DDS/IBM/sample1/gadgets, ASN.1 number 1, scale from 0 to 100.",
				"Context DDS/IBM/sample1: Bogus Context Number 1 (ASN.1 number 191).")
			want = tree
		}
		if tree != want {
			t.Errorf("after a restart the tree is\n%s\nand was\n%s", tree, want)
		}
		if sig == 0 {
			p.Run("pmstore", "-h", "local:", "-i", supplier, "rtime.dds.control.goaway", "1")
			if err := c.Wait(); err != nil {
				t.Errorf("told to go away: %v", err)
			}
			is(t, p, metric, "", "")
		} else {
			ends(t, p, c, sig, metric)
		}
		is(t, p, "rtime.dds.supplier.state", supplier, "ended")
		if left := segments(t, p.Path("run/dds")); len(left) > 0 {
			t.Errorf("left behind: %v", left)
		}
	}
}
