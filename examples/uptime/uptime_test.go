package main

import (
	"testing"

	"github.com/pcp-rtime/rtime/pcp"
	"github.com/pcp-rtime/rtime/pmda/pmdatest"
)

func TestUptime(t *testing.T) {
	c := pmdatest.Start(t, agent)
	if d, err := c.Desc("uptime.seconds"); err != nil || d.Type != pcp.TypeDouble || d.Units != pcp.Seconds {
		t.Errorf("uptime.seconds is %+v, %v", d, err)
	}
	v, err := c.Value("uptime.seconds", "")
	if s, _ := v.Float64(); err != nil || !(s > 0) {
		t.Errorf("uptime.seconds: %v, %v", v, err)
	}
}
