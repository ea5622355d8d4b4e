// Package armkill is for tests that kill programs while they are measured: it builds and
// runs a program that forks and kills them, at random or after so many instructions, and
// reads from each process's notes what it had begun and completed.
package armkill

import (
	"bufio"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"unsafe"

	"golang.org/x/sys/unix"
)

// Batch is how many processes one order kills. Batch is also the number of the witness: a
// process that counts all the time.
const Batch = 64

// App is the application's name; the i-th process has the transaction Name(i) of it.
const App = "Kill"

// Name returns the name of the i-th process's transaction, as an instance.
func Name(i int) string {
	if i == Batch {
		return App + "/witness"
	}
	return fmt.Sprintf("%s/t%d", App, i)
}

// Programs are what Build built.
type Programs struct {
	driver string
	Go     string // victims in Go
}

// Build builds libarm and the programs into a directory.
func Build(t testing.TB, dir string) Programs {
	t.Helper()
	root := strings.TrimSpace(command(t, "go", "list", "-m", "-f", "{{.Dir}}"))
	src, lib := filepath.Join(root, "test/arm/armkill/testdata"), filepath.Join(root, "libarm")
	p := Programs{filepath.Join(dir, "driver"), filepath.Join(dir, "victim")}
	command(t, "make", "-s", "-C", lib, "BUILD="+dir, dir+"/libarm.a")
	sources, err := filepath.Glob(src + "/*.c")
	if err != nil || len(sources) == 0 {
		t.Fatal(src, err)
	}
	args := []string{"-std=gnu11", "-D_GNU_SOURCE", "-Wall", "-Wextra", "-Werror", "-O1", "-I" + lib + "/include", "-o", p.driver}
	command(t, "cc", append(append(args, sources...), dir+"/libarm.a", "-pthread")...)
	command(t, "go", "-C", root, "build", "-o", p.Go, src+"/victim")
	return p
}

func command(t testing.TB, name string, args ...string) string {
	t.Helper()
	c := exec.Command(name, args...)
	c.Stderr = os.Stderr
	out, err := c.Output()
	if err != nil {
		t.Fatalf("%v: %v\n%s", c.Args, err, out)
	}
	return string(out)
}

// Driver is a running driver. One goroutine may use it.
type Driver struct {
	t     testing.TB
	cmd   *exec.Cmd
	in    *os.File
	lines chan string
	notes []victim
}

// Start starts a driver, whose processes leave their segments in dir.
func Start(t testing.TB, p Programs, dir string) *Driver {
	t.Helper()
	d := &Driver{t: t, lines: make(chan string)}
	path := filepath.Join(t.TempDir(), "notes")
	d.share(path)
	r, w, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	d.cmd = exec.Command(p.driver, path, dir)
	d.cmd.Stdin, d.in, d.cmd.Stderr = r, w, os.Stderr
	out, err := d.cmd.StdoutPipe()
	if err == nil {
		err = d.cmd.Start()
	}
	if err != nil {
		t.Fatal(err)
	}
	r.Close()
	go func() {
		defer close(d.lines)
		for s := bufio.NewScanner(out); s.Scan(); {
			d.lines <- s.Text()
		}
	}()
	t.Cleanup(d.kill)
	return d
}

// share makes the file of notes.
func (d *Driver) share(path string) {
	d.t.Helper()
	size := int(unsafe.Sizeof(victim{})) * (Batch + 1)
	f, err := os.Create(path)
	if err == nil {
		err = f.Truncate(int64(size))
	}
	if err != nil {
		d.t.Fatal(err)
	}
	mem, err := unix.Mmap(int(f.Fd()), 0, size, unix.PROT_READ|unix.PROT_WRITE, unix.MAP_SHARED)
	f.Close()
	if err != nil {
		d.t.Fatal(err)
	}
	d.notes = unsafe.Slice((*victim)(unsafe.Pointer(&mem[0])), Batch+1)
	d.t.Cleanup(func() { _ = unix.Munmap(mem) }) // nothing depends on it
}

// kill ends the driver; what it forked ends with it.
func (d *Driver) kill() {
	d.in.Close()
	_ = d.cmd.Process.Kill() // it is over, if all went well
	for range d.lines {      // until it is closed
	}
	_ = d.cmd.Wait()
}

// Do sends the driver an order (see testdata/driver.c) and waits until it is carried out.
// Until then it calls meanwhile again and again, if that is not nil. It returns the number
// in the answer.
func (d *Driver) Do(meanwhile func(), order string, args ...any) (n int) {
	d.t.Helper()
	order = fmt.Sprintf(order, args...)
	if _, err := fmt.Fprintln(d.in, order); err != nil {
		d.t.Fatal(err)
	}
	line, answered := "", false
	for !answered && meanwhile != nil {
		select {
		case line = <-d.lines:
			answered = true
		default:
			meanwhile()
		}
	}
	if !answered {
		line = <-d.lines
	}
	if _, err := fmt.Sscanf(line, "ok %d", &n); err != nil {
		d.t.Fatalf("%s: the driver says %q", order, line)
	}
	return n
}

// Quit ends the driver, which has been told to end the witness.
func (d *Driver) Quit() {
	d.t.Helper()
	d.in.Close()
	for range d.lines { // until it is closed
	}
	if err := d.cmd.Wait(); err != nil {
		d.t.Error(err)
	}
}
