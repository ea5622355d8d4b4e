package pmapi

import (
	"context"
	"fmt"
	"testing"

	"github.com/pcp-rtime/rtime/pcp"
	"github.com/pcp-rtime/rtime/pmapi"
	"github.com/pcp-rtime/rtime/test/pcptest"
)

// TestCreate: looking an instance up by name creates it, where the agent does that, and its
// number stays.
func TestCreate(t *testing.T) {
	t.Parallel()
	p := pcptest.New(t, pcptest.Options{Agents: []pcptest.Agent{{Name: "rtlan", Domain: 470,
		Program: pcptest.Build(t, "rtlan", "pmdas/lan"), Args: []string{"--config", "../rtlan.conf"}}}})
	p.WriteFile("rtlan.conf", "interval 0.5\ntimeout 20\nhost 127.0.0.1\n")
	p.StartPmcd()
	c := client(t, p)
	ctx := context.Background()
	m := metrics(t, c, "rtime.lan.requests")[0]
	id, err := c.LookupInstance(ctx, m.InDom, "127.0.0.9")
	if err != nil {
		t.Fatal(err)
	}
	if again, err := c.LookupInstance(ctx, m.InDom, "127.0.0.9"); err != nil || again != id {
		t.Errorf("the same again: %d, %v; want %d", again, err, id)
	}
	if name, err := c.InstanceName(ctx, m.InDom, id); err != nil || name != "127.0.0.9" {
		t.Errorf("instance %d is %q, %v", id, name, err)
	}
	var s pmapi.Sample
	pcptest.Eventually(t, "the new host is measured", func() error {
		if err := c.Fetch(ctx, &s, pmapi.Only(m.InDom, id), m); err != nil {
			return err
		}
		if v, ok := s.Find(0, id); !ok || v.Bits() == 0 {
			return fmt.Errorf("%v, %v", s.Sets[0], pcp.ErrValue)
		}
		return nil
	})
}
