package pmapi

import (
	"context"
	"errors"
	"fmt"
	"os"
	"testing"

	"github.com/pcp-rtime/rtime/pcp"
	"github.com/pcp-rtime/rtime/pdu"
	"github.com/pcp-rtime/rtime/pmapi"
	"github.com/pcp-rtime/rtime/test/pcptest"
)

// TestProfile: a fetch brings the instances that its profile wants, whatever other fetches of
// the same client want.
func TestProfile(t *testing.T) {
	t.Parallel()
	c := client(t, start(t))
	color := metrics(t, c, "test.color")[0]
	for range 2 {
		for want, profile := range map[string]*pmapi.Profile{
			"[{0 5} {1 5}]": nil,
			"[{1 5}]":       pmapi.Only(color.InDom, 1),
			"[{0 5}]":       {InDoms: []pdu.InDomProfile{{InDom: color.InDom, State: pdu.Include, List: []int32{1}}}},
			"[]":            {Default: pdu.Exclude},
		} {
			var s pmapi.Sample
			if err := c.Fetch(context.Background(), &s, profile, color); err != nil {
				t.Fatal(err)
			}
			if got := fmt.Sprint(s.Sets[0].Values); got != want {
				t.Errorf("%+v: %s, want %s", profile, got, want)
			}
		}
	}
}

// TestStore: a value is stored, converted to the metric's type; what the agent refuses is an
// error.
func TestStore(t *testing.T) {
	t.Parallel()
	c := client(t, start(t))
	ctx := context.Background()
	list := metrics(t, c, "test.control.add", "test.fetches", "pmcd.control.timeout")
	if err := c.Store(ctx, list[0], pcp.InstNull, pcp.Str("stored")); err != nil {
		t.Error(err)
	}
	metrics(t, c, "test.dynamic.stored")
	if err := c.Store(ctx, list[1], pcp.InstNull, pcp.Num(1.0)); !errors.Is(err, pcp.ErrPermission) || pmapi.MayRetry(err) {
		t.Errorf("a store into test.fetches: %v, MayRetry %v", err, pmapi.MayRetry(err))
	}
	if err := c.Store(ctx, list[2], pcp.InstNull, pcp.Num(33.5)); err != nil {
		t.Error(err)
	}
	got, err := c.Read(ctx, "pmcd.control.timeout")
	if err != nil || got[0].Values[0].Value.String() != "33" {
		t.Errorf("pmcd.control.timeout is %v, %v", got, err)
	}
	if err := c.Store(ctx, list[2], pcp.InstNull, pcp.Num(-1.0)); !errors.Is(err, pcp.ErrSign) {
		t.Errorf("a store of -1: %v", err)
	}
}

// TestEvents: a client gets the records since its first fetch, each once, in both forms.
func TestEvents(t *testing.T) {
	t.Parallel()
	c := client(t, start(t))
	ctx := context.Background()
	list := metrics(t, c, "test.event", "test.hires", "test.control.event", "test.parameter")
	var s pmapi.Sample
	fetch := func(want int) (records [2][]pcp.EventRecord) {
		t.Helper()
		if err := c.Fetch(ctx, &s, nil, list[:2]...); err != nil {
			t.Fatal(err)
		}
		for i := range records {
			for _, v := range s.Sets[i].Values {
				var err error
				if records[i], err = pmapi.Events(v.Value); err != nil {
					t.Fatal(err)
				}
			}
			if len(records[i]) != want {
				t.Fatalf("%s: %d records, want %d: %v", list[i].Name, len(records[i]), want, records[i])
			}
		}
		return records
	}
	fetch(0)
	for i := range 3 {
		if err := c.Store(ctx, list[2], pcp.InstNull, pcp.Str(fmt.Sprint("event ", i))); err != nil {
			t.Fatal(err)
		}
	}
	records := fetch(3)
	for i, stamp := range []int64{1700000000123456000, 1700000000123456789} {
		for j, r := range records[i] {
			want := fmt.Sprint([]pcp.EventParam{{PMID: list[3].PMID, Value: pcp.Str(fmt.Sprint("event ", j))}})
			if r.Time.UnixNano() != stamp || r.Flags != pcp.EventPoint || fmt.Sprint(r.Params) != want {
				t.Errorf("%s: record %d is %v", list[i].Name, j, r)
			}
		}
	}
	fetch(0)
	if _, err := pmapi.Events(pcp.Num(1.0)); err != pcp.ErrType {
		t.Errorf("events of a number: %v", err)
	}
}

// TestNotReady: while one agent is not ready yet, a client of the others is served from its
// first request on, and the client of this agent is told to ask again. An agent that wants to
// know its clients has pmcd send each new one an error that belongs to no request.
func TestNotReady(t *testing.T) {
	t.Parallel()
	for _, anonymous := range []bool{true, false} {
		t.Run(fmt.Sprintf("anonymous %v", anonymous), func(t *testing.T) {
			t.Parallel()
			o := options(t)
			o.Agents[0].Args = append(o.Agents[0].Args, "--warm", fmt.Sprintf("--anonymous=%v", anonymous))
			o.Agents[0].NotReady = true
			p := pcptest.New(t, o)
			gate := p.WriteFile("gate", "")
			p.StartPmcd()
			for _, host := range []string{"unix:" + p.Socket(), fmt.Sprintf("localhost:%d", p.Port())} {
				c := clientOf(t, host)
				got, err := c.Read(context.Background(), "pmcd.numagents")
				if err != nil || got[0].Values[0].Value.String() != "2" {
					t.Errorf("%s: pmcd.numagents: %v, %v", host, got, err)
				}
				_, err = c.Desc(context.Background(), pcp.MakePMID(domain, 0, 0))
				if !errors.Is(err, pcp.ErrAgain) || !pmapi.MayRetry(err) {
					t.Errorf("%s: %v, MayRetry %v", host, err, pmapi.MayRetry(err))
				}
			}
			if !anonymous {
				return // what becomes of such an agent does not concern its clients
			}
			if err := os.Remove(gate); err != nil {
				t.Fatal(err)
			}
			c := client(t, p)
			pcptest.Eventually(t, "the agent is ready", func() error {
				_, err := c.Read(context.Background(), "test.color")
				return err
			})
		})
	}
}
