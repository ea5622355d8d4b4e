package collect

import "time"

// Config has the settings that may change while a Collector runs. A field that is zero stands
// for the value of DefaultConfig, unless its comment says otherwise.
type Config struct {
	Interval time.Duration // between two looks; 100 ms to 1 h
	// Weight is the part of its previous value that the weighted average keeps, from 0 to 1.
	// A value outside stands for the default, SpmiArmd's 0.75.
	Weight float64
	// Timeout is how long a user's file of names stays after the last process that used it has
	// ended; 0 means for ever. DefaultConfig has 15 minutes.
	Timeout time.Duration
	Window  time.Duration // length of the rolling window
	Buffers int           // parts of the window, 1 to 60
	// UsersApart makes names of rows begin with the user's login name or number and a
	// colon. It is fixed when the Collector is made.
	UsersApart bool

	MaxPerApplication int   // transactions with a row of their own in an application
	MaxTransactions   int   // transactions with a row of their own in all
	MaxApplications   int   // applications with a row of their own
	MaxPairs          int   // pairs of parent and child with a row of their own
	UserShare         int   // percent of each of the three limits above that names of one user may take, 1 to 100
	MaxFiles          int   // processes whose files are read
	MaxUserFiles      int   // processes of one user whose files are read
	MaxUserBytes      int64 // of one user's files that are mapped
}

// DefaultConfig returns the settings that hold without a configuration file.
func DefaultConfig() Config {
	return Config{
		Interval: time.Second, Weight: 0.75, Timeout: 15 * time.Minute, Window: time.Minute, Buffers: 12,
		MaxPerApplication: 10000, MaxTransactions: 50000, MaxApplications: 2000, MaxPairs: 10000, UserShare: 80,
		MaxFiles: 20000, MaxUserFiles: 5000, MaxUserBytes: 16 << 30,
	}
}

// filled returns the configuration with defaults and bounds applied.
func (c Config) filled() Config {
	d := DefaultConfig()
	c.Interval = min(max(or(c.Interval, d.Interval), 100*time.Millisecond), time.Hour)
	if c.Weight < 0 || c.Weight > 1 || c.Weight != c.Weight {
		c.Weight = d.Weight
	}
	c.Timeout = max(c.Timeout, 0)
	c.Window = min(max(or(c.Window, d.Window), time.Second), 24*time.Hour)
	c.Buffers = min(max(or(c.Buffers, d.Buffers), 1), 60)
	for _, v := range []struct{ have, none *int }{
		{&c.MaxPerApplication, &d.MaxPerApplication}, {&c.MaxTransactions, &d.MaxTransactions},
		{&c.MaxApplications, &d.MaxApplications}, {&c.MaxPairs, &d.MaxPairs},
		{&c.MaxFiles, &d.MaxFiles}, {&c.MaxUserFiles, &d.MaxUserFiles},
	} {
		*v.have = or(*v.have, *v.none)
	}
	c.UserShare = min(or(c.UserShare, d.UserShare), 100)
	c.MaxUserBytes = or(c.MaxUserBytes, d.MaxUserBytes)
	return c
}

// share returns how many rows of a limit names of one user may take.
func (c *Config) share(limit int) int { return (limit*c.UserShare + 99) / 100 }

// eachUser returns how many files of one user are listed: those that may be read, and some that
// may be removed.
func (c Config) eachUser() int { return c.MaxUserFiles + maxRemoved }

func or[T int | int64 | time.Duration](v, none T) T {
	if v <= 0 {
		return none
	}
	return v
}
