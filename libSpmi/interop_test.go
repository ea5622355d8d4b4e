package libspmi_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/pcp-rtime/rtime/internal/ddsseg/layout"
	segreader "github.com/pcp-rtime/rtime/internal/ddsseg/reader"
)

// volatiles counts the contexts that come and go.
type volatiles struct {
	t    *testing.T
	came []string
	gone int
}

func (v *volatiles) Gone(uint32) { v.gone++ }

func (v *volatiles) Came(_ uint32, c *segreader.Context, err error) {
	if err != nil {
		v.t.Fatal(err)
	}
	names := []string{c.Path, c.Descr}
	for _, s := range c.Stats {
		names = append(names, s.Name)
	}
	v.came = append(v.came, strings.Join(names, " "))
}

// TestGoReads runs the guide's volatile supplier and reads it as the agent does, for
// every width of words and of times.
func TestGoReads(t *testing.T) {
	builds := []struct{ name, cc, flags string }{
		{"64 bits", "gcc", ""},
		{"32 bits", "gcc -m32", ""},
		{"32 bits with 64-bit time", "gcc -m32", "-D_TIME_BITS=64 -D_FILE_OFFSET_BITS=64"},
	}
	for _, b := range builds {
		t.Run(b.name, func(t *testing.T) { goReads(t, b.cc, b.flags) })
	}
}

func goReads(t *testing.T, cc, flags string) {
	dir, lib := t.TempDir(), t.TempDir()
	if err := os.Mkdir(filepath.Join(dir, layout.ClaimsDir), 0o777); err != nil {
		t.Fatal(err)
	}
	run(t, "make", "-s", "BUILD="+lib, "CC="+cc, "all")
	program := filepath.Join(lib, "volatile")
	args := strings.Fields(cc + " -std=gnu17 -w -Iinclude -DADD_EVERY=1 -DDELETE_EVERY=2 -DADD_ANOTHER_EVERY=1 -DDELETE_ANOTHER_EVERY=3 -DIDLE=1 " + flags)
	run(t, args[0], append(args[1:], `-DFILE_NAME="`+filepath.Join(lib, "hook")+`"`, "-o", program,
		"examples/volatile.c", "-L"+lib, "-lSpmi", "-Wl,-rpath,"+lib)...)
	start(t, program, dir)
	r := open(t, dir)
	if info := r.Info(); info.Name != "hook" || info.Language != layout.LanguageC {
		t.Errorf("info %+v", info)
	}
	if alive, err := r.Alive(); !alive || err != nil {
		t.Errorf("alive %v, %v", alive, err)
	}
	var paths []string
	for _, c := range r.Contexts() {
		paths = append(paths, c.Path)
	}
	want := []string{"DDS/IBM", "DDS/IBM/Test", "DDS/IBM/Moretest", "DDS/IBM/Moretest/SubTest", "DDS/IBM/Moretest/INST1", "DDS/IBM/Moretest/INST2"}
	if !slices.Equal(paths, want) {
		t.Errorf("contexts %q, want %q", paths, want)
	}
	watch(t, r)
}

// watch follows the contexts until both have come, and one has gone.
func watch(t *testing.T, r *segreader.Reader) {
	v := &volatiles{t: t}
	want := []string{"DDS/IBM/Moretest/Bingo Dynamically added problems solutions", "DDS/IBM/Moretest/Bongo Also added dynamically questions doubts"}
	came := func() []string { return slices.Compact(slices.Sorted(slices.Values(v.came))) }
	for end := time.Now().Add(2 * time.Minute); v.gone < 1 || len(came()) < len(want); time.Sleep(10 * time.Millisecond) {
		if time.Now().After(end) {
			t.Fatalf("came %q, gone %d", v.came, v.gone)
		}
		if _, err := r.Scan(v, 100); err != nil {
			t.Fatal(err)
		}
	}
	if !slices.Equal(came(), want) {
		t.Errorf("came %q", v.came)
	}
}

func run(t *testing.T, name string, args ...string) {
	t.Helper()
	if out, err := exec.Command(name, args...).CombinedOutput(); err != nil {
		t.Fatalf("%s %q: %v\n%s", name, args, err, out)
	}
}

func start(t *testing.T, program, dir string) { startCommand(t, exec.Command(program), dir) }

func startCommand(t *testing.T, cmd *exec.Cmd, dir string) {
	cmd.Env = append(os.Environ(), layout.DirEnv+"="+dir)
	cmd.Stdout, cmd.Stderr = os.Stderr, os.Stderr
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		cmd.Process.Signal(syscall.SIGTERM)
		if err := cmd.Wait(); err != nil {
			t.Error(err)
		}
	})
}

func open(t *testing.T, dir string) *segreader.Reader {
	var names []string
	for end := time.Now().Add(2 * time.Minute); len(names) == 0; time.Sleep(10 * time.Millisecond) {
		if time.Now().After(end) {
			t.Fatal("no segment")
		}
		names, _ = filepath.Glob(filepath.Join(dir, "*"+layout.Suffix))
	}
	r, err := segreader.Open(names[0], segreader.Limits{Size: 1 << 20, Contexts: 100, Stats: 100})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { r.Close() })
	return r
}
