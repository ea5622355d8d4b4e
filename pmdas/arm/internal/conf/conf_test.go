package conf

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/pcp-rtime/rtime/pmdas/arm/internal/collect"
)

// load reads text as a configuration file called f.
func load(t *testing.T, text string, current collect.Config) (collect.Config, error) {
	t.Helper()
	t.Chdir(t.TempDir())
	if err := os.WriteFile("f", []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return Load("f", current)
}

func TestLoad(t *testing.T) {
	for text, change := range map[string]func(*collect.Config){
		"": func(*collect.Config) {},
		"interval 0.5\nweight 20\ntimeout 0\n": func(c *collect.Config) {
			c.Interval, c.Weight, c.Timeout = 500*time.Millisecond, 0.2, 0
		},
		"weight 0":                 func(c *collect.Config) { c.Weight = 0 },
		"window 10\nbuffers 5\n":   func(c *collect.Config) { c.Window, c.Buffers = 10*time.Second, 5 },
		"users apart":              func(c *collect.Config) { c.UsersApart = true },
		"users merge":              func(c *collect.Config) {},
		"maxtransactions 1":        func(c *collect.Config) { c.MaxTransactions = 1 },
		"maxperapplication 2":      func(c *collect.Config) { c.MaxPerApplication = 2 },
		"maxapplications 3":        func(c *collect.Config) { c.MaxApplications = 3 },
		"maxparents 4":             func(c *collect.Config) { c.MaxPairs = 4 },
		"maxprocesses 5":           func(c *collect.Config) { c.MaxFiles = 5 },
		"maxuserprocesses 6":       func(c *collect.Config) { c.MaxUserFiles = 6 },
		"maxuserbytes 1048576 # 1": func(c *collect.Config) { c.MaxUserBytes = 1 << 20 },
	} {
		want := collect.DefaultConfig()
		change(&want)
		if got, err := load(t, text, collect.DefaultConfig()); err != nil || got != want {
			t.Errorf("%q: %+v, %v; want %+v", text, got, err, want)
		}
	}
}

func TestRefused(t *testing.T) {
	for text, want := range map[string]string{
		"weight 101":              "f:1: weight: 101 is not between 0 and 100",
		"interval 0.01":           "f:1: interval: 0.01 is not between 0.1 and 3600",
		"\nbuffers 61":            "f:2: buffers: 61 is not between 1 and 60",
		"users both\nmaxbytes 1":  "f:1: users: \"both\" is not merge or apart\nf:2: unknown keyword \"maxbytes\"",
		"timeout -1":              "f:1: timeout: -1 is not between 0 and 31622400",
		"maxuserbytes 1":          "f:1: maxuserbytes: 1 is not between 1048576 and 1099511627776",
		"maxtransactions 1000001": "f:1: maxtransactions: 1000001 is not between 1 and 1000000",
	} {
		got, err := load(t, text, collect.DefaultConfig())
		if err == nil || err.Error() != want || got != collect.DefaultConfig() {
			t.Errorf("%q: %+v, %v; want %s", text, got, err, want)
		}
	}
}

func TestNoFile(t *testing.T) {
	c, err := Load(filepath.Join(t.TempDir(), "none"), collect.DefaultConfig())
	if !errors.Is(err, fs.ErrNotExist) || c != collect.DefaultConfig() {
		t.Errorf("without a file: %+v, %v", c, err)
	}
}

// TestAgain: settings that a file does not give stay as they are.
func TestAgain(t *testing.T) {
	current := collect.DefaultConfig()
	current.Interval, current.Weight, current.MaxPairs = 7*time.Second, 0.3, 17
	want := current
	want.Window = 30 * time.Second
	if c, err := load(t, "window 30\n", current); err != nil || c != want {
		t.Errorf("%+v, %v; want %+v", c, err, want)
	}
}

// TestShipped: the comments of the shipped file list all the defaults.
func TestShipped(t *testing.T) {
	text, err := os.ReadFile("../../rtarm.conf")
	if err != nil {
		t.Fatal(err)
	}
	var b strings.Builder
	for _, line := range strings.Split(string(text), "\n") {
		if line, ok := strings.CutPrefix(line, "#"); ok && strings.Contains(line, "\t") {
			b.WriteString(line + "\n")
		}
	}
	if c, err := load(t, b.String(), collect.Config{}); err != nil || c != collect.DefaultConfig() {
		t.Errorf("%+v, %v", c, err)
	}
	if n := strings.Count(b.String(), "\n"); n != 14 {
		t.Errorf("%d keywords, want all 14:\n%s", n, b.String())
	}
}
