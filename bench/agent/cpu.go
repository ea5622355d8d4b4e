package main

import (
	"bufio"
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"golang.org/x/sys/unix"
)

// cpuTime returns the processor time of a whole process, user and system, in nanoseconds:
// the clock that clock_getcpuclockid(3) names. It includes threads that have ended, and
// running threads up to this moment.
func cpuTime(pid int) (time.Duration, error) {
	const scheduler = 2 // what the low bits of such a clock's number say
	var ts unix.Timespec
	if err := unix.ClockGettime(int32(^pid<<3|scheduler), &ts); err != nil {
		return 0, fmt.Errorf("processor time of %d: %w", pid, err)
	}
	return time.Duration(ts.Nano()), nil
}

// schedTime is the same from /proc/PID/task/*/schedstat. It checks cpuTime by another
// source, and lacks threads that have ended.
func schedTime(pid int) (time.Duration, error) {
	files, _ := filepath.Glob(fmt.Sprintf("/proc/%d/task/*/schedstat", pid))
	var sum time.Duration
	for _, name := range files {
		b, err := os.ReadFile(name)
		if err != nil {
			continue
		}
		n, err := strconv.ParseInt(strings.Fields(string(b))[0], 10, 64)
		if err != nil {
			return 0, err
		}
		sum += time.Duration(n)
	}
	return sum, nil
}

// switches returns how often the threads of a process went to sleep or were made to yield.
// If waking the requester preempts the agent, the agent yields.
func switches(pid int) int64 {
	status := fmt.Sprintf("/proc/%d/task/*/status", pid)
	return sumLines(status, "voluntary_ctxt_switches:") + sumLines(status, "nonvoluntary_ctxt_switches:")
}

// memory returns the resident and the private memory of a process in KiB.
func memory(pid int) (rss, private int64) {
	name := fmt.Sprintf("/proc/%d/smaps_rollup", pid)
	return sumLines(name, "Rss:"), sumLines(name, "Private_Clean:") + sumLines(name, "Private_Dirty:")
}

// sumLines adds up the number that follows word at the beginning of a line, over all
// files that match.
func sumLines(pattern, word string) (sum int64) {
	files, _ := filepath.Glob(pattern)
	for _, name := range files {
		b, err := os.ReadFile(name)
		if err != nil {
			continue // the thread has ended
		}
		for s := bufio.NewScanner(bytes.NewReader(b)); s.Scan(); {
			if rest, ok := strings.CutPrefix(s.Text(), word); ok {
				n, _ := strconv.ParseInt(strings.Fields(rest)[0], 10, 64)
				sum += n
			}
		}
	}
	return sum
}

func sleepMs(ms int) { sleepUntil(monotonic() + time.Duration(ms)*time.Millisecond) }

func monotonic() time.Duration {
	var ts unix.Timespec
	_ = unix.ClockGettime(unix.CLOCK_MONOTONIC, &ts)
	return time.Duration(ts.Nano())
}

// sleepUntil makes the calling thread sleep, without the Go runtime's timers.
func sleepUntil(t time.Duration) {
	ts := unix.NsecToTimespec(int64(t))
	for unix.ClockNanosleep(unix.CLOCK_MONOTONIC, unix.TIMER_ABSTIME, &ts, nil) == unix.EINTR {
	}
}
