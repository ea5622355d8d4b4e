package pmda

import (
	"errors"
	"fmt"
	"io"
	"log"
	"os"
	"os/signal"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// Main runs an agent as the program pmdaNAME: it reads the options, opens the log,
// becomes the user to run as, and serves pmcd until pmcd ends the connection or a
// signal ends the program. It returns the exit status.
//
// The options are those that PCP's own agents have, as PMDA(3) describes them:
//
//	-d, --domain NUM   domain number
//	-D, --debug LIST   what to trace in the log: words of pmdbg(1), separated by commas.
//	                   pdu writes each PDU in hexadecimal, libpmda a line for each
//	                   request; appl0 to appl9 are for the agent itself, in
//	                   Options.Debug; a word that is unknown is logged
//	-l, --log FILE     log file instead of NAME.log in the current folder; - is
//	                   standard error
//	-U, --username U   user to run as when started by root; default is PCP's
//	-p, --pipe         serve pmcd on standard input and output (the default)
//	-u, --unix PATH    serve pmcd on a socket of the file system
//	-i, --inet PORT    serve pmcd on a port of 127.0.0.1
//	-6, --ipv6 PORT    serve pmcd on a port of ::1
//	    --state DIR    where instance ids are kept
//	    --write DIR    write the files that belong beside the program for
//	                   installation, and exit
//	    --try ARGS     run without PCP and print what would be exported, as a table
//	                   or with --json as lines of JSON, --every so many seconds,
//	                   --count times
//	-V, --version      show the version and exit
//	-?, --help         show a summary of the options and exit
func Main(a *Agent) int {
	var c command
	if err := c.parse(a, os.Args[1:]); err != nil {
		fmt.Fprintf(os.Stderr, "pmda%s: %v\n", a.Name, err)
		if c.flags != nil {
			fmt.Fprint(os.Stderr, c.usage(a))
		}
		return 2
	}
	switch {
	case c.help:
		fmt.Print(c.usage(a))
		return 0
	case c.version:
		fmt.Printf("pmda%s version %s\n", a.Name, a.version())
		return 0
	case c.write != "":
		if err := writeAll(a, c.write); err != nil {
			fmt.Fprintf(os.Stderr, "pmda%s: --write: %v\n", a.Name, err)
			return 1
		}
		return 0
	case c.byHand():
		fmt.Fprintf(os.Stderr, byHand, a.Name, a.version(), a.Name, a.Name, a.Name)
		return 1
	}
	if err := c.run(a); err != nil {
		c.Log.Print(err)
		if c.stderr != nil {
			fmt.Fprintf(c.stderr, "pmda%s: %v\n", a.Name, err)
		}
		return 1
	}
	return 0
}

// writeAll is what --write does.
func writeAll(a *Agent, dir string) error {
	if err := WriteFiles(a, dir); err != nil {
		return err
	}
	return WriteDrafts(a, dir)
}

// byHand is what an agent prints that is started from a shell.
const byHand = `pmda%s %s is an agent of Performance Co-Pilot. It speaks with pmcd, which starts it,
over standard input and output, and those are a terminal here.
  pmda%s --write DIR   writes the files for its installation; then run DIR/Install
  pmda%s --try         runs it without PCP and prints what it exports
  pmda%s --help        lists all options
`

// byHand reports whether the agent would speak with a terminal.
func (c *command) byHand() bool {
	onSocket := c.unix != "" || c.inet != 0 || c.inet6 != 0
	return !onSocket && !c.try.on && (isTerminal(os.Stdin) || isTerminal(os.Stdout))
}

func (c *command) run(a *Agent) error {
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
	if !c.try.on {
		s.log.Print(c.describe(a, listener))
	}
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
		return c.try.run(s, os.Stdout, c.args)
	}
	if c.stderr != nil {
		c.stderr.Close()
		c.stderr = nil
	}
	if listener != nil {
		return s.Listen(listener)
	}
	return s.Serve(pmcd)
}

// describe is the log's first line.
func (c *command) describe(a *Agent, l *Listener) string {
	where := "standard input and output"
	if l != nil {
		where = l.Addr().String()
	}
	return fmt.Sprintf("pmda%s %s starts: domain %d, process %d, user %d, pmcd on %s", a.Name, a.version(), c.Domain,
		os.Getpid(), os.Geteuid(), where)
}

// prepare does what has to be done before privileges are given up.
func (c *command) prepare(a *Agent) (*Listener, error) {
	u, err := findUser(c.user)
	if err != nil && c.try.on {
		u, err = account{}, nil // a machine without PCP may not have PCP's user
	}
	if err != nil {
		return nil, err
	}
	c.UID, c.GID = u.uid, u.gid
	if c.logFile != "-" {
		if err := c.openLog(u); err != nil {
			return nil, err
		}
	}
	c.StateDir = c.stateDir
	var unknown []string
	c.Debug, unknown = parseDebug(c.debug)
	for _, word := range unknown {
		c.Log.Printf("-D: the word %q is unknown; pmdbg -l lists the words that can be traced", word)
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
	if err := u.become(c.Options.keepCaps, func(err error) { c.Log.Print(err) }); err != nil {
		return nil, err
	}
	return l, nil
}

// openLog sends the log to a file; what a crash prints goes there too. The folder belongs
// to the user that the agent will run as. By a link in it, that user must not be able to
// make root empty a file of another user or give it away.
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
			return fmt.Errorf("the log file %s has more than one name; remove the others, or name another file with --log", c.logFile)
		}
		if err := f.Truncate(0); err != nil {
			return err
		}
		_ = f.Chown(u.uid, u.gid) // only root can do it, and only root has to
	}
	c.Log.SetOutput(f)
	if fd, err := unix.FcntlInt(2, unix.F_DUPFD_CLOEXEC, 3); err == nil {
		c.stderr = os.NewFile(uintptr(fd), "stderr")
	}
	return syscall.Dup3(int(f.Fd()), 2, 0)
}

// watchSignals has SIGHUP reload the agent and the ending signals stop it. A write into a
// pipe whose reader is gone returns an error and does not end the program.
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
