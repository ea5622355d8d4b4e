package agent

import (
	"errors"
	"fmt"
	"io/fs"
	"os"

	"github.com/pcp-rtime/rtime/pmda"
	"github.com/pcp-rtime/rtime/pmdas/dds/internal/conf"
	"github.com/pcp-rtime/rtime/pmdas/dds/internal/supply"
)

// setup reads the configuration and, while the agent is still root, makes the directory
// that suppliers put their segments into.
func (a *Agent) setup(o *pmda.Options) error {
	a.trying, a.mute, a.stateDir = a.trying || o.Try, a.mute || o.Try, o.StateDir
	if a.configFile != "" {
		if err := a.load(); err != nil {
			a.warnings = append(a.warnings, err)
		}
	}
	if !a.trying {
		if err := supply.MakeDir(a.dirPath); err != nil {
			a.warnings = append(a.warnings, err)
		}
	}
	return nil
}

// load reads the configuration file. What the file does not give stays as it is; without a
// file everything does.
func (a *Agent) load() error {
	c, err := conf.Load(a.configFile, *a.conf)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	*a.conf = c
	return nil
}

// try prints the tree of contexts as it is at the moment; --try then goes on with the
// table of suppliers.
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
