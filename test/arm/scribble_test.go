package arm

import (
	"bufio"
	"errors"
	"fmt"
	"io/fs"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/pcp-rtime/rtime/internal/armseg/layout"
	"github.com/pcp-rtime/rtime/test/pcptest"
)

// scribbleEnv names a directory. It tells the test's binary to scribble over the files
// there.
const scribbleEnv = "ARM_TEST_SCRIBBLE"

// scribble writes into, cuts and lengthens every file below a directory that it can open
// for writing, again and again until its input ends. After each round it says how many
// files it could not open, and how many it changed.
func scribble(dir string) {
	over := make(chan bool)
	go func() {
		_, _ = bufio.NewReader(os.Stdin).ReadString('\n')
		close(over)
	}()
	for round := 0; ; round++ {
		select {
		case <-over:
			return
		default:
		}
		var refused, changed int
		err := filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
			if err != nil || !d.Type().IsRegular() {
				return nil // it went, or there is nothing to open
			}
			f, err := os.OpenFile(path, os.O_WRONLY, 0)
			if errors.Is(err, fs.ErrPermission) {
				if err := os.Truncate(path, 0); err == nil {
					return fmt.Errorf("%s was cut", path)
				}
				refused++
				return nil
			}
			if err != nil {
				return nil
			}
			defer f.Close()
			if strings.HasSuffix(path, layout.ProcSuffix) || strings.HasSuffix(path, layout.NamesSuffix) {
				return fmt.Errorf("%s can be written", path)
			}
			changed++
			return spoil(f, round)
		})
		fmt.Println(refused, changed, err)
	}
}

// spoil damages a file, each time in another way.
func spoil(f *os.File, round int) error {
	garbage := make([]byte, layout.SwitchesLen)
	for i := range garbage {
		garbage[i] = byte(rand.Uint32())
	}
	switch round % 4 {
	case 0: // all is on, for whatever there may be
		var s layout.Switches
		for i := range s {
			s[i] = 1<<32 - 1
		}
		_, hex, _ := strings.Cut(filepath.Base(f.Name()), "-")
		nonce, _ := strconv.ParseUint(hex, 16, 64) // of other files: 0
		garbage = s.Encode(nonce)
	case 1:
		return f.Truncate(rand.Int64N(layout.SwitchesLen))
	case 2:
		return f.Truncate(1 << 40)
	}
	_, err := f.WriteAt(garbage, 0)
	return err
}

// TestAgentTurnedHostile: somebody has become the user that the agent runs as. That user
// can read the programs' files and cannot write into them. What the agent says to programs
// can be spoilt, which harms no program: all go on, and everything that they do is counted.
func TestAgentTurnedHostile(t *testing.T) {
	t.Parallel()
	p := start(t, fast)
	var list []*program
	for i, exe := range []string{cProgram(t), goProgram(t), cProgram(t), goProgram(t)} {
		q := run(t, p, exe, []int{0, 0, nobody, nobody}[i])
		q.do("init Shop")
		q.do("tran %s", buy)
		q.do("tran Shop/Traced%d", i)
		list = append(list, q)
	}
	is(t, p, "rtime.arm.count", buy, "0")
	for i := range list { // so that there are files of the agent's
		is(t, p, "rtime.arm.count", fmt.Sprintf("Shop/Traced%d", i), "0")
		p.Run("pmstore", "-h", "local:", "-i", fmt.Sprintf("Shop/Traced%d", i), "rtime.arm.control.trace", "1")
	}
	pcptest.Eventually(t, "the agent says what is to be traced", func() error {
		files, err := filepath.Glob(p.Path("run/arm", layout.SwitchesDir, "*"))
		if err == nil && len(files) != 2 {
			err = fmt.Errorf("%v", files)
		}
		return err
	})
	rounds := scribbler(t, p)
	n := 0
	for begun := time.Now(); n == 0 || rounds.said < 40 || time.Since(begun) < 4*time.Second; n++ { // they look once a second
		for i, q := range list {
			q.order("do %s 1000 0 4", buy)
			q.order("do Shop/Traced%d 10 0 1", i)
		}
		for _, q := range list {
			q.done()
			q.done()
		}
		rounds.read(t)
	}
	rounds.end()
	is(t, p, "rtime.arm.count", buy, strconv.Itoa(n*4*4*1000))
	for i := range list {
		is(t, p, "rtime.arm.count", fmt.Sprintf("Shop/Traced%d", i), strconv.Itoa(n*10))
	}
	for _, q := range list {
		q.quit()
	}
	is(t, p, "rtime.arm.agent.files", "", "0")
	is(t, p, "rtime.arm.count", buy, strconv.Itoa(n*4*4*1000))
}

// scribbling is a process of the PCP user that spoils every file that it can.
type scribbling struct {
	cmd  *exec.Cmd
	in   *os.File
	out  *bufio.Scanner
	said int // rounds
}

func scribbler(t *testing.T, p *pcptest.PCP) *scribbling {
	t.Helper()
	uid, gid := pcptest.UID(t)
	s := &scribbling{cmd: exec.Command(goProgram(t))}
	s.cmd.Env = []string{scribbleEnv + "=" + p.Path("run/arm")}
	s.cmd.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: uint32(uid), Gid: uint32(gid)}}
	s.cmd.Stderr = os.Stderr
	r, w, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	s.cmd.Stdin, s.in = r, w
	out, err := s.cmd.StdoutPipe()
	if err == nil {
		err = s.cmd.Start()
	}
	if err != nil {
		t.Fatal(err)
	}
	r.Close()
	s.out = bufio.NewScanner(out)
	t.Cleanup(s.end)
	return s
}

// read reads what the process says of its next rounds. The process could not open the files
// of the four programs and two users, and could change those of the agent.
func (s *scribbling) read(t *testing.T) {
	t.Helper()
	for range 10 {
		var refused, changed int
		if !s.out.Scan() {
			t.Fatal("it has ended: ", s.out.Err())
		}
		if n, err := fmt.Sscanf(s.out.Text(), "%d %d <nil>", &refused, &changed); n != 2 || err != nil {
			t.Fatal(s.out.Text())
		}
		if refused < 6 || changed < 2 {
			t.Fatalf("%d refused, %d changed", refused, changed)
		}
		s.said++
	}
}

func (s *scribbling) end() {
	s.in.Close()
	for s.out.Scan() { // it ends when it has done its round
	}
	_ = s.cmd.Wait() // a second time it says that it has been waited for
}
