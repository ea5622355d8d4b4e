package pmapi

import (
	"context"
	"errors"
	"fmt"
	"os"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/pcp-rtime/rtime/pcp"
	"github.com/pcp-rtime/rtime/pmapi"
	"github.com/pcp-rtime/rtime/test/pcptest"
)

// TestKilled: pmcd is killed and started again under many clients, with and without profiles.
// Each goes on by itself, gets nothing but right values, and no rate across the gap.
func TestKilled(t *testing.T) {
	t.Parallel()
	p := start(t)
	ctx, cancel := context.WithCancel(context.Background())
	var running sync.WaitGroup
	defer running.Wait()
	defer cancel()
	var fetched [8]atomic.Int64
	var last [8]atomic.Value
	for i := range fetched {
		host := "unix:" + p.Socket()
		if i%2 == 1 {
			host = fmt.Sprintf("127.0.0.1:%d", p.Port())
		}
		c := clientOf(t, host)
		list := metrics(t, c, "test.color", "test.fetches")
		var profile *pmapi.Profile
		want := "[{0 5} {1 5}]"
		if i%4 >= 2 {
			profile, want = pmapi.Only(list[0].InDom, 1), "[{1 5}]"
		}
		running.Go(func() {
			var s, before pmapi.Sample
			for ctx.Err() == nil {
				s, before = before, s
				err := c.Fetch(ctx, &s, profile, list...)
				last[i].Store(fmt.Sprint(err, s.Sets))
				if err != nil {
					if !pmapi.MayRetry(err) {
						t.Errorf("client %d: %v, MayRetry false", i, err)
					}
					time.Sleep(time.Millisecond)
					continue
				}
				if s.Sets[0].Err != 0 || s.Sets[1].Err != 0 {
					continue // the agent is not there yet
				}
				fetched[i].Add(1)
				if got := fmt.Sprint(s.Sets[0].Values); got != want {
					t.Errorf("client %d: %s, want %s", i, got, want)
				}
				rate, err := s.Rate(&before, 1, 0)
				if len(before.Sets) == 2 && before.Changes.Agents != s.Changes.Agents && !errors.Is(err, pmapi.ErrRestart) || rate < 0 {
					t.Errorf("client %d: rate %v, %v after %+v, %+v", i, rate, err, before.Changes, s.Changes)
				}
			}
		})
	}
	for range 3 {
		all(t, &fetched, &last)
		p.Pmcd().Signal(syscall.SIGKILL)
		p.Pmcd().Wait()
		// The next pmcd makes no socket where there is one, and PCP's script removes it too.
		if err := os.Remove(p.Socket()); err != nil {
			t.Fatal(err)
		}
		p.StartPmcd()
	}
	all(t, &fetched, &last)
}

// all waits until each worker has fetched ten times more.
func all(t *testing.T, fetched *[8]atomic.Int64, last *[8]atomic.Value) {
	t.Helper()
	var from [8]int64
	for i := range fetched {
		from[i] = fetched[i].Load()
	}
	pcptest.Eventually(t, "all clients fetch", func() error {
		for i := range fetched {
			if n := fetched[i].Load() - from[i]; n < 10 {
				return fmt.Errorf("client %d has fetched %d times; last %v", i, n, last[i].Load())
			}
		}
		return nil
	})
}

// TestAgentKilled: a client is told that an agent was restarted, and the counters that begin
// anew have no rate.
func TestAgentKilled(t *testing.T) {
	t.Parallel()
	p := start(t)
	c := client(t, p)
	ctx := context.Background()
	list := metrics(t, c, "test.fetches")
	var s, before pmapi.Sample
	for range 5 {
		if err := c.Fetch(ctx, &before, nil, list...); err != nil {
			t.Fatal(err)
		}
	}
	if err := syscall.Kill(p.AgentPID(pcptest.Build(t, name, "test/testagent")), syscall.SIGKILL); err != nil {
		t.Fatal(err)
	}
	pcptest.Eventually(t, "the agent is back", func() error {
		if err := c.Fetch(ctx, &s, nil, list...); err != nil {
			return err
		}
		if s.Sets[0].Err != 0 {
			return s.Sets[0].Err
		}
		return nil
	})
	if _, err := s.Rate(&before, 0, 0); err != pmapi.ErrRestart || s.Changes.Agents == before.Changes.Agents {
		t.Errorf("rate: %v, changes %+v, then %+v", err, before.Changes, s.Changes)
	}
	if s.Changes.Names != before.Changes.Names {
		t.Errorf("the connection is a new one: %+v, then %+v", before.Changes, s.Changes)
	}
}

// TestStopped: while pmcd is stopped a request ends when its context ends, with the context's
// error, and the client goes on afterwards.
func TestStopped(t *testing.T) {
	t.Parallel()
	p := start(t)
	c := client(t, p)
	list := metrics(t, c, "test.color")
	p.Pmcd().Signal(syscall.SIGSTOP)
	ctx, cancel := context.WithTimeout(context.Background(), 50*time.Millisecond)
	defer cancel()
	var s pmapi.Sample
	if err := c.Fetch(ctx, &s, nil, list...); !errors.Is(err, context.DeadlineExceeded) || !pmapi.MayRetry(err) {
		t.Errorf("with a deadline: %v", err)
	}
	if err := c.Store(ctx, list[0], 0, pcp.Num(uint32(1))); !errors.Is(err, context.DeadlineExceeded) || !pmapi.MayRetry(err) {
		t.Errorf("a store after the deadline: %v, MayRetry %v", err, pmapi.MayRetry(err))
	}
	p.Pmcd().Signal(syscall.SIGCONT)
	if err := c.Fetch(context.Background(), &s, nil, list...); err != nil || len(s.Sets[0].Values) != 2 {
		t.Errorf("afterwards: %v, %v", s.Sets, err)
	}
}

// TestManyAtOnce: many goroutines share a client, each with a profile of its own, and as many
// have clients of their own.
func TestManyAtOnce(t *testing.T) {
	t.Parallel()
	p := start(t)
	shared := client(t, p)
	color := metrics(t, shared, "test.color")[0]
	const many = 1000
	var all sync.WaitGroup
	begin := make(chan struct{})
	for i := range many {
		all.Go(func() {
			c := shared
			if i%2 == 1 {
				c = clientOf(t, "unix:"+p.Socket())
				if err := c.Connect(context.Background()); err != nil {
					t.Error(err)
				}
			}
			<-begin
			inst := int32(i / 2 % 2)
			var s pmapi.Sample
			for range 3 {
				if err := c.Fetch(context.Background(), &s, pmapi.Only(color.InDom, inst), color); err != nil {
					t.Error(err)
				} else if got, want := fmt.Sprint(s.Sets[0].Values), fmt.Sprintf("[{%d 5}]", inst); got != want {
					t.Errorf("%s, want %s", got, want)
				}
			}
		})
	}
	close(begin)
	all.Wait()
}
