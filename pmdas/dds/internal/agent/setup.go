package agent

import (
	"fmt"
	"os"

	"github.com/pcp-rtime/rtime/pmda"
	"github.com/pcp-rtime/rtime/pmdas/dds/internal/conf"
)

// setup reads the configuration and, while the agent is still root, makes the directory
// that suppliers put their segments into.
func (a *Agent) setup(o *pmda.Options) error {
	a.stateDir = o.StateDir
	if err := a.Setup(o); err != nil || a.Trying {
		return err
	}
	return a.MakeDir()
}

// load reads a configuration file.
func (a *Agent) load(path string) (err error) {
	*a.conf, err = conf.Load(path, *a.conf)
	return err
}

// try prints the tree of contexts as it is now. After that, --try prints the table of
// suppliers.
func (a *Agent) try(_ *pmda.Server, args []string) error {
	if len(args) > 0 {
		return fmt.Errorf("--try: unexpected argument %q", args[0])
	}
	if err := a.supply.Watching(); err != nil {
		return err
	}
	a.printTree(os.Stdout)
	return nil
}
