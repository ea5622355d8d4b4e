package pipe

import (
	"errors"

	"golang.org/x/sys/unix"
)

// Pin lets the calling thread, and what it starts, use one processor only, the last of
// those it may use, and returns a function that gives it all of them back. Agent and
// requester take turns anyway, and waking another processor costs more than an answer.
func Pin() (unpin func(), err error) {
	var all unix.CPUSet
	if err := unix.SchedGetaffinity(0, &all); err != nil {
		return nil, err
	}
	for cpu := len(all)*64 - 1; cpu >= 0; cpu-- {
		if all.IsSet(cpu) {
			var one unix.CPUSet
			one.Set(cpu)
			return func() { _ = unix.SchedSetaffinity(0, &all) }, unix.SchedSetaffinity(0, &one)
		}
	}
	return nil, errors.New("no processor to pin to")
}
