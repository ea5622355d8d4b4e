package collect

import (
	"bytes"
	"fmt"
	"os"
	"strconv"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"github.com/pcp-rtime/rtime/internal/armseg/reader"
)

// clocks returns CLOCK_MONOTONIC, by which the libraries measure, and the time of day.
func clocks() (mono int64, wall time.Time) {
	var ts unix.Timespec
	_ = unix.ClockGettime(unix.CLOCK_MONOTONIC, &ts) // there is always one
	return ts.Nano(), time.Now()
}

// descriptors returns how many files of programs may be open. Some descriptors are kept for
// the record of the past: without it no file of a process that has ended is ever closed.
func descriptors() int {
	var r unix.Rlimit
	if err := unix.Getrlimit(unix.RLIMIT_NOFILE, &r); err != nil {
		return 512
	}
	n := int(min(r.Cur, 1<<30))
	return n - min(n/2, 64)
}

// namespace is the pid namespace that /proc shows processes of.
type namespace struct {
	inode uint64
}

func processes() namespace {
	st, err := os.Stat("/proc/self/ns/pid")
	if err != nil {
		return namespace{}
	}
	return namespace{st.Sys().(*syscall.Stat_t).Ino}
}

// alive reports whether a process with this pid and start is there. In another namespace
// pids say nothing.
func (n namespace) alive(p *reader.ProcInfo) bool {
	if n.inode == 0 || p.PIDNS != n.inode {
		return false
	}
	stat, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", p.PID))
	if err != nil {
		return false
	}
	start, ok := startTime(stat)
	return ok && start == p.Start
}

// startTime returns when a process started, from its stat file (proc(5)). ok is false for
// one that has ended and is yet to be waited for.
func startTime(stat []byte) (ticks uint64, ok bool) {
	// The name may have blanks and parentheses in it. The start is the 22nd field, the
	// 20th behind the name; the first is the state.
	fields := bytes.Fields(stat[bytes.LastIndexByte(stat, ')')+1:])
	if len(fields) < 20 || fields[0][0] == 'Z' || fields[0][0] == 'X' {
		return 0, false
	}
	ticks, err := strconv.ParseUint(string(fields[19]), 10, 64)
	return ticks, err == nil
}
