// Package agent is the table of the agent dds: which suppliers there are, what of
// theirs is exported under which name and number, and the agent's own state. Segments
// are those of the packages below internal/ddsseg.
//
// Everything here belongs to the serving goroutine. Suppliers are looked at when a
// request comes in, and once a second.
package agent

import (
	"context"
	"os"
	"os/user"
	"path/filepath"
	"strconv"
	"sync"
	"time"

	"github.com/spf13/pflag"

	"github.com/pcp-rtime/rtime/internal/health"
	"github.com/pcp-rtime/rtime/pmda"
	"github.com/pcp-rtime/rtime/pmdas/dds/internal/conf"
	"github.com/pcp-rtime/rtime/pmdas/dds/internal/segdir"
)

// Name and Domain are the agent's in pmcd.conf, Root is where its dynamic names are.
const (
	Name   = "dds"
	Domain = 472
	Root   = "dds"
)

// Agent is the agent dds.
type Agent struct {
	configFile string
	dirPath    string
	conf       conf.Config
	stateDir   string
	trying     bool // only looks: tells suppliers nothing, removes nothing
	mute       bool // no MMV file
	now        func() time.Time
	every      time.Duration // between two looks at everything
	atOnce     int           // see welcomeAtOnce
	warnings   []error       // until there is a server with a log

	server    *pmda.Server
	dir       *segdir.Dir
	dirError  string // last one logged
	list      lister
	labelAt   time.Time            // when clients were last told of new labels
	suppliers map[string]*supplier // by file name
	order     []*supplier          // the same, for taking turns
	turn      int
	fresh     []*supplier // opened, and not yet taken in
	users     map[uint32]*account
	mendError string
	refused   map[string]refusal // by file name
	strays    []string           // files to look at, see clean
	claims    []string           // the same, in the folder of claims
	claimsOn  bool               // which has not been read to its end
	claimsAt  time.Time
	rows      *pmda.InDom[*row]
	tree      tree
	keeper    keeper
	demand    demand
	counts    counts
	quiet     quiet

	health *health.File // the ticker's alone
	shared sharedCounts
	stop   context.CancelFunc
	tasks  sync.WaitGroup
}

// New declares the agent.
func New() *pmda.Agent { return newAgent().declare() }

func newAgent() *Agent {
	a := &Agent{conf: conf.Defaults(), dirPath: segdir.Default(), now: time.Now, every: time.Second, atOnce: welcomeAtOnce,
		suppliers: make(map[string]*supplier), users: make(map[uint32]*account),
		refused: make(map[string]refusal)}
	a.rows = &pmda.InDom[*row]{
		Serial: 0, Name: "suppliers", Keep: true,
		OneLine: "dynamic data suppliers",
		Help: "An instance for each program that supplies statistics, by the name that it gave\n" +
			"and its user, as NAME@USER; further ones of the same name and user have a number\n" +
			"after it. A supplier that is gone stays, with its state, until the time is over\n" +
			"that the configuration calls keep, or another takes its place.",
		InstanceLabels: (*row).labels,
	}
	a.list.queue = make(map[uint32][]candidate)
	a.tree.init(a)
	a.demand.init()
	return a
}

func (a *Agent) declare() *pmda.Agent {
	return &pmda.Agent{
		Name: Name, Domain: Domain, Metrics: a.metrics(), Roots: []string{Root},
		Flags: a.flags, Setup: a.setup, Start: a.start, Refresh: a.refresh, Gone: a.demand.gone,
		Reload: a.reload, Stop: a.close, Try: a.try, TryColumns: tryColumns,
	}
}

func (a *Agent) flags(f *pflag.FlagSet) {
	dir := os.Getenv("PCP_SYSCONF_DIR")
	if dir == "" {
		dir = "/etc/pcp"
	}
	f.StringVar(&a.configFile, "config", filepath.Join(dir, Name, Name+".conf"), "configuration file")
	f.StringVar(&a.dirPath, "dir", a.dirPath, "directory of the suppliers' segments")
}

