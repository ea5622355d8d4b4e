package kit

import (
	"fmt"
	"math"
	"os/user"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/pcp-rtime/rtime/pcp"
	"github.com/pcp-rtime/rtime/pmda"
)

// Setting is a number of a configuration C that can be stored while the agent runs.
type Setting[C any] struct {
	Item          int
	Name          string
	Units         pcp.Units
	Least, Most   float64
	Whole         bool // only whole numbers may be stored
	Get           func(*C) float64
	Set           func(*C, float64)
	OneLine, Help string
}

// Control makes metrics, into which clients may store, of settings of a configuration.
type Control[C any] struct {
	Prefix  string // before the names of the metrics
	Cluster int
	Who     string // says who may store and how long that lasts, for the help text
	May     func(*pmda.Store) error
	Current func() C
	Change  func(C) // takes a changed configuration over
	Logf    func(format string, args ...any)
}

// Metrics makes metrics of settings.
func (c Control[C]) Metrics(settings ...Setting[C]) []pmda.Metric {
	var rows []pmda.Metric
	for _, s := range settings {
		help := fmt.Sprintf("From %v to %v.\n%s", s.Least, s.Most, c.Who)
		if s.Help != "" {
			help = s.Help + "\n" + help
		}
		rows = append(rows, pmda.Metric{Name: c.Prefix + s.Name, Cluster: c.Cluster, Item: s.Item, Sem: pcp.SemDiscrete,
			Units: s.Units, OneLine: s.OneLine, Help: help,
			Get: pmda.Value(func() (float64, error) {
				now := c.Current()
				return s.Get(&now), nil
			}),
			Store: func(st *pmda.Store) error { return c.store(st, s) }})
	}
	return rows
}

func (c Control[C]) store(st *pmda.Store, s Setting[C]) error {
	if err := c.May(st); err != nil {
		return err
	}
	v, err := st.Value.Float64()
	if err != nil {
		return err
	}
	if !(v >= s.Least && v <= s.Most) {
		return fmt.Errorf("%w: %s %v is not within %v..%v", pcp.ErrBadStore, st.Name, v, s.Least, s.Most)
	}
	if s.Whole && v != math.Trunc(v) {
		return fmt.Errorf("%w: %s %v is not a whole number", pcp.ErrBadStore, st.Name, v)
	}
	now := c.Current()
	s.Set(&now, v)
	c.Change(now)
	c.Logf("%s set to %v by uid %d", s.Name, v, st.Client.UID)
	return nil
}

// Seconds returns a time that a client has stored as a number of seconds.
func Seconds(v float64) time.Duration { return time.Duration(math.Round(v * float64(time.Second))) }

// Administrators returns the numbers of the users who may change an agent as long as nothing
// else is configured: root and, where there is one, the user that PCP runs as.
func Administrators() []int { return slices.Clone(administrators()) }

var administrators = sync.OnceValue(func() []int {
	uids := []int{0}
	if uid, _, err := pmda.PCPUser(); err == nil && uid != 0 {
		uids = append(uids, uid)
	}
	return uids
})

// AdministratorNames returns their names, for messages: "root and pcp".
func AdministratorNames() string {
	var names []string
	for _, uid := range administrators() {
		name := strconv.Itoa(uid)
		if u, err := user.LookupId(name); err == nil {
			name = u.Username
		}
		names = append(names, name)
	}
	return strings.Join(names, " and ")
}

// MayStore refuses everybody but administrators, and clients whose user pmcd does not know.
func MayStore(st *pmda.Store) error {
	if st.Client.Known() && slices.Contains(administrators(), st.Client.UID) {
		return nil
	}
	return fmt.Errorf("%w: uid %d may not store into %s", pcp.ErrPermission, st.Client.UID, st.Name)
}
