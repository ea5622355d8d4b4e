package supply

import (
	"cmp"
	"slices"
	"time"

	"github.com/pcp-rtime/rtime/pmdas/dds/internal/account"
)

// share is those of a user's suppliers that have something to take in or to give up.
type share struct {
	user *account.User
	todo []*Supplier
}

// work takes in what has come or changed, and gives up what is gone. Root and the PCP user
// come first. Each user gets an equal share of the time that is left, so that no user delays
// another.
func (p *Supply) work() {
	shares := p.shares()
	for len(shares) > 0 {
		p.behind = true
		if p.due() {
			return
		}
		left := shares[:0]
		for i := range shares {
			if s := shares[i]; !p.serve(&s, len(shares)-i) {
				left = append(left, s)
			}
		}
		shares = left
	}
	p.behind = false
}

// shares lists the users whose turn it is, in the order of their turns.
func (p *Supply) shares() (list []share) {
	var at map[*account.User]int
	add := func(s *Supplier) {
		i, ok := at[s.User]
		if at == nil {
			at = make(map[*account.User]int)
		}
		if !ok {
			i = len(list)
			at[s.User] = i
			list = append(list, share{user: s.User})
		}
		list[i].todo = append(list[i].todo, s)
	}
	for _, s := range p.leaving {
		add(s)
	}
	for i := 0; i < len(p.order); i++ {
		s := p.order[i]
		if busy, err := s.busy(); err != nil {
			p.vanish(s, Damaged, err)
			i--
		} else if busy {
			add(s)
		}
	}
	slices.SortFunc(list, func(x, y share) int {
		return cmp.Or(class(x.user)-class(y.user), cmp.Compare(x.user.UID, y.user.UID))
	})
	first := 0
	for first < len(list) && list[first].user.First {
		first++
	}
	if n := len(list) - first; n > 1 {
		p.round++
		k := first + p.round%n
		list = slices.Concat(list[:first], list[k:], list[first:k])
	}
	return list
}

func class(u *account.User) int {
	if u.First {
		return 0
	}
	return 1
}

// serve deals with one user's suppliers for a part of the time that is left. It reports
// whether nothing is left to do for them.
func (p *Supply) serve(s *share, users int) bool {
	var end time.Duration
	if p.Budget > 0 {
		now := p.Clock()
		end = now + (p.end-now)/time.Duration(users)
	}
	for len(s.todo) > 0 {
		sup := s.todo[0]
		p.current = sup
		done, err := p.step(sup)
		p.current = nil
		if err != nil {
			p.vanish(sup, Damaged, err)
			done = true
		}
		if done {
			s.todo = s.todo[1:]
			p.left(sup)
		}
		if p.Budget > 0 && !p.Trying && p.Clock() >= end {
			break
		}
	}
	return len(s.todo) == 0
}

// left forgets a supplier that is gone and has been given up completely.
func (p *Supply) left(s *Supplier) {
	if !s.gone || s.leaves {
		return
	}
	if i := slices.Index(p.leaving, s); i >= 0 {
		p.leaving = slices.Delete(p.leaving, i, i+1)
		p.Users.Forget(s.User)
	}
}
