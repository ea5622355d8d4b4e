// Package kit is what the agents of this project do alike, so that an agent consists of
// what it measures. The library for agents, package pmda, speaks PCP's protocol and is for
// everybody; this package has the habits of our own agents on top of it: a configuration
// file that is read again on SIGHUP, a directory into which programs put files, one round
// of work a second, numbers of the agent's own state as metrics and in an MMV file,
// settings that can be stored, and who may store them. It was made for rtlan, rtarm and
// dds; only what two of them use is in it.
//
// A further agent embeds a Base and says what it has:
//
//	type Agent struct {
//		kit.Base
//		conf  config
//		disks *pmda.InDom[*disk]
//	}
//
//	func New() *pmda.Agent {
//		a := &Agent{conf: defaults}
//		a.Base = kit.Base{Name: "rtdisk", Load: a.load, Second: a.look, Numbers: a.numbers()}
//		own := kit.NumberMetrics("rtime.disk.agent.", 1, a.Numbers)
//		return &pmda.Agent{Name: "rtdisk", Domain: 473, Metrics: append(a.metrics(), own...),
//			Flags: a.Flags, Setup: a.Setup, Start: a.Start, Reload: a.Reload, Stop: a.Stop}
//	}
//
//	// load reads the configuration with package keyword.
//	func (a *Agent) load(path string) (err error) {
//		a.conf, err = read(path, a.conf)
//		return err
//	}
//
//	func main() { os.Exit(kit.Main(New())) }
//
// An agent that has to open something while it is still root has a Setup of its own, which
// calls Base.Setup. The same holds for Start, Reload and Stop.
//
// The packages below know nothing of PCP: keyword reads configurations, segdir makes and
// watches directories.
package kit

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io/fs"
	"log"
	"os"
	"path/filepath"
	"runtime"
	"sync"
	"time"

	"github.com/pcp-rtime/rtime/pmda"
	"github.com/pcp-rtime/rtime/pmdas/internal/kit/keyword"
	"github.com/pcp-rtime/rtime/pmdas/internal/kit/segdir"
)

// Base is what every agent has. The fields of the first group are set before Flags and
// Setup are called, and not changed later. All methods belong to the serving goroutine (see
// package pmda) unless they say otherwise.
type Base struct {
	Name string // in pmcd.conf

	// Load reads a configuration file and takes its settings over, or returns an error
	// and changes nothing.
	Load func(path string) error

	// Second is called once a second, or every Every, between two requests; nil is for
	// agents with nothing to do then.
	Second func()
	Every  time.Duration
	Now    func() time.Time // nil is time.Now

	// Numbers are the agent's own state: see Number.
	Numbers []Number

	// Dir is the directory that the option --dir names, and DirUse says in the option's
	// description whose files it holds; an empty DirUse is for agents without one.
	Dir    segdir.Dir
	DirUse string

	ConfigFile string // "" is for none; Flags sets it
	Mute       bool   // no MMV file is written

	Trying bool         // the agent runs without PCP, by the option --try
	Log    *log.Logger  // from Setup on
	Server *pmda.Server // from Start on

	// Relabel says that labels of instances have changed. Clients are told of it within
	// ten seconds, and not more often, since they then read all labels again.
	Relabel bool

	given     bool // whether --config was given
	uid, gid  int
	labelled  time.Time // when clients were told last
	published []uint64  // Numbers, as of the latest second
	ctx       context.Context
	stop      context.CancelFunc
	tasks     sync.WaitGroup
}

// Main runs an agent as a program, as pmda.Main does, but on one thread. One is enough, and
// it is cheaper: the runtime would wake a second thread whenever the first wakes up.
// GOMAXPROCS in the environment overrides this.
func Main(a *pmda.Agent) int {
	if os.Getenv("GOMAXPROCS") == "" {
		runtime.GOMAXPROCS(1)
	}
	return pmda.Main(a)
}

// Flags declares the options --config and --dir.
func (b *Base) Flags(f *flag.FlagSet) {
	dir := os.Getenv("PCP_SYSCONF_DIR")
	if dir == "" {
		dir = "/etc/pcp"
	}
	f.StringVar(&b.ConfigFile, "config", filepath.Join(dir, b.Name, b.Name+".conf"), "configuration `FILE`")
	if b.DirUse != "" {
		f.StringVar(&b.Dir.Path, "dir", b.Dir.Path, "`DIR` of "+b.DirUse)
	}
}

// Setup takes the options over and reads the configuration. If the file has mistakes, the
// log says so and the defaults hold. The defaults also hold if the default file cannot be
// read. It is an error if the file that --config names cannot be read.
func (b *Base) Setup(o *pmda.Options) error {
	b.Trying, b.Mute = b.Trying || o.Try, b.Mute || o.Try
	b.uid, b.gid, b.given = o.UID, o.GID, o.Given["config"]
	if b.Log = o.Log; b.Log == nil {
		b.Log = log.Default()
	}
	err := b.Reload()
	var mistake *keyword.Error
	if err != nil && b.given && !errors.As(err, &mistake) {
		return fmt.Errorf("--config: %w", err)
	}
	if err != nil {
		b.Log.Print(err)
	}
	return nil
}

// Reload reads the configuration again. A missing file is an error only if --config names
// it. After an error nothing has changed.
func (b *Base) Reload() error {
	if b.ConfigFile == "" {
		return nil
	}
	err := b.Load(b.ConfigFile)
	if errors.Is(err, fs.ErrNotExist) && !b.given {
		return nil
	}
	return err
}

// MakeDir makes the directory for the user that the agent will run as. It is for Setup,
// because it takes root. If the standard directory cannot be made, the log says so, because
// an agent may do without it and watch for it. If another directory cannot be made, that is
// an error.
func (b *Base) MakeDir() error {
	uid, gid := b.uid, b.gid
	if os.Geteuid() != 0 {
		uid, gid = os.Geteuid(), os.Getegid()
	}
	err := b.Dir.Make(uid, gid)
	if err != nil && filepath.Dir(b.Dir.Path) == segdir.Parent {
		b.Log.Print(err)
		return nil
	}
	return err
}

// Start begins the rounds of a second. It cannot fail; the error is for pmda.Agent.Start.
func (b *Base) Start(s *pmda.Server) error {
	b.Server = s
	if b.Log == nil {
		b.Log = log.Default()
	}
	b.ctx, b.stop = context.WithCancel(context.Background())
	b.publish()
	b.Go(b.tick)
	return nil
}

// Go runs a function in a goroutine of its own, from Start until Stop, at which the context
// ends.
func (b *Base) Go(run func(context.Context)) {
	b.tasks.Add(1)
	go func() {
		defer b.tasks.Done()
		run(b.ctx)
	}()
}

// Stop ends what Start and Go began, and waits for it.
func (b *Base) Stop() {
	b.stop()
	b.tasks.Wait()
}
