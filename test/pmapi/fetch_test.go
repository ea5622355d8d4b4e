package pmapi

import (
	"context"
	"fmt"
	"testing"
	"time"

	"github.com/pcp-rtime/rtime/pcp"
	"github.com/pcp-rtime/rtime/pmapi"
)

// TestFetch: a fetch brings the values of all metrics at one moment, with their types.
func TestFetch(t *testing.T) {
	t.Parallel()
	p := start(t)
	c := client(t, p)
	list := metrics(t, c, "pmcd.numagents", "test.color", "test.fetches", "pmcd.version")
	var s pmapi.Sample
	for n := range 3 {
		before := time.Now()
		if err := c.Fetch(context.Background(), &s, nil, list...); err != nil {
			t.Fatal(err)
		}
		if s.Time.Before(before) || s.Time.After(time.Now()) {
			t.Errorf("the sample is of %v, fetched between %v and now", s.Time, before)
		}
		got := fmt.Sprint(s.Sets[0].Values, s.Sets[1].Values, s.Sets[2].Values, s.Sets[3].Values)
		want := fmt.Sprintf("[{-1 2}] [{0 5} {1 5}] [{-1 %d}] [{-1 %s}]", n+1, p.Value("pmcd.version"))
		if got != want {
			t.Errorf("values %s, want %s", got, want)
		}
		for i, m := range list {
			if v := s.Sets[i].Values[0].Value; v.Type() != m.Type {
				t.Errorf("%s: a value of type %v, want %v", m.Name, v.Type(), m.Type)
			}
		}
	}
}

// TestRead: names in, values with the names of their instances out.
func TestRead(t *testing.T) {
	t.Parallel()
	p := start(t)
	list, err := pmapi.Fetch(context.Background(), "unix:"+p.Socket(), "test.color", "pmcd.numagents", "test.parameter")
	if err != nil {
		t.Fatal(err)
	}
	color := []pmapi.Value{{Instance: pcp.Instance{ID: 0, Name: "red"}, Value: pcp.Num(uint32(5))},
		{Instance: pcp.Instance{ID: 1, Name: "green"}, Value: pcp.Num(uint32(5))}}
	if got, want := fmt.Sprint(list[0].Values), fmt.Sprint(color); got != want || list[0].Name != "test.color" {
		t.Errorf("%s: %s, want %s", list[0].Name, got, want)
	}
	if got := fmt.Sprint(list[1].Values); got != "[{{-1 } 2}]" {
		t.Errorf("pmcd.numagents: %s", got)
	}
	if list[2].Err != pcp.ErrValue || len(list[2].Values) != 0 {
		t.Errorf("test.parameter: %v, %v, want %v", list[2].Values, list[2].Err, pcp.ErrValue)
	}
}
