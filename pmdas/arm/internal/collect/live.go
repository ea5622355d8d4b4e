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
	_ = unix.ClockGettime(unix.CLOCK_MONOTONIC, &ts) // this clock is always there
	return ts.Nano(), time.Now()
}

// descriptors returns how many files of programs may be open. Some descriptors are kept back
// for the record of the past, because files of ended processes are closed only when the record
// has their counts.
func descriptors() int {
	var r unix.Rlimit
	if err := unix.Getrlimit(unix.RLIMIT_NOFILE, &r); err != nil {
		return 512
	}
	n := int(min(r.Cur, 1<<30))
	return n - min(n/2, 64)
}

// namespace is the pid namespace whose processes /proc shows.
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

// alive reports whether there is a process with this pid and this start. It returns false for a
// process of another namespace, because its pid means another process here.
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

// startTime returns when a process started, from its stat file (proc(5)). ok is false if the
// process has ended and its parent has not waited for it yet.
func startTime(stat []byte) (ticks uint64, ok bool) {
	// The second field is the name, in which there may be blanks and parentheses. The state
	// is the first field after it, and the start is the 20th.
	fields := bytes.Fields(stat[bytes.LastIndexByte(stat, ')')+1:])
	if len(fields) < 20 || fields[0][0] == 'Z' || fields[0][0] == 'X' {
		return 0, false
	}
	ticks, err := strconv.ParseUint(string(fields[19]), 10, 64)
	return ticks, err == nil
}
