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

// first waits for the first values of a program.
func first(t *testing.T, p *pcptest.PCP) {
	t.Helper()
	pcptest.Eventually(t, "the program's values", func() error {
		v, err := p.TryValues("dds.IBM.Test.gadgets")
		if err == nil && len(v) == 0 {
			err = fmt.Errorf("none")
		}
		return err
	})
}

// ends makes the program end by a signal, as the guide does.
func ends(t *testing.T, p *pcptest.PCP, c *exec.Cmd) {
	t.Helper()
	if err := c.Process.Signal(syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
	if err := c.Wait(); err != nil {
		t.Error(err)
	}
	is(t, p, "dds.IBM.Test.gadgets", "", "")
}

// TestGuidePermanent: the guide's program of permanent statistics, in C.
func TestGuidePermanent(t *testing.T) {
	t.Parallel()
	p := start(t, "", false)
	run := guideProgram(t, p, "permanent")
	c := run()
	first(t, p)
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
	first(t, p)
	grows(t, p, "dds.IBM.Test.gadgets", "")
	ends(t, p, c)
}

// TestGuideVolatile: the guide's program of volatile statistics, compiled so that Bingo
// comes and goes every few seconds. Bingo has the same number each time.
func TestGuideVolatile(t *testing.T) {
	t.Parallel()
	p := start(t, "", false)
	c := guideProgram(t, p, "volatile", "-DADD_EVERY=5", "-DDELETE_EVERY=7", "-DIDLE=1")()
	first(t, p)
	id := bingoCounts(t, p)
	checkTree(t, p, true)
	for range 2 {
		is(t, p, "dds.IBM.Moretest.solutions", "Bingo", "")
		if again := bingoCounts(t, p); again != id {
			t.Errorf("Bingo has the number %d, and had %d", again, id)
		}
	}
	grows(t, p, "dds.IBM.Test.gadgets", "")
	grows(t, p, "dds.IBM.Moretest.SubTest.queue", "")
	ends(t, p, c)
}

// bingoCounts waits until Bingo is there and counts, and returns its number.
func bingoCounts(t *testing.T, p *pcptest.PCP) (id int) {
	t.Helper()
	pcptest.Eventually(t, "Bingo counts", func() error {
		v, err := p.TryValues("dds.IBM.Moretest.solutions")
		if b, ok := v["Bingo"]; err != nil || len(v) != 1 || !ok || b.Text == "0" {
			return fmt.Errorf("%v %v", v, err)
		}
		id = v["Bingo"].ID
		return nil
	})
	return id
}
