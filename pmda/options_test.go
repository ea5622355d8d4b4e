package pmda

import "github.com/pcp-rtime/rtime/internal/journal"

// Stepping returns the options o with a function that is told of each step on the disk.
func Stepping(o Options, step func(what string)) Options {
	o.journal = journal.Options{Step: step}
	return o
}
