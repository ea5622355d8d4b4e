package examples_test

import (
	"errors"
	"flag"
	"net"
	"os"
	"path/filepath"
	"testing"

	"github.com/pcp-rtime/rtime/pcp"
	"github.com/pcp-rtime/rtime/pmda"
	"github.com/pcp-rtime/rtime/pmda/pmdatest"
)

// setup shows an option of the agent's own, a descriptor opened with privileges, and
// settings that are read again on SIGHUP.
func setup(dir string) *pmda.Agent {
	var listener net.Listener
	file, unit := filepath.Join(dir, "setup.conf"), "none"
	read := func() error {
		text, err := os.ReadFile(file)
		if err == nil {
			unit = string(text)
		}
		return err
	}
	return &pmda.Agent{
		Name: "setup", Domain: 507,
		Flags: func(f *flag.FlagSet) {
			f.StringVar(&file, "config", file, "configuration file")
		},
		// Still root, if pmcd started the agent: open here what needs that.
		Setup: func(o *pmda.Options) (err error) {
			// o.KeepCapability(10) would keep CAP_NET_BIND_SERVICE afterwards.
			listener, err = net.Listen("tcp", "127.0.0.1:0")
			return errors.Join(err, read())
		},
		Reload: read, // an error is logged, and the old settings stay
		Stop:   func() { listener.Close() },
		Metrics: []pmda.Metric{{
			Name: "setup.address", Item: 0, Sem: pcp.SemDiscrete, OneLine: "where the agent listens",
			Get: pmda.Value(func() (string, error) { return listener.Addr().String(), nil }),
		}, {
			Name: "setup.unit", Item: 1, Sem: pcp.SemDiscrete, OneLine: "what the configuration says",
			Get: pmda.Value(func() (string, error) { return unit, nil }),
		}},
	}
}

func TestSetup(t *testing.T) {
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "setup.conf"), []byte("furlong"), 0o644); err != nil {
		t.Fatal(err)
	}
	c := pmdatest.Start(t, setup(dir))
	if v, err := c.Value("setup.unit", ""); err != nil || v.String() != "furlong" {
		t.Errorf("setup.unit: %v, %v", v, err)
	}
	if v, err := c.Value("setup.address", ""); err != nil || !contains(v.String(), "127.0.0.1:") {
		t.Errorf("setup.address: %v, %v", v, err)
	}
}
