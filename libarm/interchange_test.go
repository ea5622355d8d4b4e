package libarm_test

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
)

const (
	defs    = "-std=gnu11 -D_GNU_SOURCE -D_FILE_OFFSET_BITS=64 -Wall -Wextra -Werror -Iinclude -Isrc -I../libbase/src "
	trace   = " from 0 to 0 <00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01>"
	counted = "init + getid + start + update 0 stop 0 again - end 0" + trace
	nothing = "init 0 getid 0 start 0 update 0 stop 0 again 0 end 0"
)

// sample is the log that the ARM 2.0 guide prints, without its times.
var sample = []string{
	"arm_init: Application <Appl_0> User <User_0> = Appl_id <1>",
	"arm_getid: Application <Appl_0> User <User_0> Transaction <Tran_0> Detail <This is transaction type 0>",
	"arm_getid: Application <Appl_0> User <User_0> Transaction <Tran_0> = Tran_id <1>",
	"arm_getid: Application <Appl_0> User <User_0> Transaction <Tran_0> Metric Field <1> Type <1> Name <This is a Counter32 user metric >",
	"arm_start: Application <Appl_0> User <User_0> Transaction <Tran_0> = Start_handle <1>",
	"arm_start: Application <Appl_0> User <User_0> Transaction <Tran_0> Start_handle <1> Metric < This is a Counter32 user metric > : <0>",
	"arm_update: Application <Appl_0> User <User_0> Transaction <Tran_0> Start_handle <1> Metric < This is a Counter32 user metric > : <2>",
	"arm_stop: Application <Appl_0> User <User_0> Transaction <Tran_0> Start_handle <1> Status <0>",
	"arm_stop: Application <Appl_0> User <User_0> Transaction <Tran_0> Start_handle <1> Metric < This is a Counter32 user metric > : <4>",
	"arm_stop: ERROR: Start_handle <1> has been stopped before", // which the guide's program does not do
	"arm_end: Application <Appl_0> User <User_0> appl_id <1>",
}

// TestInterchange runs one program, linked with libarm, with each library in each way that
// another can take its place, 64 and 32 bits.
func TestInterchange(t *testing.T) {
	for _, cc := range []string{"gcc", "gcc -m32"} {
		t.Run(cc, func(t *testing.T) {
			p := build(t, cc)
			t.Run("log", func(t *testing.T) { logged(t, p) })
			t.Run("lower", func(t *testing.T) { lowered(t, p) })
			t.Run("invoke", func(t *testing.T) { invoked(t, p) })
			t.Run("setuid", func(t *testing.T) { privileged(t, p) })
			t.Run("misuse", func(t *testing.T) { misused(t, p) })
			t.Run("rules", func(t *testing.T) { rules(t, p) })
		})
	}
}

// TestInstalled runs a program with what make install has put where.
func TestInstalled(t *testing.T) {
	p := build(t, "gcc")
	run(t, nil, "make", "-s", "BUILD="+p.dir, "DESTDIR="+p.path("root"), "PREFIX=/opt/arm", "install")
	lib := p.path("root/opt/arm/lib")
	for which, want := range map[string]string{"libarm-null": nothing + " from 0 to 0 <>", "libarm-log": counted} {
		env := []string{"LD_PRELOAD=" + filepath.Join(lib, which, "libarm.so.2"), "ARM_LOGFILE=" + p.path("log-file")}
		if got := run(t, env, p.path("calls")); got != want {
			t.Errorf("%s: %s", which, got)
		}
	}
	pages := []string{"man3/arm_init.3", "man3/arm_getid.3", "man3/arm_start.3", "man3/arm_update.3", "man3/arm_stop.3", "man3/arm_end.3",
		"man3/arm_correlator_from_traceparent.3", "man3/arm_correlator_to_traceparent.3", "man7/libarm.7"}
	for _, page := range pages {
		if _, err := os.Stat(p.path("root/opt/arm/share/man", page)); err != nil {
			t.Error(err)
		}
	}
}

// others are the ways to have another library than the one that was linked with.
func others(p place, which string) map[string]string {
	return map[string]string{
		"LD_PRELOAD":      "LD_PRELOAD=" + p.path(which, "libarm.so.2"),
		"LD_LIBRARY_PATH": "LD_LIBRARY_PATH=" + p.path(which),
	}
}

