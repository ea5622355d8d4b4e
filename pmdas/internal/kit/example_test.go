package kit_test

import (
	"os"
	"time"

	"github.com/pcp-rtime/rtime/pcp"
	"github.com/pcp-rtime/rtime/pmda"
	"github.com/pcp-rtime/rtime/pmdas/internal/kit"
	"github.com/pcp-rtime/rtime/pmdas/internal/kit/keyword"
)

type Agent struct {
	kit.Base
	conf  config
	disks *pmda.InDom[*disk]
}

func New() *pmda.Agent {
	a := &Agent{conf: defaults}
	a.Base = kit.Base{Name: "rtdisk", Load: a.load, Second: a.look, Numbers: a.numbers()}
	own := kit.NumberMetrics("rtime.disk.agent.", 1, a.Numbers)
	return &pmda.Agent{Name: "rtdisk", Domain: 473, Metrics: append(a.metrics(), own...),
		Flags: a.Flags, Setup: a.Setup, Start: a.Start, Reload: a.Reload, Stop: a.Stop}
}

// load reads the configuration with package keyword.
func (a *Agent) load(path string) (err error) {
	a.conf, err = read(path, a.conf)
	return err
}

func main() { os.Exit(kit.Main(New())) }

// The program of the package's comment is made of the above and of what is below.
func Example() { main() }

type config struct{ interval time.Duration }

var defaults = config{interval: time.Second}

func read(path string, c config) (config, error) {
	_, err := keyword.Load(path, map[string]keyword.Keyword{"interval": keyword.Seconds(&c.interval, 0.1, 3600)})
	return c, err
}

type disk struct{ reads uint64 }

func (a *Agent) look() {
	a.disks.All(func(_ pcp.Instance, d *disk) bool { d.reads++; return true })
}

func (a *Agent) numbers() []kit.Number {
	return []kit.Number{kit.Counter(0, "looks", "rounds of work", "", func() uint64 { return 0 })}
}

func (a *Agent) metrics() []pmda.Metric {
	a.disks = &pmda.InDom[*disk]{Name: "disks", OneLine: "disks"}
	return []pmda.Metric{{
		Name: "rtime.disk.reads", Sem: pcp.SemCounter, Units: pcp.Count, OneLine: "reads from the disk",
		Get: pmda.Per(a.disks, func(d *disk) (uint64, bool) { return d.reads, true }),
	}}
}
