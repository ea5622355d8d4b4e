// Package read tests the half of libSpmi that reads, in a private pmcd with PCP's own agents for
// the machine and the agent dds.
package read

import (
	"fmt"
	"math"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"sync"
	"testing"

	"github.com/pcp-rtime/rtime/test/pcptest"
)

func TestMain(m *testing.M) {
	code := pcptest.Main(m)
	for _, b := range builds {
		os.RemoveAll(b.dir)
	}
	os.Exit(code)
}

// library is libSpmi, built in one way, once for all tests.
type library struct {
	cflags, dir string
	once        sync.Once
	err         error
}

var builds = map[string]*library{
	"plain": {cflags: "-O2 -g"},
	"asan":  {cflags: "-O1 -g -fsanitize=address,undefined -fno-sanitize-recover=all"},
	"tsan":  {cflags: "-O1 -g -fsanitize=thread"},
}

func (l *library) build() {
	if l.dir, l.err = os.MkdirTemp("/tmp", "rtime-read-"); l.err != nil {
		return
	}
	c := exec.Command("make", "-s", "-C", "../../libSpmi", "BUILD="+l.dir, "CC=gcc", "CFLAGS="+l.cflags, "all")
	if out, err := c.CombinedOutput(); err != nil {
		l.err = fmt.Errorf("%w\n%s", err, out)
	}
}

// compile builds a C program of libSpmi with the library and returns its path.
func compile(t *testing.T, build, source string, flags ...string) string {
	t.Helper()
	l := builds[build]
	l.once.Do(l.build)
	if l.err != nil {
		t.Fatal(l.err)
	}
	out := filepath.Join(t.TempDir(), strings.TrimSuffix(filepath.Base(source), ".c"))
	args := append([]string{"-std=gnu11", "-Wall", "-Wextra", "-Werror", "-D_GNU_SOURCE", "-D_FILE_OFFSET_BITS=64",
		"-I../../libSpmi/include", "-I../../libSpmi/src"}, strings.Fields(l.cflags)...)
	args = append(append(args, flags...), "-o", out, "../../libSpmi/"+source, filepath.Join(l.dir, "libSpmi.a"), "-pthread", "-lm")
	if text, err := exec.Command("gcc", args...).CombinedOutput(); err != nil {
		t.Fatalf("%s: %v\n%s", source, err, text)
	}
	return out
}

// start starts a private PCP with the agents.
func start(t *testing.T) *pcptest.PCP {
	t.Helper()
	p := pcptest.New(t, pcptest.Options{Host: true, Agents: []pcptest.Agent{{Name: "dds", Domain: 472,
		Program: pcptest.Build(t, "dds", "pmdas/dds"), Args: []string{"--config", "../dds.conf", "--dir", "../run/dds"}}}})
	p.WriteFile("dds.conf", "")
	p.StartPmcd()
	return p
}

// command is a program that finds the private PCP and the folder of its suppliers.
func command(p *pcptest.PCP, program string, args ...string) *exec.Cmd {
	c := exec.Command(program, args...)
	c.Env = append(p.Env(), "RTIME_DDS_DIR="+p.Path("run/dds"), "SPMI_CONTEXTS="+p.Path("contexts.conf"))
	return c
}

// run runs a program, which has to end with status 0, and returns what it prints.
func run(t *testing.T, c *exec.Cmd) string {
	t.Helper()
	var errors strings.Builder
	c.Stderr = &errors
	out, err := c.Output()
	if err != nil {
		t.Fatalf("%s: %v\n%s%s", c, err, out, &errors)
	}
	return string(out)
}

// peek returns the values that SpmiPeek prints, by path.
func peek(t *testing.T, p *pcptest.PCP, program string, env []string, paths ...string) map[string]float64 {
	t.Helper()
	c := command(p, program, append([]string{"-i", "0"}, paths...)...)
	c.Env = append(c.Env, env...)
	out := run(t, c)
	values := make(map[string]float64)
	for line := range strings.Lines(out) {
		i := strings.LastIndex(line, ": ")
		if i < 0 {
			t.Fatalf("SpmiPeek prints %q", out)
		}
		v, err := strconv.ParseFloat(strings.TrimSpace(line[i+2:]), 64)
		if err != nil {
			t.Fatalf("SpmiPeek prints %q", out)
		}
		values[line[:i]] = v
	}
	return values
}

