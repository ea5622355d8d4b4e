// Package read tests the half of libSpmi that reads, in a private pmcd with PCP's own agents for
// the machine and the agent dds.
package read

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"math"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"sync"
	"testing"

	"github.com/pcp-rtime/rtime/arm"
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
	p := pcptest.New(t, pcptest.Options{Host: true, Agents: []pcptest.Agent{ // agents run in the folder of the logs
		{Name: "dds", Domain: 472, Program: pcptest.Build(t, "dds", "pmdas/dds"), Args: []string{"--config", "../dds.conf", "--dir", "../run/dds"}},
		{Name: "rtarm", Domain: 471, Program: pcptest.Build(t, "rtarm", "pmdas/arm"), Args: []string{"--config", "../rtarm.conf", "--dir", "../run/arm"}},
		{Name: "rtlan", Domain: 470, Program: pcptest.Build(t, "rtlan", "pmdas/lan"), Args: []string{"--config", "../rtlan.conf"}},
	}})
	p.WriteFile("dds.conf", "")
	p.WriteFile("rtarm.conf", "")
	p.WriteFile("rtlan.conf", "interval 0.5\nmaxrate 200\ntimeout 20\n")
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

// cases are those of test/rules.c: most of them a rule of reading each.
var cases = []string{"1", "2", "3", "4", "5", "6", "7", "8", "9", "10", "11", "12", "13", "14", "15", "16", "children"}

// TestRead are the tests that share one pmcd.
func TestRead(t *testing.T) {
	p := start(t)
	t.Run("values", func(t *testing.T) { testValues(t, p) })
	t.Run("guide", func(t *testing.T) { testGuide(t, p) })
	t.Run("response times", func(t *testing.T) { testRTime(t, p) })
	t.Run("table", func(t *testing.T) { testTable(t, p) })
	t.Run("archive", func(t *testing.T) { testArchive(t, p) })
	for _, build := range []struct {
		name  string
		cases []string
	}{{"plain", append([]string{"leaks"}, cases...)}, {"asan", append([]string{"leaks"}, cases...)}, {"tsan", []string{"6", "10", "16"}}} {
		t.Run(build.name, func(t *testing.T) {
			rules := compile(t, build.name, "test/rules.c")
			for _, name := range build.cases {
				t.Run(name, func(t *testing.T) {
					c := command(p, rules, name)
					c.Env = append(c.Env, "TSAN_OPTIONS=halt_on_error=1:die_after_fork=0:suppressions=../../libSpmi/test/tsan.supp")
					if build.name == "plain" {
						c.Env = append(c.Env, "COUNT_MEMORY=1") // the sanitizers keep what is freed
					}
					run(t, c)
				})
			}
		})
	}
	// The last, because it ends pmcd.
	t.Run("restart", func(t *testing.T) { testRestart(t, p) })
}

