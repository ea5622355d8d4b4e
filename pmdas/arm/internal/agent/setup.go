package agent

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/user"
	"strconv"

	"github.com/pcp-rtime/rtime/internal/armseg/layout"
	"github.com/pcp-rtime/rtime/pmda"
	"github.com/pcp-rtime/rtime/pmdas/arm/internal/conf"
	"github.com/pcp-rtime/rtime/pmdas/internal/kit/segdir"
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

// load reads the configuration file. What the file does not give stays as it is; without a
// file everything does.
func (a *Agent) load() error {
	c, err := conf.Load(a.configFile, a.conf)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	a.conf = c
	return nil
}

// makeDir makes the directory of the segments for the user that PCP runs as or, where the
// agent is not root, for its own. Every user may add files, and nobody list the directory
// or remove others'.
func makeDir(path string) error {
	uid, gid := os.Geteuid(), os.Getegid()
	if uid == 0 {
		uid, gid = pcpUser()
	} else if _, err := os.Stat(path); err == nil {
		return nil // made for us, or we shall see
	}
	return segdir.Make(path, uid, gid, layout.DirMode)
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
