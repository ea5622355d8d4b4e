// Package conf reads the configuration file of the agent rtarm; see package keyword for
// its form. Interval, weight and timeout are the keywords of the SpmiArmd daemon (seed
// 000, "Configuring the SpmiArmd Daemon").
package conf

import (
	"io"
	"os"

	"github.com/pcp-rtime/rtime/pmdas/arm/internal/collect"
	"github.com/pcp-rtime/rtime/pmdas/internal/kit/keyword"
)

// Limits of the values that can also be stored while the agent runs.
const (
	MinInterval, MaxInterval = 0.1, 3600 // seconds
	MinWeight, MaxWeight     = 0, 100    // percent
	MinWindow, MaxWindow     = 1, 86400  // seconds
	MinBuffers, MaxBuffers   = 1, 60
)

const maxSeconds = 366 * 86400

// Load reads the configuration file at path. What it does not say is as in
// collect.DefaultConfig.
func Load(path string) (collect.Config, error) {
	f, err := os.Open(path)
	if err != nil {
		return collect.Config{}, err
	}
	defer f.Close()
	return Parse(f, path)
}

// Parse reads a configuration from r. name stands in its error, which has all mistakes.
func Parse(r io.Reader, name string) (collect.Config, error) {
	c := collect.DefaultConfig()
	weight := 100 * c.Weight
	err := keyword.Parse(r, name, map[string]keyword.Keyword{
		"interval":          keyword.Seconds(&c.Interval, MinInterval, MaxInterval),
		"weight":            keyword.Number(&weight, MinWeight, MaxWeight),
		"timeout":           keyword.Seconds(&c.Timeout, 0, maxSeconds),
		"window":            keyword.Seconds(&c.Window, MinWindow, MaxWindow),
		"buffers":           keyword.Whole(&c.Buffers, MinBuffers, MaxBuffers),
		"users":             keyword.Choice(&c.UsersApart, []string{"merge", "apart"}, []bool{false, true}),
		"maxtransactions":   keyword.Whole(&c.MaxTransactions, 1, 1000000),
		"maxperapplication": keyword.Whole(&c.MaxPerApplication, 1, 1000000),
		"maxapplications":   keyword.Whole(&c.MaxApplications, 1, 1000000),
		"maxparents":        keyword.Whole(&c.MaxPairs, 1, 1000000),
		"maxprocesses":      keyword.Whole(&c.MaxFiles, 1, 1000000),
		"maxuserprocesses":  keyword.Whole(&c.MaxUserFiles, 1, 1000000),
		"maxuserbytes":      keyword.Whole(&c.MaxUserBytes, 1<<20, 1<<40),
	})
	if err != nil {
		return collect.Config{}, err
	}
	c.Weight = weight / 100
	return c, nil
}
