package agent

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/user"
	"path/filepath"
	"strconv"

	"golang.org/x/sys/unix"

	"github.com/pcp-rtime/rtime/internal/armseg"
	"github.com/pcp-rtime/rtime/internal/segdir"
	"github.com/pcp-rtime/rtime/pmda"
	"github.com/pcp-rtime/rtime/pmdas/arm/internal/collect"
	"github.com/pcp-rtime/rtime/pmdas/arm/internal/conf"
)

// setup reads the configuration and, while the agent is still root, makes the directory
// that programs put their segments into.
func (a *Agent) setup(o *pmda.Options) error {
	a.trying, a.mute = a.trying || o.Try, a.mute || o.Try
	if o.Log != nil {
		a.log = o.Log
	}
	if a.configFile != "" {
		if err := a.load(); err != nil {
			a.warnings = append(a.warnings, err)
		}
	}
	if err := makeDir(a.dirPath); err != nil {
		a.warnings = append(a.warnings, err)
	}
	return nil
}

// load reads the configuration file. Without a file the defaults hold.
func (a *Agent) load() error {
	c, err := conf.Load(a.configFile)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		a.conf = collect.DefaultConfig()
	case err != nil:
		return err
	default:
		a.conf = c
	}
	return nil
}

// makeDir makes the directory of the segments, and the agent's own one in it, for the
// user that PCP runs as or, where the agent is not root, for its own. Every user may add
// files, and nobody list the directory or remove others'.
func makeDir(path string) error {
	uid, gid := os.Geteuid(), os.Getegid()
	past := filepath.Join(path, armseg.PastDir)
	if uid == 0 {
		uid, gid = pcpUser()
	} else if there(path) && there(past) {
		return nil // made for us, or we shall see
	}
	if err := segdir.Make(path, uid, gid, armseg.DirMode); err != nil {
		return err
	}
	return makePast(past, uid, gid)
}

// makePast makes the agent's own directory. Every user could have made one of that name:
// what lies in such a one is not to be believed, whomever it is given to.
func makePast(path string, uid, gid int) error {
	if err := os.Mkdir(path, 0o700); errors.Is(err, fs.ErrExist) {
		var st unix.Stat_t
		if err := unix.Lstat(path, &st); err != nil {
			return fmt.Errorf("%s: %w", path, err)
		}
		if int(st.Uid) != uid && int(st.Uid) != os.Geteuid() {
			return fmt.Errorf("%s belongs to uid %d: remove it", path, st.Uid)
		}
	}
	return segdir.Make(path, uid, gid, 0o755)
}

// pcpUser returns the user that the agent will run as.
func pcpUser() (uid, gid int) {
	name := os.Getenv("PCP_USER")
	if name == "" {
		name = "pcp"
	}
	if u, err := user.Lookup(name); err == nil {
		uid, _ = strconv.Atoi(u.Uid)
		gid, _ = strconv.Atoi(u.Gid)
	}
	return uid, gid
}

func there(path string) bool {
	_, err := os.Stat(path)
	return err == nil
}

// tryColumns is what pmdartarm --try prints of each transaction.
var tryColumns = []pmda.Column{
	{Metric: "rtime.arm.count", Head: "COUNT"},
	{Metric: "rtime.arm.aborted", Head: "ABORTED"},
	{Metric: "rtime.arm.failed", Head: "FAILED"},
	{Metric: "rtime.arm.active", Head: "ACTIVE"},
	{Metric: "rtime.arm.oldest", Head: "OLDEST S"},
	{Metric: "rtime.arm.time.last", Head: "LAST US"},
	{Metric: "rtime.arm.time.average", Head: "AVG"},
	{Metric: "rtime.arm.window.rate", Head: "RATE/S"},
	{Metric: "rtime.arm.window.median", Head: "MEDIAN"},
	{Metric: "rtime.arm.window.p95", Head: "P95"},
	{Metric: "rtime.arm.window.max", Head: "MAX"},
}

// try has nothing to prepare: what would be exported is what programs measure. Without PCP
// this is the agent all the same: it takes over what ended processes had counted, and leaves
// it to the next one.
func (a *Agent) try(_ *pmda.Server, args []string) error {
	if len(args) > 0 {
		return fmt.Errorf("--try: unexpected argument %q", args[0])
	}
	return nil
}
