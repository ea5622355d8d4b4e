//go:build linux

package main

import (
	"bufio"
	"fmt"
	"net/netip"
	"os"
	"os/signal"
	"runtime"
	"strings"
	"syscall"
	"time"

	"github.com/pcp-rtime/rtime/pmdas/lan/internal/probe"
)

// pollEvery is how often a child reads answers.
const pollEvery = 100 * time.Millisecond

// child is the process under measurement. It sends at an even pace, in turn to all
// hosts, until it gets SIGINT or has sent the count asked for.
type child struct {
	engine probe.Engine
	hosts  []netip.Addr
	rate   float64
	tick   time.Duration
	count  int // 0: until SIGINT

	alarm  probe.Alarm
	start  time.Time
	polled time.Time
	sent   int
	got    int
	times  []time.Duration // by request, if there is a count; 0 stands for a missing time
	events []probe.Event
}

func runChild(s *settings) error {
	runtime.GOMAXPROCS(1) // or threads wake each other
	e, err := probe.Open(s.child, probe.Options{Late: time.Second, Linger: pollEvery})
	if err != nil {
		return err
	}
	defer e.Close()
	c := &child{engine: e, rate: s.rate, tick: s.tick, count: s.count}
	for _, h := range strings.Split(s.hosts, ",") {
		a, err := netip.ParseAddr(h)
		if err != nil {
			return err
		}
		c.hosts = append(c.hosts, a)
	}
	if c.alarm, err = probe.NewAlarm(); err != nil {
		return err
	}
	defer c.alarm.Close()
	c.times = make([]time.Duration, c.count)
	stop := make(chan os.Signal, 1)
	signal.Notify(stop, syscall.SIGINT)
	c.start = time.Now()
	c.run(stop)
	elapsed := time.Since(c.start)
	time.Sleep(2 * pollEvery) // for the last answers
	c.poll()
	c.print(elapsed)
	return nil
}

// run sends what is due, at most once per tick, and polls at times.
func (c *child) run(stop <-chan os.Signal) {
	for c.count == 0 || c.sent < c.count {
		select {
		case <-stop:
			return
		default:
		}
		now := time.Now()
		for due := c.due(c.sent); !due.After(now) && (c.count == 0 || c.sent < c.count); due = c.due(c.sent) {
			// An error is a request without an answer.
			c.engine.Send(c.hosts[c.sent%len(c.hosts)], uint64(c.sent))
			c.sent++
		}
		if now.Sub(c.polled) >= pollEvery {
			c.polled = now
			c.poll()
		}
		wake := c.due(c.sent)
		if wake.Sub(now) < c.tick {
			wake = now.Add(c.tick)
		}
		c.alarm.Sleep(time.Until(wake))
	}
}

// due is when request n is to be sent.
func (c *child) due(n int) time.Time {
	return c.start.Add(time.Duration(float64(n) / c.rate * float64(time.Second)))
}

func (c *child) poll() {
	c.events = c.engine.Poll(c.events[:0])
	for _, e := range c.events {
		if e.Kind == probe.Reply && e.Token < uint64(len(c.times)) {
			c.times[e.Token] = e.RTT
		}
	}
	c.got += len(c.events)
}

// print prints the count of requests and events and the rate, then per request its
// host and time in nanoseconds.
func (c *child) print(elapsed time.Duration) {
	w := bufio.NewWriter(os.Stdout)
	defer w.Flush()
	fmt.Fprintln(w, c.sent, c.got, float64(c.sent)/elapsed.Seconds())
	for i, d := range c.times {
		fmt.Fprintln(w, c.hosts[i%len(c.hosts)], int64(d))
	}
}