func logged(t *testing.T, p place) {
	p.compile(t, "calls-path", "interchange/calls.c", "-L"+p.dir+" -larm -Wl,--enable-new-dtags,-rpath,"+p.dir)
	for how, env := range others(p, "log") {
		file := filepath.Join(t.TempDir(), "a log")
		if got := run(t, []string{env, "ARM_LOGFILE=" + file}, p.path("calls-path")); got != counted {
			t.Errorf("%s: %s", how, got)
		}
		if got := logLines(t, file); !slices.Equal(got, sample) {
			t.Errorf("%s: the log is\n%s", how, strings.Join(got, "\n"))
		}
	}
	for how, env := range others(p, "null") {
		if got := run(t, []string{env}, p.path("calls-path")); got != nothing+" from 0 to 0 <>" {
			t.Errorf("%s: %s", how, got)
		}
	}
	c := exec.Command(p.path("calls-path"))
	c.Dir = t.TempDir()
	c.Env = append(os.Environ(), others(p, "log")["LD_PRELOAD"])
	if err := c.Run(); err != nil {
		t.Error(err)
	}
	if got := logLines(t, filepath.Join(c.Dir, "logfile")); !slices.Equal(got, sample) {
		t.Errorf("the log is\n%s", strings.Join(got, "\n"))
	}
	// Where a log cannot be written the program goes on.
	for _, file := range []string{"/nowhere/log", "/", c.Dir, "/dev/full"} {
		if got := run(t, []string{others(p, "log")["LD_PRELOAD"], "ARM_LOGFILE=" + file}, p.path("calls-path")); got != counted {
			t.Errorf("%s: %s", file, got)
		}
	}
}

// lowered runs libarm with each of the libraries below it; itself is none, nor is what is no library.
func lowered(t *testing.T, p place) {
	conf := filepath.Join(t.TempDir(), "libarm.conf")
	if err := os.WriteFile(conf, []byte("# lower /nowhere\n\nother x\nlower "+p.path("log/libarm.so.2")+" # the log\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	run(t, nil, "cp", p.path("libarm.so.2"), p.path("copy.so"))
	for _, c := range []struct {
		env    string
		logged bool
	}{
		{"RTIME_ARM_CONF=/nowhere", false},
		{"RTIME_ARM_CONF=" + conf, true},
		{"ARM_LOWER_LIBRARY=", false},
		{"ARM_LOWER_LIBRARY=" + p.path("log/libarm.so.2"), true},
		{"ARM_LOWER_LIBRARY=" + p.path("null/libarm.so.2"), false},
		{"ARM_LOWER_LIBRARY=" + p.path("libarm.so.2"), false}, // itself
		{"ARM_LOWER_LIBRARY=libarm.so.2", false},
		{"ARM_LOWER_LIBRARY=" + p.path("copy.so"), false},
		{"ARM_LOWER_LIBRARY=/nowhere.so", false},
		{"ARM_LOWER_LIBRARY=/etc/passwd", false},
		{"ARM_LOWER_LIBRARY=libm.so.6", false}, // has no such calls
		{"ARM_LOWER_LIBRARY=" + strings.Repeat("x", 5000), false},
	} {
		dir, env := segments(t)
		file := filepath.Join(t.TempDir(), "log")
		got := run(t, []string{env, c.env, "RTIME_ARM_CONF=" + conf, c.env, "ARM_LOGFILE=" + file}, p.path("calls"))
		want := counted
		if strings.Contains(c.env, "/null/") {
			want = strings.Replace(counted, "again -", "again 0", 1) // the lower library has no objections
		}
		if got != want {
			t.Errorf("%s: %s", c.env, got)
		}
		if _, err := os.Stat(file); (err == nil) != c.logged {
			t.Errorf("%s: the log: %v", c.env, err)
		} else if c.logged && !slices.Equal(logLines(t, file), sample) {
			t.Errorf("%s: the log is\n%s", c.env, strings.Join(logLines(t, file), "\n"))
		}
		if names, err := os.ReadDir(dir); err != nil || len(names) == 0 {
			t.Errorf("%s: nothing was measured: %v %v", c.env, names, err)
		}
	}
}

// invoked switches both levels on and off.
func invoked(t *testing.T, p place) {
	lower := "ARM_LOWER_LIBRARY=" + p.path("log/libarm.so.2")
	for _, c := range []struct {
		own, prev       string
		below           bool
		want            string
		logged, counted bool
	}{
		{"", "", false, counted, false, true},
		{"false", "", false, nothing + trace, false, false},
		{"", "false", false, counted, false, true},
		{"false", "false", false, nothing + trace, false, false},
		{"", "", true, counted, true, true},
		{"true", "FALSE", true, counted, true, true},
		{"false", "", true, counted, true, false},
		{"", "false", true, counted, false, true},
		{"false", "false", true, nothing + trace, false, false},
	} {
		dir, env := segments(t)
		file := filepath.Join(t.TempDir(), "log")
		all := []string{env, "RTIME_ARM_CONF=/nowhere", "INVOKE_ARM=" + c.own, "INVOKE_ARMPREV=" + c.prev, "ARM_LOGFILE=" + file}
		if c.below {
			all = append(all, lower)
		}
		if got := run(t, all, p.path("calls")); got != c.want {
			t.Errorf("%+v: %s", c, got)
		}
		_, err := os.Stat(file)
		names, _ := filepath.Glob(filepath.Join(dir, "*.names"))
		if (err == nil) != c.logged || (len(names) == 1) != c.counted {
			t.Errorf("%+v: log %v, segments %v", c, err, names)
		}
	}
}

// privileged runs a setuid program: what its environment names is not loaded, nor written.
func privileged(t *testing.T, p place) {
	run(t, nil, "install", "-m", "4755", p.path("calls"), p.path("calls-setuid"))
	p.compile(t, "calls-log", "interchange/calls.c", p.path("log/libarm.so.2")+" -Wl,-rpath,"+p.path("log"))
	run(t, nil, "install", "-m", "4755", p.path("calls-log"), p.path("log-setuid"))
	for program, want := range map[string]string{"calls-setuid": nothing + trace, "log-setuid": counted} {
		dir, env := segments(t)
		file := filepath.Join(dir, "log")
		c := exec.Command(p.path(program))
		c.Dir = "/"
		c.Env = []string{env, "INVOKE_ARM=false", "ARM_LOWER_LIBRARY=" + p.path("log/libarm.so.2"), "ARM_LOGFILE=" + file}
		c.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: 65534, Gid: 65534}}
		out, err := c.CombinedOutput()
		if got := strings.TrimSpace(string(out)); err != nil || got != want {
			t.Errorf("%s: %v %s", program, err, got)
		}
		if names, err := os.ReadDir(dir); err != nil || len(names) != 0 {
			t.Errorf("%s: %v %v", program, names, err)
		}
	}
}

