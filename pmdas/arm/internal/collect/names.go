package collect

import (
	"fmt"
	"os/user"
	"strconv"

	"github.com/pcp-rtime/rtime/internal/armseg/layout"
	"github.com/pcp-rtime/rtime/internal/armseg/reader"
)

// maxNames is how many files of names of one user are read. A user has one, one more for each
// that was removed while processes used it, and one for each process that began before there
// was a directory.
const maxNames = 128

// account is what belongs to a user.
type account struct {
	uid   uint32
	name  string // login name or number
	names []*names
	procs []*proc

	events int // handed out by this look
}

// names is a user's file of names.
type names struct {
	r      *reader.Names
	u      *account
	file   string
	apps   []*appRow // by id less 1; nil where there is none
	trans  []tran
	procs  int
	idle   int64 // since when nobody uses it
	inode  uint64
	aside  bool   // it has no longer the name by which programs find it
	bad    bool   // it was cut off
	barren uint64 // the look in which an id was not found
	gone   bool   // it has no name in the directory any more

	switches layout.Switches // what is to be traced
	switched bool            // that is yet to be written
}

// tran is a transaction of a user.
type tran struct {
	row  *tranRow
	mets *[MaxMetrics]*metricRow // nil until there are any
}

func (c *Collector) account(uid uint32) *account {
	u := c.users[uid]
	if u == nil {
		u = &account{uid: uid, name: loginName(uid)}
		c.users[uid] = u
		c.order = append(c.order, u)
	}
	return u
}

func loginName(uid uint32) string {
	id := strconv.FormatUint(uint64(uid), 10)
	if u, err := user.LookupId(id); err == nil {
		return reader.Text([]byte(u.Username))
	}
	return id
}

// find returns the file of names with a nonce, nil for none.
func (u *account) find(nonce uint64) *names {
	for _, n := range u.names {
		if n.r.Nonce == nonce {
			return n
		}
	}
	return nil
}

// openNames takes a file of names in.
func (c *Collector) openNames(f *entry) error {
	u := c.account(f.uid)
	for _, n := range u.names {
		if !n.gone && n.inode == f.inode {
			return nil
		}
	}
	if len(u.names) >= maxNames {
		return fmt.Errorf("user %d has %d files of names, and no more are read; remove those that no program uses", u.uid, len(u.names))
	}
	r, err := reader.OpenNames(c.path(f.name), f.uid)
	if err != nil {
		return err
	}
	n := &names{r: r, u: u, file: f.name, inode: f.inode, idle: c.mono, aside: f.kind == fileAside}
	if same := u.find(r.Nonce); same != nil {
		r.Close()
		return fmt.Errorf("it has the nonce of %s, so one of the two is a copy; remove it", same.file)
	}
	u.names = append(u.names, n)
	return c.update(n)
}

// update takes in what a user's programs have named since the last time.
func (c *Collector) update(n *names) error {
	return n.r.Update(
		func(id uint32, a *reader.App) {
			n.apps = put(n.apps, id, c.rows.appOf(&c.conf, n.u.name, a.Key, a.Descr))
		},
		func(id uint32, t *reader.Tran) {
			if a := at(n.apps, t.App); a != nil {
				row := c.rows.tranOf(&c.conf, a, t.Key, t.Descr)
				n.trans = put(n.trans, id, tran{row: row})
				n.trace(id, row.Traced)
			}
		})
}

// put stores v for an id, at returns what is stored.
func put[T any](list []T, id uint32, v T) []T {
	for uint32(len(list)) < id {
		var none T
		list = append(list, none)
	}
	list[id-1] = v
	return list
}

func at[T any](list []T, id uint32) (v T) {
	if id == 0 || uint64(id) > uint64(len(list)) {
		return v
	}
	return list[id-1]
}

// tran returns what an id stands for, nil for nothing. It may have come just now, while a
// process's file was being read: who counts in a transaction has named it before. Only an
// id that nobody has named finds nothing new, and then no other is looked for in this look.
func (c *Collector) tran(n *names, id uint32) *tran {
	if t := n.tran(id); t != nil || id == 0 || n.barren == c.looks {
		return t
	}
	_ = c.update(n) // what is cut off is found at the next look
	t := n.tran(id)
	if t == nil {
		n.barren = c.looks
	}
	return t
}

// tran returns what is known of an id.
func (n *names) tran(id uint32) *tran {
	if id == 0 || uint64(id) > uint64(len(n.trans)) || n.trans[id-1].row == nil {
		return nil
	}
	return &n.trans[id-1]
}

// trace sets or clears what asks for traces of a transaction.
func (n *names) trace(id uint32, on bool) {
	if n.switches.Set(id, on) {
		n.switched = true
	}
}

// followWishes sets and clears what asks for traces.
func (c *Collector) followWishes() {
	c.mu.Lock()
	same := c.traced == c.wished
	c.traced = c.wished
	wished := make(map[string]bool, len(c.wishes))
	for name := range c.wishes {
		wished[name] = true
	}
	c.mu.Unlock()
	if same && !c.rows.grown {
		return
	}
	for _, t := range c.rows.trans {
		if t.Traced != wished[t.Name] {
			t.Traced, t.renamed = !t.Traced, true
		}
	}
	for _, u := range c.order {
		for _, n := range u.names {
			for i := range n.trans {
				if t := n.trans[i].row; t != nil {
					n.trace(uint32(i+1), t.Traced)
				}
			}
		}
	}
}
