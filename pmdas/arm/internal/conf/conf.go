// Package conf reads the configuration file of the agent rtarm. Package keyword describes the
// form of such files. The keywords interval, weight and timeout are those of the SpmiArmd
// daemon of AIX.
package conf

import (
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

// Load reads the configuration file at path. A setting that the file does not give is as in
// current.
func Load(path string, current collect.Config) (collect.Config, error) {
	c, weight := current, 100*current.Weight
	_, err := keyword.Load(path, map[string]keyword.Keyword{
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
		"usershare":         keyword.Whole(&c.UserShare, 1, 100),
		"maxprocesses":      keyword.Whole(&c.MaxFiles, 1, 1000000),
		"maxuserprocesses":  keyword.Whole(&c.MaxUserFiles, 1, 1000000),
		"maxuserbytes":      keyword.Whole(&c.MaxUserBytes, 1<<20, 1<<40),
	})
	if err != nil {
		return current, err
	}
	c.Weight = weight / 100
	return c, nil
}
