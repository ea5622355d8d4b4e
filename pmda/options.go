package pmda

import (
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"runtime/debug"

	"github.com/spf13/pflag"
)

// command is what the command line says.
type command struct {
	Options
	logFile  string
	user     string
	unix     string
	inet     int
	inet6    int
	pipe     bool
	write    string
	try      try
	debug    []string
	stateDir string
	help     bool
	version  bool
	args     []string // what follows the options

	flags  *pflag.FlagSet
	stderr *os.File // as it was before the log took its place, until the agent has started
}

// parse reads the command line.
func (c *command) parse(a *Agent, args []string) error {
	f := c.declare(a)
	if err := f.Parse(args); errors.Is(err, pflag.ErrHelp) { // -h
		c.help = true
	} else if err != nil {
		return err
	}
	c.args, c.Given = f.Args(), make(map[string]bool)
	f.Visit(func(o *pflag.Flag) { c.Given[o.Name] = true })
	if c.help || c.version {
		return nil
	}
	if len(c.args) > 0 && !c.try.on {
		return fmt.Errorf("unexpected argument %q; --help lists the options", c.args[0])
	}
	return c.check()
}

func (c *command) declare(a *Agent) *pflag.FlagSet {
	f := pflag.NewFlagSet("pmda"+a.Name, pflag.ContinueOnError)
	f.SetOutput(io.Discard)
	f.Usage = func() {}
	f.IntVarP(&c.Domain, "domain", "d", a.Domain, "domain number `NUM` of the agent")
	f.StringArrayVarP(&c.debug, "debug", "D", nil, "what to trace in the log, `NAME,...`; see pmdbg(1)")
	f.StringVarP(&c.logFile, "log", "l", a.Name+".log", "log `FILE`; - is standard error")
	f.StringVarP(&c.user, "username", "U", "", "`USER` to run as when started by root (default $PCP_USER, else pcp)")
	f.BoolVarP(&c.pipe, "pipe", "p", false, "serve pmcd on standard input and output (the default)")
	f.StringVarP(&c.unix, "unix", "u", "", "serve pmcd on a unix socket at `PATH`")
	f.IntVarP(&c.inet, "inet", "i", 0, "serve pmcd on `PORT` of 127.0.0.1")
	f.IntVarP(&c.inet6, "ipv6", "6", 0, "serve pmcd on `PORT` of ::1")
	f.StringVar(&c.stateDir, "state", defaultStateDir(), "`DIR` where instance ids are kept")
	f.StringVar(&c.write, "write", "", "write the files for installation into `DIR`, and exit")
	f.BoolVar(&c.try.on, "try", false, "run without PCP and print what would be exported")
	f.BoolVar(&c.try.json, "json", false, "with --try: print JSON, a line each round")
	f.Float64Var(&c.try.interval, "every", 1, "with --try: `SECONDS` between two rounds")
	f.IntVar(&c.try.count, "count", 0, "with --try: `N` rounds; 0 means without end")
	if a.Flags != nil {
		own := flag.NewFlagSet("pmda"+a.Name, flag.ContinueOnError)
		a.Flags(own)
		f.AddGoFlagSet(own)
	}
	f.BoolVarP(&c.version, "version", "V", false, "show the version and exit")
	f.BoolVarP(&c.help, "help", "?", false, "show this usage message and exit")
	f.SortFlags = false
	c.flags = f
	return f
}

// check refuses options that contradict each other or mean nothing.
func (c *command) check() error {
	if c.Domain == 0 {
		return errors.New("domain 0 is not within 1..510")
	}
	ways := 0
	for _, way := range []string{"pipe", "unix", "inet", "ipv6"} {
		if c.Given[way] {
			ways++
		}
	}
	if ways > 1 {
		return errors.New("only one of --pipe, --unix, --inet and --ipv6 can be given")
	}
	return nil
}

// usage is what -? shows, in the manner of PCP's agents.
func (c *command) usage(a *Agent) string {
	return fmt.Sprintf("Usage: pmda%s [options]\n\nOptions:\n%s", a.Name, c.flags.FlagUsages())
}

// version is the agent's version or, if it has none, the program's.
func (a *Agent) version() string {
	if a.Version != "" {
		return a.Version
	}
	if b, ok := debug.ReadBuildInfo(); ok && b.Main.Version != "" {
		return b.Main.Version
	}
	return "unknown"
}

// defaultStateDir is where libpcp's agents keep their instance ids, too.
func defaultStateDir() string {
	dir := os.Getenv("PCP_VAR_DIR")
	if dir == "" {
		dir = "/var/lib/pcp"
	}
	return filepath.Join(dir, "config", "pmda")
}
