package agent

import (
	"fmt"

	"github.com/pcp-rtime/rtime/pmda"
	"github.com/pcp-rtime/rtime/pmdas/arm/internal/conf"
)

// setup reads the configuration. While the agent is still root, it also makes the directory
// into which programs put their segments.
func (a *Agent) setup(o *pmda.Options) error {
	if err := a.Setup(o); err != nil {
		return err
	}
	return a.MakeDir()
}

// load reads a configuration file.
func (a *Agent) load(path string) (err error) {
	a.conf, err = conf.Load(path, a.conf)
	return err
}

// tryColumns are the columns that pmdartarm --try prints for each transaction.
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

// try only checks its arguments. With --try the program does the agent's work without PCP: it
// takes over the counts of processes that have ended, and leaves them to the next agent.
func (a *Agent) try(_ *pmda.Server, args []string) error {
	if len(args) > 0 {
		return fmt.Errorf("--try: unexpected argument %q", args[0])
	}
	return nil
}