// misused has the log complain.
func misused(t *testing.T, p place) {
	dir := t.TempDir()
	c := exec.Command(p.path("misuse"))
	c.Dir = dir
	c.Env = append(os.Environ(), others(p, "log")["LD_PRELOAD"])
	if out, err := c.CombinedOutput(); err != nil {
		t.Fatalf("%v %s", err, out)
	}
	want, err := os.ReadFile("interchange/misuse.log")
	if err != nil {
		t.Fatal(err)
	}
	if got := strings.Join(logLines(t, filepath.Join(dir, "logfile")), "\n") + "\n"; got != string(want) {
		t.Errorf("the log is\n%s", got)
	}
}

var ruleNames = []string{"identifiers", "statuses", "references", "passed_on", "many", "threads", "first", "calls_back", "correlators", "forked"}

func rules(t *testing.T, p place) {
	for _, name := range ruleNames {
		run(t, []string{"INVOKE_ARM=", "INVOKE_ARMPREV="}, p.path("rules"), p.path("scripted.so"), name)
	}
}

// base returns sources that the library shares with libSpmi.
func base(names ...string) string {
	return "../libbase/src/" + strings.Join(names, ".c ../libbase/src/") + ".c"
}

// TestLowerSanitized runs the rules and the misuse with the library's sources compiled into
// the programs, under the sanitizers.
func TestLowerSanitized(t *testing.T) {
	for _, c := range []struct {
		name, flags string
		rules       []string
	}{
		{"address", "-fsanitize=address,undefined -fno-sanitize-recover=all -O1", ruleNames},
		{"thread", "-fsanitize=thread -O1", []string{"identifiers", "references", "threads", "first", "calls_back"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			p := place{t.TempDir(), "gcc", c.flags}
			env := []string{"TSAN_OPTIONS=halt_on_error=1:die_after_fork=0", "ASAN_OPTIONS=detect_leaks=0"}
			run(t, nil, "sh", "-c", fmt.Sprintf("gcc %s -shared -fPIC -o %s/scripted.so interchange/scripted.c", defs, p.dir))
			p.compile(t, "rules", "interchange/rules.c src/*.c "+base("file", "held", "late", "process", "text", "under"), "-rdynamic")
			for _, name := range c.rules {
				run(t, env, p.path("rules"), p.path("scripted.so"), name)
			}
			p.compile(t, "misuse", "interchange/misuse.c log/*.c src/correlator.c src/data.c src/key.c src/traceparent.c "+base("held", "text"), "")
			run(t, append(env, "ARM_LOGFILE="+p.path("log")), "sh", "-c", "cd "+p.dir+" && exec ./misuse")
		})
	}
}
