package pmda_test

import (
	"testing"

	"github.com/pcp-rtime/rtime/pcp"
	"github.com/pcp-rtime/rtime/pdu"
	"github.com/pcp-rtime/rtime/pmda"
)

// TestDrains: while a callback blocks, notices about clients arrive that fill a pipe
// several times over. Writing them never waits for the callback, and afterwards all
// of them have been taken in order.
func TestDrains(t *testing.T) {
	const clients = 20000 // 90 bytes each, and a pipe holds 64 KiB
	z := newZoo()
	var slots []int32
	z.agent.Gone = func(k *pmda.Client) {
		if k.UID != int(k.Slot) || k.GID != 5 || k.PID != 7 {
			t.Errorf("client %+v", *k)
		}
		slots = append(slots, k.Slot)
	}
	entered, leave := make(chan struct{}), make(chan struct{})
	z.fetch = func(v *pmda.Values) {
		close(entered)
		<-leave
		v.Set(0, pcp.Num(uint64(1)))
	}
	c, _ := visit(t, z)
	c.Send(&pdu.Fetch{PMIDs: []pcp.PMID{zooID(itemCustom)}})
	receive(t, "the fetch to begin", entered)
	written := make(chan struct{})
	go func() {
		defer close(written)
		for i := range int32(clients) {
			c.Client(i, int(i), 5, 7)
			c.Gone(i)
		}
		c.Slot = 1
		c.Send(&pdu.DescReq{PMID: zooID(itemLegs)})
	}()
	receive(t, "the notices to be written while the callback blocks", written)
	close(leave)
	if r, ok := c.Read().(*pdu.Result); !ok || len(r.Sets) != 1 || len(r.Sets[0].Values) != 1 {
		t.Errorf("the fetch is answered with %+v", r)
	}
	if d, ok := c.Read().(*pdu.Desc); !ok || d.Desc.PMID != zooID(itemLegs) {
		t.Errorf("the request behind it is answered with %+v", d)
	}
	for i, s := range slots {
		if int(s) != i {
			t.Fatalf("notice %d is about client %d", i, s)
		}
	}
	if len(slots) != clients {
		t.Errorf("%d of %d notices have been taken", len(slots), clients)
	}
}
