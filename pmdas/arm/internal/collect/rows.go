package collect

import (
	"strings"

	"github.com/pcp-rtime/rtime/pmdas/arm/internal/past"
)

// other is the name of the rows that take what is over a limit.
const other = "other"

// rows are the tables of what is exported. A row stays once it is made. A name that was over a
// limit counts in a row named other for ever, even if the limit grows. Both kinds of choices
// are recorded.
type rows struct {
	apart bool
	trans []*tranRow
	apps  []*appRow
	pairs []*pairRow
	mets  []*metricRow

	tran map[string]*tranRow
	app  map[string]*appRow
	pair map[string]*pairRow
	met  map[string]*metricRow

	own     [past.Kinds]int               // rows that count against a limit
	shares  [past.Kinds]map[string]*share // of users
	unsaved []past.Choice
	grown   bool // since the last look

	averaging []*tranRow // whose averages must be brought up to date
	active    []*tranRow // with something running, as of this look
	were      []*tranRow // with something running, as of the look before
}

// share is what names of a user take of a limit.
type share struct {
	own  int             // rows
	over map[string]bool // names that were over the limit
	ever bool            // more names were over it than are remembered
}

// maxOver is how many names of a user that are over a limit are remembered. If there are more,
// all new names of the user are over it.
const maxOver = 16384

type appRow struct {
	App
	i     int
	dirty bool
	key   string // its name without the user; empty for the row of what is over
	own   int    // transactions that count against the limit of the application

	// As counted by the present look.
	users, processes int
	used             bool
	lastUser         *account
}

type tranRow struct {
	Tran
	Numbers
	i       int
	renamed bool // Tran is not yet published as it is
	dirty   bool // nor are Numbers
	over    bool // it takes what is over a limit

	described string // its metrics, "" while it has none

	average average
	win     window
	mets    []*metricRow
	running int
	oldest  int64

	averaging bool // in rows.averaging
	ranged    bool // there is a shortest and a longest
}

type pairRow struct {
	Pair
	i     int
	dirty bool
}

type metricRow struct {
	Metric
	i      int
	dirty  bool
	total  float64 // of all values of a gauge
	ranged bool    // there is a least and a greatest
}

func (r *rows) init(apart bool) {
	r.apart = apart
	r.tran, r.app = make(map[string]*tranRow), make(map[string]*appRow)
	r.pair, r.met = make(map[string]*pairRow), make(map[string]*metricRow)
	for k := range r.shares {
		r.shares[k] = make(map[string]*share)
	}
}

func (r *rows) share(k past.Kind, user string) *share {
	s := r.shares[k][user]
	if s == nil {
		s = &share{over: make(map[string]bool)}
		r.shares[k][user] = s
	}
	return s
}

// full decides whether a new name has no row of its own, and records the choice. That is so if
// there are limit rows already, or if the user who gives the name has taken the user's share of
// the limit, or if limited says so.
func (r *rows) full(k past.Kind, conf *Config, user, name string, limit int, limited bool) bool {
	s := r.share(k, user)
	limited = limited || r.own[k] >= limit || s.own >= conf.share(limit)
	switch {
	case s.over[name] || r.share(k, "").over[name]:
		return true
	case !limited && !s.ever:
		r.own[k]++
		s.own++
		r.unsaved = append(r.unsaved, past.Choice{Kind: k, Name: name, User: user})
		return false
	case len(s.over) < maxOver:
		s.over[name] = true
		r.unsaved = append(r.unsaved, past.Choice{Kind: k, Name: name, User: user, Over: true})
	case !s.ever:
		s.ever = true
		r.unsaved = append(r.unsaved, past.Choice{Kind: k, User: user, Over: true})
	}
	return true
}

// overLimit returns how many names are over a limit and remembered.
func (r *rows) overLimit() (n uint64) {
	for _, users := range r.shares {
		for _, s := range users {
			n += uint64(len(s.over))
		}
	}
	return n
}

// restore makes a choice again that is in the record.
func (r *rows) restore(c past.Choice) {
	switch {
	case c.Kind < 0 || c.Kind >= past.Kinds:
	case c.Name == "":
		r.share(c.Kind, c.User).ever = true
	case c.Over:
		r.share(c.Kind, c.User).over[c.Name] = true
	case c.Kind == past.AppName:
		r.take(c)
		a := r.addApp(c.Name)
		a.key = c.Name
		if user, key, ok := strings.Cut(c.Name, ":"); ok && r.apart {
			a.User, a.key = user, key
		}
	case c.Kind == past.TranName:
		app, key, ok := strings.Cut(c.Name, "/")
		if a := r.app[app]; ok && a != nil {
			r.take(c)
			a.own++
			r.addTran(a, key)
		}
	case c.Kind == past.PairName:
		parent, child := r.split(c.Name)
		r.take(c)
		r.addPair(c.Name, parent, child)
	}
}

// take counts a row that is in the record.
func (r *rows) take(c past.Choice) {
	r.own[c.Kind]++
	r.share(c.Kind, c.User).own++
}

// split returns the places of the parent and the child that a pair's name tells, -1 for one
// without a row. Both names may have a > in them, which also stands between the two.
func (r *rows) split(name string) (parent, child int) {
	for i, b := range []byte(name) {
		if b == '>' {
			if child = r.place(name[i+1:]); child >= 0 {
				return r.place(name[:i]), child
			}
		}
	}
	return -1, -1
}