// cases are those of test/rules.c: a rule of reading each.
var cases = []string{"1", "2", "3", "4", "5", "6", "7", "8", "9", "10", "11", "12", "13", "14", "15", "16"}

// TestRead are the tests that share one pmcd.
func TestRead(t *testing.T) {
	p := start(t)
	t.Run("values", func(t *testing.T) { testValues(t, p) })
	t.Run("guide", func(t *testing.T) { testGuide(t, p) })
	rules := compile(t, "plain", "test/rules.c")
	for _, name := range append(cases, "leaks") {
		t.Run("rule "+name, func(t *testing.T) {
			c := command(p, rules, name)
			c.Env = append(c.Env, "COUNT_MEMORY=1")
			run(t, c)
		})
	}
}

// testValues compares values with those of pminfo: levels that do not change while the test
// runs, and contexts with instances.
func testValues(t *testing.T, p *pcptest.PCP) {
	program := compile(t, "plain", "examples/SpmiPeek.c", "-std=c89")
	fs := ""
	for inst := range p.IDs("filesys.capacity") {
		fs = inst
	}
	leaf := filepath.Base(fs)
	group := filepath.Base(filepath.Dir(fs))
	want := map[string]float64{
		"Mem/Real/size":                      math.Trunc(p.Number("mem.physmem", "") / 4),
		"hinv/ncpu":                          p.Number("hinv.ncpu", ""),
		"PagSp/size":                         math.Trunc(p.Number("swap.length", "") / 4096),
		"FS/" + group + "/" + leaf + "/size": p.Number("filesys.capacity", fs),
		"kernel/all/hz":                      p.Number("kernel.all.hz", ""),
	}
	var paths []string
	for path := range want {
		paths = append(paths, path)
	}
	got := peek(t, p, program, nil, paths...)
	for path, v := range want {
		if g, ok := got[path]; !ok || math.Abs(g-v) > math.Abs(v)*1e-6 {
			t.Errorf("%s is %v, pminfo has %v", path, got[path], v)
		}
	}
	tree := run(t, command(p, program, "-l"))
	for metric, prefix := range map[string]string{"kernel.percpu.cpu.sys": "/CPU/", "disk.dev.total": "/Disk/", "network.interface.in.packets": "/LAN/"} {
		for inst := range p.IDs(metric) {
			if !strings.Contains(tree, prefix+inst+"/") {
				t.Errorf("%s%s is not in the tree", prefix, inst)
			}
		}
	}
	if !strings.Contains(tree, "/CPU/cpu0/idle                 Time CPU is idle (percent)\n") {
		t.Errorf("the tree is\n%s", tree)
	}
}

// testGuide runs the guide's two programs that read.
func testGuide(t *testing.T, p *pcptest.PCP) {
	out := run(t, command(p, compile(t, "plain", "examples/user.c", "-DSAMPLES=3", "-DTIME_DELAY=1")))
	lines := regexp.MustCompile(`(?m)^ +[0-9.]+ +[0-9.]+ +[0-9.]+ +[0-9.]+ +[0-9.]+ +[0-9.]+ *$`).FindAllString(out, -1)
	if len(lines) != 3 || strings.Contains(out, "ailed") {
		t.Errorf("the data user prints\n%s", out)
	}
	out = run(t, command(p, compile(t, "plain", "examples/traversal.c")))
	for _, want := range []string{
		"CPU/cpu0/kern                           Time executing in kernel mode (percent)\n     Data Type(Float)  Value Type(Counter)\n",
		"Mem/Real/size                           Size of physical memory (4K pages)\n     Data Type(Long)   Value Type(Quantity)\n",
		"DDS                           Dynamic Data-Supplier Statistics\n",
	} {
		if !strings.Contains(out, want) {
			t.Errorf("the data traversal does not print %q, but\n%s", want, out)
		}
	}
}