func (a *Agent) start(s *pmda.Server) error {
	a.server = s
	for _, w := range a.warnings {
		s.Logf("%v", w)
	}
	if err := a.tree.open(); err != nil {
		return err
	}
	a.keeper.open(a)
	a.look()
	ctx, stop := context.WithCancel(context.Background())
	a.stop = stop
	a.tasks.Add(1)
	go func() {
		defer a.tasks.Done()
		a.tick(ctx)
	}()
	s.Logf("%d suppliers in %s", len(a.suppliers), a.dirPath)
	return nil
}

// close leaves all suppliers as they are, but for what they are told about demand.
func (a *Agent) close() {
	a.stop()
	a.tasks.Wait()
	for _, s := range a.suppliers {
		a.tell(s, 0, 0)
		s.r.Close()
	}
	if a.dir != nil {
		a.dir.Close()
	}
	a.keeper.close(a)
	a.tree.close()
}

// refresh brings everything up to date before a request is answered.
func (a *Agent) refresh(r *pmda.Request) {
	a.demand.settle()
	a.look()
	if r.Fetch {
		a.tree.want(r.PMIDs)
		a.demand.begin(r, a.now())
	}
	a.tree.fetch++
}

// reload reads the configuration again. A bad file changes nothing. Lower limits hold
// for what comes from now on.
func (a *Agent) reload() error {
	if err := a.load(); err != nil {
		return err
	}
	a.list.again = true // those that were refused get another chance
	a.server.Logf("configuration read: timeout %v, keep %v", a.conf.Timeout, a.conf.Keep)
	return nil
}

// tick looks at everything once in a while, whether or not somebody asks.
func (a *Agent) tick(ctx context.Context) {
	if !a.mute {
		var err error
		if a.health, err = health.Open(Name, a.healthItems()); err != nil {
			a.server.Logf("no MMV file: %v", err)
		} else {
			defer a.health.Close()
		}
	}
	ticker := time.NewTicker(a.every)
	defer ticker.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-ticker.C:
		}
		a.server.Do(a.second)
		if a.health != nil {
			if err := a.health.Update(); err != nil {
				a.server.Logf("MMV file: %v", err)
				a.health.Close()
				a.health = nil
			}
		}
	}
}

// second is done once a second, between two requests.
func (a *Agent) second() {
	if a.dir == nil {
		a.mend()
	}
	a.look()
	a.clean()
	now := a.now()
	a.demand.settle()
	for _, s := range a.order {
		a.check(s, now)
	}
	a.sweep()
	a.demand.publish(a, now)
	a.tree.expire(now)
	a.keeper.revive(a)
	a.keeper.save(a)
	a.expireRows(now)
	if a.tree.relabel && now.Sub(a.labelAt) >= labelEvery {
		a.tree.relabel, a.labelAt = false, now
		a.server.LabelsChanged()
	}
	a.publishCounts()
}

// labelEvery bounds how often clients are told to read all labels again, which is dear
// where contexts come and go all the time.
const labelEvery = 10 * time.Second

// quiet limits what strangers can have the agent log.
type quiet struct {
	second int64
	lines  int
}

// complain writes a line that a supplier has caused; 20 in a second at most.
func (a *Agent) complain(format string, args ...any) {
	if now := a.now().Unix(); now != a.quiet.second {
		if left := a.quiet.lines - maxLines; left > 0 {
			a.server.Logf("%d lines of this kind were left out", left)
		}
		a.quiet = quiet{second: now}
	}
	if a.quiet.lines++; a.quiet.lines <= maxLines {
		a.server.Logf(format, args...)
	}
}

const maxLines = 20

// userName returns the name of a user, or the number where there is none.
func userName(uid uint32) string {
	n := strconv.FormatUint(uint64(uid), 10)
	if u, err := user.LookupId(n); err == nil {
		return u.Username
	}
	return n
}
