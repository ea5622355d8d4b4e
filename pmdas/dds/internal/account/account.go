// Package account counts what each user's suppliers use, and compares it with the limits of
// the configuration. Packages supply and naming charge the same account. Everything here
// belongs to the agent's serving goroutine.
package account

import (
	"fmt"
	"os/user"
	"strconv"
	"time"

	"github.com/pcp-rtime/rtime/internal/ddsseg/reader"
	"github.com/pcp-rtime/rtime/pmdas/dds/internal/conf"
)

// User is the account of one user.
type User struct {
	UID   uint32
	Name  string // or the number if the user has no name
	First bool   // root or the PCP user: they come before all others

	Suppliers int   // open segments
	Bytes     int64 // of those
	Contexts  int   // exported, with statistics
	Values    int   // exported
	Metrics   int   // names below dds, those without a supplier included
	Memory    int64 // about how many bytes the agent holds for what is there
	Named     int64 // about how many bytes it holds for names, past ones included
	Rows      int   // in rtime.dds.supplier
	Domains   int   // instance domains so far

	noted int64 // how much of Named is kept in the file

	Churn   Bucket // changes of slots
	names   Bucket // new names of any kind
	numbers Bucket // new metrics
}

// Users are the accounts of all users who have something.
type Users struct {
	Conf *conf.Config
	PCP  uint32 // number of the PCP user
	Now  func() time.Time
	all  map[uint32]*User
}

// Len returns how many users have something besides names.
func (a *Users) Len() (n int) {
	for _, u := range a.all {
		if u.has() {
			n++
		}
	}
	return n
}

func (u *User) has() bool {
	return u.Suppliers > 0 || u.Contexts > 0 || u.Metrics > 0 || u.Rows > 0 || u.Domains > 0
}

// Of returns the account of a user, and makes it if there is none yet.
func (a *Users) Of(uid uint32) *User {
	u := a.all[uid]
	if u == nil {
		if a.all == nil {
			a.all = make(map[uint32]*User)
		}
		u = &User{UID: uid, Name: NameOf(uid), First: uid == 0 || uid == a.PCP}
		a.all[uid] = u
	}
	return u
}

// Forget forgets a user who has nothing, not even a name.
func (a *Users) Forget(u *User) {
	if u.Named == 0 && !u.has() {
		delete(a.all, u.UID)
	}
}

// NewName counts a new name that the agent keeps for ever for the user. It returns an error
// if the user has reached a limit.
func (a *Users) NewName(u *User) error {
	if err := a.NameLeft(u); err != nil {
		return err
	}
	u.names.Left--
	return nil
}

// NameLeft returns an error if the user has reached a limit of new names. There are two: so
// many names in a day, and half of the memory for all of them.
func (a *Users) NameLeft(u *User) error {
	if half := a.Conf.Memory / 2; u.Named >= half {
		return fmt.Errorf("%w: the names that one user's suppliers have ever had take %d bytes; the limit is half of maxmemory in dds.conf: use names again, or raise maxmemory", reader.ErrLimit, u.Named)
	}
	n := a.Conf.Names
	if u.names.Fill(a.Now(), float64(n), float64(n)/86400) < 1 {
		return Over("new names in a day", "maxnames", n)
	}
	return nil
}

// NewMetric is NewName for a metric. It has a lower limit, because there are fewer numbers
// for metrics.
func (a *Users) NewMetric(u *User) error {
	if err := a.NameLeft(u); err != nil {
		return err
	}
	n := a.Conf.NewMetrics
	if u.numbers.Fill(a.Now(), float64(n), float64(n)/86400) < 1 {
		return Over("new metrics in a day", "maxnewmetrics", n)
	}
	u.names.Left--
	u.numbers.Left--
	return nil
}

// Over returns the error for a user who has more than n of something. The keyword is that of
// the limit in dds.conf.
func Over(what, keyword string, n int) error {
	return fmt.Errorf("%w: more than %d %s of one user; the limit is %s in dds.conf", reader.ErrLimit, n, what, keyword)
}

// Hold charges an account with n bytes of the agent's memory. It returns an error if that would
// exceed the limit.
func (a *Users) Hold(u *User, n int64) error {
	if u.Memory+u.Named+n > a.Conf.Memory {
		return fmt.Errorf("%w: more than %d bytes of the agent's memory for one user; the limit is maxmemory in dds.conf", reader.ErrLimit, a.Conf.Memory)
	}
	u.Memory += n
	return nil
}

// Release gives n bytes back.
func (a *Users) Release(u *User, n int64) { u.Memory -= n }

// Left returns how many bytes more the agent may hold for the user, at least 1.
func (a *Users) Left(u *User) int64 { return max(a.Conf.Memory-u.Memory-u.Named, 1) }

// nameBytes is what the agent holds for a name besides the name itself and its prefix among the
// names.
const nameBytes = 32

// Name charges an account with names that have just got their numbers. They stay for ever.
func (a *Users) Name(u *User, names ...string) {
	for _, name := range names {
		u.Named += nameBytes + int64(len(name))
	}
}

// Note calls keep for each user who has new names since the last Note, with the bytes of all
// names of that user. When the agent starts again, Noted is called with that figure.
func (a *Users) Note(keep func(uid uint32, named int64)) {
	for _, u := range a.all {
		if u.Named != u.noted {
			u.noted = u.Named
			keep(u.UID, u.Named)
		}
	}
}

// Noted charges a user's account with the names of earlier runs of the agent.
func (a *Users) Noted(uid uint32, named int64) {
	u := a.Of(uid)
	u.Named, u.noted = named, named
}

// Bucket bounds what a user can cause: so much at once, and so much a second after that.
type Bucket struct {
	Left float64
	at   time.Time
}

// Fill returns what is left at now.
func (b *Bucket) Fill(now time.Time, burst, rate float64) float64 {
	if b.at.IsZero() {
		b.Left = burst
	} else {
		b.Left = min(b.Left+max(now.Sub(b.at).Seconds(), 0)*rate, burst)
	}
	b.at = now
	return b.Left
}

// NameOf returns the name of a user, or the number if the user has no name.
func NameOf(uid uint32) string {
	n := strconv.FormatUint(uint64(uid), 10)
	if u, err := user.LookupId(n); err == nil {
		return u.Username
	}
	return n
}
