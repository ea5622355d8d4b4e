//go:build linux

package main

import (
	"context"
	"fmt"
	"net/netip"
	"os"
	"os/signal"
	"runtime"
	"strings"
	"time"

	"github.com/pcp-rtime/rtime/pmdas/lan/internal/probe"
)

// runProber is the child that does what the agent does: a Prober on the Linux
// engine, with its own pace and accounts, until SIGINT.
func runProber(s *settings) error {
	runtime.GOMAXPROCS(1)
	e, err := probe.OpenLinux(probe.Options{})
	if err != nil {
		return err
	}
	defer e.Close()
	hosts := strings.Split(s.hosts, ",")
	cycle := time.Duration(float64(len(hosts)) / s.rate * float64(time.Second))
	p := probe.New(e, probe.Settings{Interval: cycle, MaxRate: s.rate})
	for i, h := range hosts {
		a, err := netip.ParseAddr(h)
		if err != nil {
			return err
		}
		p.Add(uint32(i), a)
	}
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	start := time.Now()
	p.Run(ctx)
	st, elapsed := p.Stats(), time.Since(start)
	fmt.Println(st.Sent, st.Sent-uint64(st.InFlight), float64(st.Sent)/elapsed.Seconds())
	return nil
}
