// Package conf is the configuration of the agent rtarm: what the file can say (see
// package keyword for its form) and what holds without it. The first three keywords are
// those of the SpmiArmd daemon (seed 000, "Configuring the SpmiArmd Daemon").
package conf

import (
	"io"
	"os"
	"time"

	"github.com/pcp-rtime/rtime/internal/keyword"
)

// Config is what the configuration file can say.
type Config struct {
	Interval time.Duration // between two rounds of collecting
	Weight   float64       // percent of the previous average
	Timeout  time.Duration // a user's names go when no process has used them for so long; 0 never
	Window   time.Duration // of the rolling statistics
	Buffers  int           // into which the window is divided
	Apart    bool          // each user's transactions have instances of their own

	Transactions   int // instances in all
	PerApplication int // transactions of an application

	// Limits for each user.
	Processes int
	Bytes     int64 // of all files
}

// Limits of the values that can also be stored while the agent runs.
const (
	MinInterval, MaxInterval = 0.1, 3600 // seconds
	MinWindow, MaxWindow     = 1, 86400  // seconds
	MinBuffers, MaxBuffers   = 1, 60
)

// Defaults returns what holds without a configuration file.
func Defaults() Config {
	return Config{
		Interval: time.Second, Weight: 75, Timeout: 900 * time.Second, Window: time.Minute, Buffers: 12,
		Transactions: 50000, PerApplication: 20000,
		Processes: 4096, Bytes: 4 << 30,
	}
}

// Load reads the configuration file at path. What it does not say is as in Defaults.
func Load(path string) (Config, error) {
	f, err := os.Open(path)
	if err != nil {
		return Config{}, err
	}
	defer f.Close()
	return Parse(f, path)
}

// Parse reads a configuration from r. name stands in its error, which has all mistakes.
func Parse(r io.Reader, name string) (Config, error) {
	c := Defaults()
	err := keyword.Parse(r, name, map[string]keyword.Keyword{
		"interval":          keyword.Seconds(&c.Interval, MinInterval, MaxInterval),
		"weight":            keyword.Number(&c.Weight, 0, 100),
		"timeout":           keyword.Seconds(&c.Timeout, 0, 366*86400),
		"window":            keyword.Seconds(&c.Window, MinWindow, MaxWindow),
		"buffers":           keyword.Whole(&c.Buffers, MinBuffers, MaxBuffers),
		"users":             keyword.Choice(&c.Apart, []string{"merge", "apart"}, []bool{false, true}),
		"maxtransactions":   keyword.Whole(&c.Transactions, 1, 1000000),
		"maxperapplication": keyword.Whole(&c.PerApplication, 1, 65536),
		"maxprocesses":      keyword.Whole(&c.Processes, 1, 1000000),
		"maxbytes":          keyword.Whole(&c.Bytes, 1<<20, 1<<40),
	})
	if err != nil {
		return Config{}, err
	}
	return c, nil
}
