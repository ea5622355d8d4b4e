//go:build linux

package arm_test

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"os/signal"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/pcp-rtime/rtime/arm"
)

const childEnv = "ARM_TEST_CHILD"

// TestMain also serves as the program of the other processes that tests need.
func TestMain(m *testing.M) {
	if args := os.Getenv(childEnv); args != "" {
		child(strings.Split(args, "|"))
		return
	}
	os.Exit(m.Run())
}

// child does one job. It goes on until it is killed, or prints how the job went.
func child(args []string) {
	switch job, dir := args[0], args[1]; job {
	case "count":
		count(dir)
	case "limited":
		if err := syscall.Setrlimit(syscall.RLIMIT_FSIZE, &syscall.Rlimit{Cur: 512, Max: 512}); err != nil {
			fmt.Println(err)
		}
		c := make(chan os.Signal, 1)
		signal.Notify(c, syscall.SIGXFSZ)
		err := arm.NewApplication("a", arm.Dir(dir)).Err()
		select {
		case got := <-c:
			fmt.Println(got)
		case <-time.After(100 * time.Millisecond):
			fmt.Println(err)
		}
	case "environment":
		app := arm.NewApplication("a")
		r := app.Transaction("t").Start(context.Background())
		fmt.Println(app.Err(), r.Stop(arm.Good))
	case "damaged":
		if err := damaged(dir); err != nil {
			fmt.Println(err)
			return
		}
		fmt.Println("right")
	case "attack":
		fmt.Println(attack(dir))
	case "user":
		err := errors.Join(syscall.Setgroups(nil), syscall.Setresgid(65534, 65534, 65534), syscall.Setresuid(65534, 65534, 65534))
		if err == nil {
			err = arm.NewApplication("a", arm.Dir(dir)).Err()
		}
		fmt.Println(err)
	}
}

// count prints after each stop how many there were.
func count(dir string) {
	app := arm.NewApplication("killed", arm.Dir(dir))
	tr := app.Transaction("t")
	if tr.Err() != nil {
		fmt.Println(tr.Err())
		return
	}
	for g := range 2 {
		go func() {
			var line [16]byte
			for n := 0; ; n++ {
				tr.Start(context.Background()).Stop(arm.Good)
				// One write is one line, whatever the other goroutine writes.
				os.Stdout.Write(fmt.Appendf(line[:0], "%d %d\n", g, n))
			}
		}()
	}
	select {}
}

type process struct {
	cmd *exec.Cmd
	out *bufio.Reader
}

// start runs a child.
func start(t *testing.T, env []string, args ...string) *process {
	t.Helper()
	cmd := exec.Command("/proc/self/exe")
	// Otherwise the race detector would stay for a second after the end.
	cmd.Env = append(append(os.Environ(), "GORACE=atexit_sleep_ms=0", childEnv+"="+strings.Join(args, "|")), env...)
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	cmd.Stderr = os.Stderr
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { cmd.Process.Kill(); cmd.Wait() })
	return &process{cmd, bufio.NewReader(out)}
}

// said returns the child's next line, without its end.
func (p *process) said(t *testing.T) string {
	t.Helper()
	line, err := p.out.ReadString('\n')
	if err != nil {
		t.Fatal(err)
	}
	return strings.TrimSpace(line)
}

// segments makes a directory that every user can reach, as the agent does.
func segments(t testing.TB) string {
	t.Helper()
	dir, err := os.MkdirTemp("", "arm-test-")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(dir) })
	if err := syscall.Chmod(dir, 0o3773); err != nil {
		t.Fatal(err)
	}
	return dir
}

// open names an application and checks that it is measured.
func open(t testing.TB, dir, name string, opts ...arm.Option) *arm.Application {
	t.Helper()
	app := arm.NewApplication(name, append(opts, arm.Dir(dir))...)
	t.Cleanup(func() { app.Close() })
	if err := app.Err(); err != nil {
		t.Fatal(err)
	}
	return app
}
