// Gadgets supplies the statistics of the guide to the SPMI: gadgets and widgets, level
// and queue, and a context Bingo that comes and goes. The agent dds exports them.
package main

import (
	"context"
	"fmt"
	"os"
	"os/signal"
	"syscall"
	"time"

	"github.com/pcp-rtime/rtime/spmi"
)

// factory is what the fixed contexts hold: a struct for each, a field for each statistic.
type factory struct {
	Test struct {
		Gadgets spmi.Counter `spmi:"gadgets" descr:"Fake counter value" asn:"1" max:"100" units:"count"`
		Widgets spmi.Counter `spmi:"widgets" descr:"Another fake counter value" asn:"2" max:"100" units:"count"`
	}
	SubTest struct {
		Level spmi.Gauge `spmi:"level" descr:"Fake quantity value" asn:"1" max:"100"`
		Queue spmi.Gauge `spmi:"queue" descr:"Another fake quantity value" asn:"2" max:"100"`
	}
	test *spmi.Context
}

// bingo is what every volatile context holds.
type bingo struct {
	Problems  spmi.FloatCounter `spmi:"problems" descr:"Fake counter value" asn:"1" max:"100"`
	Solutions spmi.Counter      `spmi:"solutions" descr:"Another fake counter value" asn:"2" max:"100"`
}

// open publishes the fixed contexts, and declares the volatile ones.
func (f *factory) open(o spmi.Options) (*spmi.Supplier, error) {
	o.Vendor = "DDS/IBM"
	o.Volatile = []*spmi.Context{{Path: "Moretest/NAME", Values: (*bingo)(nil)}}
	f.test = &spmi.Context{Path: "Test", Descr: "Bogus Context Number 1", ASN: 220, Values: &f.Test}
	return spmi.Open(o,
		&spmi.Context{Path: "DDS/IBM", Descr: "IBM-defined Dynamic Data-Suppliers", ASN: 2},
		f.test,
		&spmi.Context{Path: "Moretest", Descr: "Bogus Context Number 2", ASN: 221},
		&spmi.Context{Path: "Moretest/SubTest", Descr: "Bogus Context Number 3", ASN: 222, Values: &f.SubTest},
	)
}

// work makes things. Whoever looks sees both counters of a turn changed, or none.
func (f *factory) work() {
	f.test.Update(func() {
		f.Test.Gadgets.Add(2)
		f.Test.Widgets.Inc()
	})
	f.SubTest.Level.Set(28)
	f.SubTest.Queue.Add(1)
}

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	if err := run(ctx, spmi.Options{}); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

// run supplies until the context is done. Bingo is there every second second.
func run(ctx context.Context, o spmi.Options) error {
	var f factory
	s, err := f.open(o)
	if err != nil {
		return err // the declarations are wrong, or another program has the paths
	}
	defer s.Close()
	if err := s.Err(); err != nil {
		fmt.Fprintln(os.Stderr, "nobody sees the statistics yet:", err)
	}
	var values bingo
	there := &spmi.Context{Path: "Moretest/Bingo", Descr: "Dynamically added", ASN: 1, Values: &values}
	tick := time.NewTicker(time.Second)
	defer tick.Stop()
	for n := 0; ; n++ {
		if s.GoAway() {
			s.Stay() // this process or the machine was stopped for a while
		}
		f.work()
		if n%2 == 0 {
			if err := s.Add(there); err != nil {
				return err
			}
			values.Problems.Add(0.5)
			values.Solutions.Inc()
		} else if err := s.Remove(there); err != nil {
			return err
		}
		select {
		case <-ctx.Done():
			return nil
		case <-tick.C:
		}
	}
}
