package collect

import (
	"log"
	"time"

	"github.com/pcp-rtime/rtime/internal/throttle"
)

// reports take what goes wrong in any stage: they count it, and write it to the log without
// filling the log.
type reports struct {
	log         *log.Logger
	errors      uint64 // of the directory and of the record of the past
	lastError   string
	refused     uint64 // times that a file was refused
	lastRefused string
	refusals    throttle.Log[uint32] // by the user whose file it is
	failures    throttle.Log[string] // by the text of the error
}

func newReports(l *log.Logger, now func() time.Time) *reports {
	r := &reports{log: l}
	say := func(line string) { r.log.Print(line) }
	r.refusals = throttle.Log[uint32]{Print: say, Now: now, Burst: 10, Every: 6 * time.Second}
	r.failures = throttle.Log[string]{Print: say, Now: now, Burst: 1, Every: time.Minute}
	return r
}

// fail reports an error of the directory or of the record of the past; nil is none. The same
// error comes only once a minute in the log, because each look may have it.
func (r *reports) fail(err error) {
	if err == nil {
		return
	}
	r.errors++
	r.lastError = err.Error()
	r.failures.Printf(r.lastError, "%s", r.lastError)
}

// full reports that a file of names has no room for another name.
func (r *reports) full(file string, owner uint32, what string) {
	r.refusals.Printf(owner, "%s: no room for another %s, so programs of user %d that give new names are not measured; "+
		"the file is made anew when no program has used it for the time that rtarm.conf calls timeout", file, what, owner)
}

// refuse reports that a file is not read, or not read any more. Lines in the log are limited
// for each user, so that nobody can fill it with bad files.
func (r *reports) refuse(file string, owner uint32, err error) {
	r.refused++
	r.lastRefused = file + ": " + err.Error()
	r.refusals.Printf(owner, "refused: %s", r.lastRefused)
}
