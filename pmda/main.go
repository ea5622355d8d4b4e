package pmda

import (
	"errors"
	"fmt"
	"io"
	"log"
	"os"
	"os/signal"
	"path/filepath"
	"strings"
	"syscall"
	"time"

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
	debug    string
	stateDir string
}

// Main runs an agent as the program pmdaNAME: it reads the options, opens the log,
// becomes the user to run as, and serves pmcd until pmcd ends the connection or a
// signal ends the program. It returns the exit status.
//
// The options are those that PCP's own agents have, as PMDA(3) describes them:
//
//	-d, --domain N     domain number
//	-D, --debug LIST   what to trace in the log: pdu
//	-l, --log FILE     log file instead of NAME.log in the current folder; - is
//	                   standard error
//	-U, --username U   user to run as when started by root; default is PCP's
//	-p, --pipe         serve pmcd on standard input and output (the default)
//	-u, --unix PATH    serve pmcd on a socket of the file system
//	-i, --inet PORT    serve pmcd on a port of 127.0.0.1
//	-6, --ipv6 PORT    serve pmcd on a port of ::1
//	    --write DIR    write the files that belong beside the program for
//	                   installation, and exit
//	    --try ARGS     run without PCP and print what would be exported, as a table
//	                   or with --json as lines of JSON, --every so many seconds,
//	                   --count times
func Main(a *Agent) int {
	var c command
	flags := c.flags(a)
	if err := flags.Parse(os.Args[1:]); err != nil {
		if errors.Is(err, pflag.ErrHelp) {
			return 0
		}
		fmt.Fprintf(os.Stderr, "pmda%s: %v\n", a.Name, err)
		return 2
	}
	if flags.NArg() > 0 && !c.try.on {
		fmt.Fprintf(os.Stderr, "pmda%s: unexpected argument %q\n", a.Name, flags.Arg(0))
		return 2
	}
	if err := c.check(flags); err != nil {
		fmt.Fprintf(os.Stderr, "pmda%s: %v\n", a.Name, err)
		return 2
	}
	if c.write != "" {
		if err := WriteFiles(a, c.write); err != nil {
			fmt.Fprintln(os.Stderr, err)
			return 1
		}
		return 0
	}
	if err := c.run(a, flags.Args()); err != nil {
		c.Log.Print(err)
		return 1
	}
	return 0
}

func (c *command) flags(a *Agent) *pflag.FlagSet {
	f := pflag.NewFlagSet("pmda"+a.Name, pflag.ContinueOnError)
	f.IntVarP(&c.Domain, "domain", "d", a.Domain, "domain number")
	f.StringVarP(&c.debug, "debug", "D", "", "what to trace in the log, comma-separated: pdu")
	f.StringVarP(&c.logFile, "log", "l", a.Name+".log", "log file; - is standard error")
	f.StringVarP(&c.user, "username", "U", "", "user to run as when started by root (default $PCP_USER, else pcp)")
	f.BoolVarP(&c.pipe, "pipe", "p", false, "serve pmcd on standard input and output (the default)")
	f.StringVarP(&c.unix, "unix", "u", "", "serve pmcd on a unix socket")
	f.IntVarP(&c.inet, "inet", "i", 0, "serve pmcd on a port of 127.0.0.1")
	f.IntVarP(&c.inet6, "ipv6", "6", 0, "serve pmcd on a port of ::1")
	f.StringVar(&c.stateDir, "state", defaultStateDir(), "folder where instance ids are kept")
	f.StringVar(&c.write, "write", "", "write the files for installation into a folder, and exit")
	f.BoolVar(&c.try.on, "try", false, "run without PCP and print what would be exported")
	f.BoolVar(&c.try.json, "json", false, "with --try: print JSON, a line each round")
	f.Float64Var(&c.try.interval, "every", 1, "with --try: seconds between two rounds")
	f.IntVar(&c.try.count, "count", 0, "with --try: how many rounds; 0 is without end")
	if a.Flags != nil {
		a.Flags(f)
	}
	return f
}

// check refuses options that contradict each other or mean nothing.
func (c *command) check(flags *pflag.FlagSet) error {
	if c.Domain == 0 {
		return errors.New("domain 0 is not within 1..510")
	}
	ways := 0
	for _, way := range []string{"pipe", "unix", "inet", "ipv6"} {
		if flags.Changed(way) {
			ways++
		}
	}
	if ways > 1 {
		return errors.New("only one of --pipe, --unix, --inet and --ipv6")
	}
	for _, word := range strings.Split(c.debug, ",") {
		if word != "" && word != "pdu" {
			return fmt.Errorf("there is nothing to trace called %q; there is: pdu", word)
		}
	}
	return nil
}

// defaultStateDir is where libpcp's agents keep their instance ids, too.
func defaultStateDir() string {
	dir := os.Getenv("PCP_VAR_DIR")
	if dir == "" {
		dir = "/var/lib/pcp"
	}
	return filepath.Join(dir, "config", "pmda")
}