// testValues compares values with those of pminfo: levels that do not change while the test
// runs, and contexts with instances.
func testValues(t *testing.T, p *pcptest.PCP) {
	program := compile(t, "plain", "examples/SpmiPeek.c", "-std=c89")
	want := map[string]float64{
		"Mem/Real/size": math.Trunc(p.Number("mem.physmem", "") / 4),
		"hinv/ncpu":     p.Number("hinv.ncpu", ""),
		"PagSp/size":    math.Trunc(p.Number("swap.length", "") / 4096),
		"kernel/all/hz": p.Number("kernel.all.hz", ""),
	}
	if fs, err := p.TryValues("filesys.capacity"); err == nil { // a container may have none
		for inst, v := range fs {
			want["FS/"+filepath.Base(filepath.Dir(inst))+"/"+filepath.Base(inst)+"/size"], _ = strconv.ParseFloat(v.Text, 64)
		}
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

// testRTime reads response times: of a host, which the look-up has measured, and of a transaction.
func testRTime(t *testing.T, p *pcptest.PCP) {
	program := compile(t, "plain", "examples/SpmiPeek.c")
	number := regexp.MustCompile(`: [0-9.e+-]+\n$`)
	appears := func(path string) {
		p.Eventually(path+" has a value", func() error {
			if out, err := command(p, program, "-i", "0", path).CombinedOutput(); err != nil || !number.Match(out) {
				return fmt.Errorf("%s: %w", out, err)
			}
			return nil
		})
	}
	if tree := run(t, command(p, program, "-l", "RTime/LAN")); tree != "" {
		t.Errorf("before anybody has asked for a host there is\n%s", tree)
	}
	appears("RTime/LAN/127.0.0.3/resptime")
	if tree := run(t, command(p, program, "-l", "RTime/LAN")); !strings.Contains(tree, "/RTime/LAN/127.0.0.3/ ") {
		t.Errorf("the host is not in\n%s", tree)
	}
	app := arm.NewApplication("Checking Account Query", arm.Dir(p.Path("run/arm")))
	defer app.Close()
	app.Transaction("Last Check Query").Start(context.Background()).Stop(arm.Good)
	appears("RTime/ARM/CheckingAccountQuery/LastCheckQuery/resptime")
	tree := run(t, command(p, program, "-l", "RTime/ARM"))
	for _, want := range []string{"/RTime/ARM/CheckingAccountQuery/ ", "Transaction CheckingAccountQuery/LastCheckQuery\n",
		"/LastCheckQuery/respavg              Weighted average of the response time (ms)\n"} {
		if !strings.Contains(tree, want) {
			t.Errorf("%q is not in\n%s", want, tree)
		}
	}
}

// testTable adds lines to the table of contexts, replaces one, and has some refused.
func testTable(t *testing.T, p *pcptest.PCP) {
	program := compile(t, "plain", "examples/SpmiPeek.c")
	memory := math.Trunc(p.Number("mem.physmem", ""))
	conf := func(text string) { p.WriteFile("contexts.conf", text) }
	defer os.Remove(p.Path("contexts.conf"))
	conf(`# comment
context Site 50 SiNoInst "This site"
	stat Site/cpus 1 SiQuantity SiLong 0 64 1 "Processors" hinv.ncpu   
stat "Site/two words" 2 SiQuantity SiFloat 0 100 0.5 "Half" mem.physmem + mem.physmem
stat Mem/Real/size 1 SiQuantity SiLong 0 100 1 "In KB now" mem.physmem
stat Site/absent 3 SiQuantity SiLong 0 1 1 "There is no such metric" no.such.metric
`)
	got := peek(t, p, program, nil, "Site/cpus", "Site/two words", "Mem/Real/size", "CPU/cpu0/idle")
	if got["Site/cpus"] != p.Number("hinv.ncpu", "") || math.Abs(got["Site/two words"]-memory) > memory*1e-6 ||
		math.Abs(got["Mem/Real/size"]-memory) > memory*1e-6 {
		t.Errorf("with lines of the site: %v; the machine has %v KB", got, memory)
	}
	if tree := run(t, command(p, program, "-l", "Site")); strings.Contains(tree, "absent") || !strings.Contains(tree, "/Site/cpus ") {
		t.Errorf("the tree of the site is\n%s", tree)
	}
	for line, reason := range map[string]string{
		`context Site 70000 SiNoInst "d"`:                                "want an ASN.1 number from 0 to 65535: 70000",
		`context Site 1 SiNoInst "d"`:                                    "another context at its level has the ASN.1 number: 1",
		`context Site 60 SiSometimes "d"`:                                "want SiNoInst, SiCfgInst or SiContInst: SiSometimes",
		`context Site/a/b 60 SiNoInst "d"`:                               "no context above it in a line before: Site/a/b",
		`context Site//b 60 SiNoInst "d"`:                                "want a path of 63 bytes at most",
		`context Site 60`:                                                "want: context PATH ASN",
		`context ` + strings.Repeat("x", 32) + ` 60 SiNoInst "d"`:        "want a path of 63 bytes at most",
		`context Site 60 SiNoInst "` + strings.Repeat("d", 64) + `"`:     "description longer than 63 bytes",
		`stat Mem/x 60 SiRate SiLong 0 1 1 "d" hinv.ncpu`:                "want SiCounter or SiQuantity: SiRate",
		`stat Mem/x 60 SiCounter SiInt 0 1 1 "d" hinv.ncpu`:              "want SiLong or SiFloat: SiInt",
		`stat Mem/x 60 SiCounter SiLong zero 1 1 "d" hinv.ncpu`:          "want two whole numbers for minimum and maximum: zero",
		`stat Mem/x 60 SiCounter SiLong 0 1 0 "d" hinv.ncpu`:             "want a scale above 0: 0",
		`stat Mem/x 60 SiCounter SiLong 0 1 1 "d"`:                       "want: stat PATH ASN",
		`stat Mem/x 1 SiCounter SiLong 0 1 1 "d" hinv.ncpu`:              "another context at its level has the ASN.1 number: 1",
		`stat None/x 1 SiCounter SiLong 0 1 1 "d" hinv.ncpu`:             "no context of it in a line before: None/x",
		`stat x 1 SiCounter SiLong 0 1 1 "d" hinv.ncpu`:                  "no context of it in a line before: x",
		`stat Mem/Real/x 60 SiQuantity SiLong 0 1 1 "d" hinv.ncpu + / 2`: "",
		`static Mem/x`: "want a line that begins with context or stat",
		`context Site 60 SiNoInst "d" ` + strings.Repeat("#", 2000): "line longer than 1022 bytes",
	} {
		conf("\n" + line + "\ncontext Good 61 SiNoInst \"d\"\nstat Good/cpus 1 SiQuantity SiLong 0 1 1 \"d\" hinv.ncpu\n")
		if got := peek(t, p, program, nil, "Good/cpus")["Good/cpus"]; got != p.Number("hinv.ncpu", "") {
			t.Errorf("after line %q: Good/cpus is %v", line, got)
		}
		out, err := command(p, program, "Mem/Real/x").CombinedOutput()
		if want := p.Path("contexts.conf") + ":2: " + reason; err == nil || !strings.Contains(string(out), want) {
			t.Errorf("line %q: SpmiPeek prints %q, want %q", line, out, want)
		}
	}
}

// recorded writes an archive of an hour, with PCP's own library for that: 37 processors, one of
// which is busy for a quarter of the time.
const recorded = `
import sys
from pcp import pmi
import cpmapi as api
log = pmi.pmiLogImport(sys.argv[1])
log.pmiSetHostname("recorded")
log.pmiSetTimezone("UTC")
none = log.pmiUnits(0, 0, 0, 0, 0, 0)
log.pmiAddMetric("hinv.ncpu", log.pmiID(60, 0, 32), api.PM_TYPE_U32, api.PM_INDOM_NULL, api.PM_SEM_DISCRETE, none)
cpus = log.pmiInDom(60, 0)
log.pmiAddMetric("kernel.percpu.cpu.user", log.pmiID(60, 0, 0), api.PM_TYPE_U64, cpus, api.PM_SEM_COUNTER, log.pmiUnits(0, 1, 0, 0, api.PM_TIME_MSEC, 0))
log.pmiAddInstance(cpus, "cpu0", 0)
for at, user in (0, "0"), (3600, "900000"):
    log.pmiPutValue("hinv.ncpu", "", "37")
    log.pmiPutValue("kernel.percpu.cpu.user", "cpu0", user)
    log.pmiWrite(1700000000 + at, 0)
`

// testArchive reads an archive in place of pmcd, and pmcd over TCP.
func testArchive(t *testing.T, p *pcptest.PCP) {
	program := compile(t, "plain", "examples/SpmiPeek.c")
	run(t, command(p, "/usr/bin/python3", p.WriteFile("recorded.py", recorded), p.Path("archive")))
	c := command(p, program, "-i", "1", "hinv/ncpu", "CPU/cpu0/user")
	c.Env = append(c.Env, "SPMI_ARCHIVE="+p.Path("archive"), "SPMI_HOST=unix:///nonexistent")
	out := run(t, c)
	var cpus, busy float64
	if n, err := fmt.Sscanf(out, "hinv/ncpu: %f\nCPU/cpu0/user: %f\n", &cpus, &busy); n != 2 || cpus != 37 || math.Abs(busy-25) > 0.5 {
		t.Errorf("of an archive SpmiPeek prints\n%s%v", out, err)
	}
	c = command(p, program, "hinv/ncpu")
	c.Env = append(c.Env, "SPMI_ARCHIVE="+p.Path("none"))
	if text, err := c.CombinedOutput(); err == nil || !strings.Contains(string(text), "(190)") || !strings.Contains(string(text), "SPMI_ARCHIVE") {
		t.Errorf("without the archive SpmiPeek prints %q, %v", text, err)
	}
	host := []string{"SPMI_HOST=127.0.0.1:" + strconv.Itoa(p.Port())}
	if got := peek(t, p, program, host, "hinv/ncpu")["hinv/ncpu"]; got != p.Number("hinv.ncpu", "") {
		t.Errorf("over TCP hinv/ncpu is %v", got)
	}
}

// testRestart ends pmcd under a set, and starts it again.
func testRestart(t *testing.T, p *pcptest.PCP) {
	c := command(p, compile(t, "plain", "test/rules.c"), "orders")
	c.Stderr = os.Stderr
	in, err := c.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	out, err := c.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := c.Start(); err != nil {
		t.Fatal(err)
	}
	defer func() {
		in.Close()
		if err := c.Wait(); err != nil {
			t.Error(err)
		}
	}()
	answers := bufio.NewScanner(out)
	hear := func() string {
		if !answers.Scan() {
			t.Fatal("the program that reads is gone")
		}
		return answers.Text()
	}
	order := func() string {
		if _, err := io.WriteString(in, "\n"); err != nil {
			t.Fatal(err)
		}
		return hear()
	}
	const well = "0 5 0 rate 0 found"
	if s := hear(); s != "ready" {
		t.Fatal(s)
	}
	if s := order(); s != well {
		t.Fatalf("at first: %s", s)
	}
	for round := range 2 {
		p.StopPmcd()
		for range 2 {
			// Contexts that are known are looked up in pmcd, which is not there.
			if s := order(); s != "189 -2 189 none 189 lost" {
				t.Fatalf("round %d, without pmcd: %s", round, s)
			}
		}
		p.StartPmcd()
		p.Eventually("the set has values again", func() error {
			if s := order(); s != well {
				return fmt.Errorf("%s", s)
			}
			return nil
		})
	}
}
