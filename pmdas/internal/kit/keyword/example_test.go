package keyword_test

import (
	"log"
	"time"

	"github.com/pcp-rtime/rtime/pmdas/internal/kit/keyword"
)

type config struct {
	Interval time.Duration
	Apart    bool
	Hosts    []string
}

func (c *config) addHost(name string) error {
	c.Hosts = append(c.Hosts, name)
	return nil
}

func Example() {
	path, current := "/etc/pcp/rtdisk/rtdisk.conf", config{Interval: time.Second}

	c := current
	c.Hosts = nil // lists are replaced, numbers and words stay
	given, err := keyword.Load(path, map[string]keyword.Keyword{
		"interval": keyword.Seconds(&c.Interval, 0.1, 3600),
		"users":    keyword.Choice(&c.Apart, []string{"merge", "apart"}, []bool{false, true}),
		"host":     keyword.List(func(name string) error { return c.addHost(name) }),
		"hosts":    keyword.Files("host"),
	})

	log.Print(given, err)
}
