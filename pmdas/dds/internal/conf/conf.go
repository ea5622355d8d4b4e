// Package conf reads the configuration file of the agent dds; see package keyword for its
// form.
package conf

import (
	"fmt"
	"os/user"
	"strconv"
	"strings"
	"time"

	"github.com/pcp-rtime/rtime/internal/ddsseg/layout"
	"github.com/pcp-rtime/rtime/pmdas/internal/kit/keyword"
)

// Config is what the configuration file can say.
type Config struct {
	Timeout time.Duration // a supplier whose time stamp is older is told to go; 0: never
	Keep    time.Duration // how long a metric without a supplier keeps its name
	Fastest time.Duration // the shortest interval that suppliers are told of
	Reserve []Reserve     // paths that only some users may supply

	// Limits for each user.
	Suppliers  int
	Contexts   int   // fixed and volatile
	Statistics int   // values
	Metrics    int   // names below dds, those without a supplier included
	Domains    int   // contexts that have or had volatile ones below them
	Names      int   // new names of any kind in a day
	NewMetrics int   // how many of these may be metrics
	Bytes      int64 // of all segments
	Memory     int64 // about how many bytes the agent may hold for a user
}

// Defaults returns the configuration that holds without a file.
func Defaults() Config {
	return Config{
		Timeout: 30 * time.Second, Keep: 24 * time.Hour, Fastest: 100 * time.Millisecond,
		Suppliers: 1000, Contexts: 200000, Statistics: 2000000, Metrics: 20000, Domains: 1000, Names: 1000000,
		NewMetrics: 10000, Bytes: 512 << 20, Memory: 64 << 20,
	}
}

// Load reads the configuration file at path. Settings that the file does not give stay as
// in current.
func Load(path string, current Config) (Config, error) {
	c := current
	c.Reserve = nil
	_, err := keyword.Load(path, map[string]keyword.Keyword{
		"timeout":       timeout(&c.Timeout),
		"keep":          keyword.Seconds(&c.Keep, 0, 366*86400),
		"fastest":       keyword.Seconds(&c.Fastest, 0.001, 3600),
		"reserve":       keyword.List(c.reserve),
		"maxsuppliers":  keyword.Whole(&c.Suppliers, 0, 100000),
		"maxcontexts":   keyword.Whole(&c.Contexts, 0, 10000000),
		"maxstatistics": keyword.Whole(&c.Statistics, 0, 100000000),
		"maxmetrics":    keyword.Whole(&c.Metrics, 0, 1000000),
		"maxdomains":    keyword.Whole(&c.Domains, 0, 100000),
		"maxnames":      keyword.Whole(&c.Names, 0, 1000000000),
		"maxnewmetrics": keyword.Whole(&c.NewMetrics, 0, 1<<22),
		"maxbytes":      keyword.Whole(&c.Bytes, 0, 64<<30),
		"maxmemory":     keyword.Whole(&c.Memory, 0, 64<<30),
	})
	if err != nil {
		return current, err
	}
	for _, r := range c.Reserve {
		if len(r.UIDs) == 0 {
			return current, &keyword.Error{File: path, Keyword: "reserve",
				Reason: fmt.Sprintf("no user follows the path %s; write reserve, PATH and USER", r.Path)}
		}
	}
	return c, nil
}

// Reserve is a path that only some users may supply, with everything below it.
type Reserve struct {
	Path string
	UIDs []uint32
}

// reserve takes the words PATH USER... of any number of lines.
func (c *Config) reserve(word string) error {
	if strings.HasPrefix(word, "DDS/") {
		c.Reserve = append(c.Reserve, Reserve{Path: word})
		if !layout.ValidPath(word) {
			return fmt.Errorf("%q is not a valid path of a context", word)
		}
		return nil
	}
	if len(c.Reserve) == 0 {
		return fmt.Errorf("%q is not a path below DDS; write reserve, PATH and USER", word)
	}
	u, err := user.Lookup(word)
	if err != nil {
		if u, err = user.LookupId(word); err != nil {
			return fmt.Errorf("there is no user %q", word)
		}
	}
	uid, err := strconv.ParseUint(u.Uid, 10, 32)
	if err != nil {
		return fmt.Errorf("user %q has the number %q", word, u.Uid)
	}
	last := &c.Reserve[len(c.Reserve)-1]
	last.UIDs = append(last.UIDs, uint32(uid))
	return nil
}

// timeout takes a number of seconds that the SPMI allows, or 0.
func timeout(to *time.Duration) keyword.Keyword {
	return keyword.One(func(v string) error {
		if v == "0" {
			*to = 0
			return nil
		}
		if err := keyword.Seconds(to, 15, 600).Take(v); err != nil {
			return fmt.Errorf("%w, or 0", err)
		}
		return nil
	})
}
