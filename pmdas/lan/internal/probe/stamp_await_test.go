//go:build linux

package probe

import (
	"net/netip"
	"testing"
	"time"
)

// However busy the machine, the kernel begins to stamp at some time.
func init() { awaitTime = time.Minute }

// TestStampsFromTheStart: the very first reply is stamped by the kernel, however long
// it lies in the socket.
func TestStampsFromTheStart(t *testing.T) {
	for range 20 {
		e, err := OpenLinux(Options{Report: func(err error) { t.Error(err) }})
		if err != nil {
			t.Fatal(err)
		}
		if err := e.Send(netip.MustParseAddr("127.0.0.1"), 1); err != nil {
			t.Fatal(err)
		}
		time.Sleep(20 * time.Millisecond)
		var ev []Event
		for end := time.Now().Add(patience); len(ev) == 0 && time.Now().Before(end); {
			ev = e.Poll(ev)
		}
		if len(ev) != 1 || ev[0].Stamps != StampsKernel {
			t.Fatalf("the first reply: %+v", ev)
		}
		e.Close()
	}
}
