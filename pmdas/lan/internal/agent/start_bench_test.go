//go:build linux

package agent

import (
	"fmt"
	"io"
	"log"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/pcp-rtime/rtime/pmda"
)

// BenchmarkStart starts the agent on 10,000 configured hosts.
func BenchmarkStart(b *testing.B) {
	var conf strings.Builder
	conf.WriteString("interval 10\n")
	for i := range 10000 {
		fmt.Fprintf(&conf, "host 127.1.%d.%d\n", i>>8, i&255)
	}
	file := filepath.Join(b.TempDir(), "rtlan.conf")
	if err := os.WriteFile(file, []byte(conf.String()), 0o644); err != nil {
		b.Fatal(err)
	}
	for b.Loop() {
		a := newAgent()
		a.ConfigFile, a.Mute = file, true
		declared := a.declare()
		o := pmda.Options{StateDir: b.TempDir(), Log: log.New(io.Discard, "", 0)}
		if err := declared.Setup(&o); err != nil {
			b.Fatal(err)
		}
		s, err := pmda.New(declared, o)
		if err != nil {
			b.Fatal(err)
		}
		if err := declared.Start(s); err != nil {
			b.Fatal(err)
		}
		declared.Stop()
		s.Close()
	}
}
