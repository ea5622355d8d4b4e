package agent

import (
	"fmt"

	"github.com/pcp-rtime/rtime/pmda"
	"github.com/pcp-rtime/rtime/pmdas/arm/internal/conf"
)

// setup reads the configuration and, while the agent is still root, makes the directory
// that programs put their segments into.
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

// try has nothing to prepare. The program does the agent's work without PCP: it takes over the
// counts of processes that have ended, and leaves them to the next agent.
func (a *Agent) try(_ *pmda.Server, args []string) error {
	if len(args) > 0 {
		return fmt.Errorf("--try: unexpected argument %q", args[0])
	}
	return nil
}