func (c *command) run(a *Agent, args []string) error {
	c.Log = log.New(os.Stderr, "", log.LstdFlags|log.Lmicroseconds)
	if c.try.on {
		c.Try, c.logFile, c.stateDir = true, "-", ""
	}
	listener, err := c.prepare(a)
	if err != nil {
		return err
	}
	s, err := New(a, c.Options)
	if err != nil {
		return err
	}
	defer s.Close()
	stop := s.watchSignals()
	defer stop()
	var pmcd io.ReadWriteCloser
	if listener == nil && !c.try.on {
		pmcd = stdio()
		s.greet(pmcd)
	}
	if a.Start != nil {
		if err := a.Start(s); err != nil {
			return err
		}
	}
	if a.Stop != nil {
		defer a.Stop()
	}
	if c.try.on {
		return c.try.run(s, os.Stdout, args)
	}
	if listener != nil {
		return s.Listen(listener)
	}
	return s.Serve(pmcd, true)
}

// prepare does what has to be done before privileges are given up.
func (c *command) prepare(a *Agent) (*Listener, error) {
	u, err := findUser(c.user)
	if err != nil && c.try.on {
		u, err = account{}, nil // a machine without PCP need not have its user
	}
	if err != nil {
		return nil, err
	}
	if c.logFile != "-" {
		if err := c.openLog(u); err != nil {
			return nil, err
		}
	}
	c.StateDir = c.stateDir
	c.Debug = make(map[string]bool)
	for _, word := range strings.Split(c.debug, ",") {
		c.Debug[word] = true
	}
	var l *Listener
	switch {
	case c.unix != "":
		// pmcd connects, which is not always the user that this agent runs as.
		pmcd, notFound := findUser("")
		if notFound != nil {
			pmcd = u
		}
		l, err = ListenUnix(c.unix, pmcd.uid, pmcd.gid)
	case c.inet != 0:
		l, err = ListenInet("127.0.0.1", c.inet)
	case c.inet6 != 0:
		l, err = ListenInet("::1", c.inet6)
	}
	if err != nil {
		return nil, err
	}
	if a.Setup != nil {
		if err := a.Setup(&c.Options); err != nil {
			return nil, err
		}
	}
	if err := u.become(c.Options.keepCaps); err != nil {
		return nil, err
	}
	return l, nil
}

// openLog sends the log to a file; what a crash prints goes there too. The folder
// belongs to the user that the agent will run as, who must not be able to have root
// empty, or give away, a file of another's through a link.
func (c *command) openLog(u account) error {
	f, err := os.OpenFile(c.logFile, os.O_CREATE|os.O_WRONLY|syscall.O_NOFOLLOW|syscall.O_NONBLOCK, 0o644)
	if err != nil {
		return err
	}
	info, err := f.Stat()
	if err != nil {
		return err
	}
	if info.Mode().IsRegular() {
		if info.Sys().(*syscall.Stat_t).Nlink != 1 {
			return fmt.Errorf("log %s has other names, too", c.logFile)
		}
		if err := f.Truncate(0); err != nil {
			return err
		}
		_ = f.Chown(u.uid, u.gid) // of use only to whom it can be given
	}
	c.Log.SetOutput(f)
	return syscall.Dup3(int(f.Fd()), 2, 0)
}

// watchSignals has SIGHUP reload the agent and the ending signals stop it. A pipe
// whose reader is gone is an error of the write, not the end of the program.
func (s *Server) watchSignals() (stop func()) {
	signal.Ignore(syscall.SIGPIPE)
	c := make(chan os.Signal, 4)
	signal.Notify(c, syscall.SIGHUP, syscall.SIGTERM, syscall.SIGINT, syscall.SIGQUIT)
	go func() {
		for sig := range c {
			if sig != syscall.SIGHUP {
				s.log.Printf("%v: shutting down", sig)
				s.Stop()
				time.AfterFunc(stopTime, func() {
					s.log.Printf("a function of the agent does not return: giving up")
					os.Exit(1)
				})
				continue
			}
			s.Do(func() {
				if s.agent.Reload == nil {
					return
				}
				if err := s.agent.Reload(); err != nil {
					s.log.Printf("reload refused, the old settings stay: %v", err)
				}
			})
		}
	}()
	return func() {
		signal.Stop(c)
		close(c)
	}
}

// stopTime is how long a request under way may hold up the end of the program.
const stopTime = 5 * time.Second

// stdio is pmcd's pipe. The descriptors are taken as non-blocking, so that waiting
// for a request costs no thread.
func stdio() io.ReadWriteCloser {
	_ = syscall.SetNonblock(0, true)
	_ = syscall.SetNonblock(1, true)
	return &pipe{os.NewFile(0, "pmcd"), os.NewFile(1, "pmcd")}
}

type pipe struct{ in, out *os.File }

func (p *pipe) Read(b []byte) (int, error)  { return p.in.Read(b) }
func (p *pipe) Write(b []byte) (int, error) { return p.out.Write(b) }
func (p *pipe) Close() error                { return errors.Join(p.in.Close(), p.out.Close()) }