// place returns where a transaction's row is, or -1.
func (r *rows) place(name string) int {
	if t := r.tran[name]; t != nil {
		return t.i
	}
	return -1
}

// appOf returns the row of a user's application.
func (r *rows) appOf(conf *Config, user, key, descr string) *appRow {
	name := key
	if r.apart {
		name = user + ":" + key
	}
	a := r.app[name]
	if a == nil && name != other && r.full(past.AppName, conf, user, name, conf.MaxApplications, false) {
		return r.otherApp()
	}
	if a == nil {
		a = r.addApp(name)
	}
	if a.key == "" && name != other {
		a.key = key
	}
	if a.Descr == "" && descr != "" {
		a.Descr, a.dirty = descr, true
	}
	if r.apart && a.User == "" {
		a.User, a.dirty = user, true
	}
	return a
}

func (r *rows) otherApp() *appRow {
	if a := r.app[other]; a != nil {
		return a
	}
	return r.addApp(other)
}

func (r *rows) addApp(name string) *appRow {
	if a := r.app[name]; a != nil {
		return a
	}
	a := &appRow{App: App{Name: name}, i: len(r.apps), dirty: true}
	r.app[name] = a
	r.apps = append(r.apps, a)
	r.grown = true
	return a
}

// tranOf returns the row of a transaction of an application. user is who names it.
func (r *rows) tranOf(conf *Config, a *appRow, user, key, descr string) *tranRow {
	if a.Name == other {
		return r.otherTran(a)
	}
	name := a.Name + "/" + key
	t := r.tran[name]
	if t == nil && key != other {
		if r.full(past.TranName, conf, user, name, conf.MaxTransactions, a.own >= conf.MaxPerApplication) {
			return r.otherTran(a)
		}
		a.own++
	}
	if t == nil {
		t = r.addTran(a, key)
	}
	if t.Descr == "" && descr != "" && !t.over {
		t.Descr, t.renamed = descr, true
	}
	return t
}

// describedTran returns the row of a transaction with a description of metrics. The first
// description of a name has the name's row, as has a transaction without metrics. Each other
// description has a row of its own, so that no value is taken for another metric's.
func (r *rows) describedTran(conf *Config, a *appRow, user, key, descr, description string) *tranRow {
	if first := r.tran[a.Name+"/"+key]; first != nil && description != "" && first.described != "" && first.described != description {
		key += "~" + description
	}
	row := r.tranOf(conf, a, user, key, descr)
	if row.described == "" && !row.over {
		row.described = description
	}
	return row
}

// otherTran returns the row that takes what is over a limit in an application.
func (r *rows) otherTran(a *appRow) *tranRow {
	t := r.addTran(a, other)
	t.over = true
	return t
}

func (r *rows) addTran(a *appRow, key string) *tranRow {
	name := a.Name + "/" + key
	if t := r.tran[name]; t != nil {
		return t
	}
	t := &tranRow{Tran: Tran{Name: name, App: a.i, Key: key, User: a.User}, i: len(r.trans), renamed: true, dirty: true}
	r.tran[name] = t
	r.trans = append(r.trans, t)
	a.Trans++
	a.dirty, r.grown = true, true
	return t
}

// pairOf returns the row of a pair. If the parent is elsewhere, parent is nil and label is its
// name.
func (r *rows) pairOf(conf *Config, user string, parent *tranRow, label string, child *tranRow) *pairRow {
	place := -1
	if parent != nil {
		label, place = parent.Name, parent.i
	}
	name := label + ">" + child.Name
	if p := r.pair[name]; p != nil {
		return p
	}
	if r.full(past.PairName, conf, user, name, conf.MaxPairs, false) {
		return r.addPair(other+">"+other, -1, -1)
	}
	return r.addPair(name, place, child.i)
}

func (r *rows) addPair(name string, parent, child int) *pairRow {
	if p := r.pair[name]; p != nil {
		return p
	}
	p := &pairRow{Pair: Pair{Name: name, Parent: parent, Child: child}, i: len(r.pairs), dirty: true}
	r.pair[name] = p
	r.pairs = append(r.pairs, p)
	r.grown = true
	return p
}

// begin prepares the rows for a look.
func (r *rows) begin() {
	r.were, r.active = r.active, r.were[:0]
	for _, t := range r.were {
		t.running = 0
	}
	for _, a := range r.apps {
		a.users, a.processes, a.used, a.lastUser = 0, 0, false, nil
	}
}

// averages brings the averages of the rows up to date that were added to.
func (r *rows) averages(weight float64) {
	for _, t := range r.averaging {
		t.updateAverage(weight)
		t.averaging = false
	}
	clear(r.averaging)
	r.averaging = r.averaging[:0]
}

// end takes over what this look has counted from nothing: what is running, and who uses an
// application.
func (r *rows) end() {
	for _, list := range [][]*tranRow{r.were, r.active} {
		for _, t := range list {
			if t.running == 0 {
				t.oldest = 0
			}
			if t.Active != t.running || t.Oldest != t.oldest {
				t.Active, t.Oldest, t.dirty = t.running, t.oldest, true
			}
		}
	}
	for _, a := range r.apps {
		// A killed process stays in the count of uses that a.used comes from, because the
		// agent changes no file of a program. So an application is active only if a living
		// process uses it too.
		active := a.used && a.processes > 0
		if a.Users != a.users || a.Processes != a.processes || a.Active != active {
			a.Users, a.Processes, a.Active, a.dirty = a.users, a.processes, active, true
		}
	}
}
