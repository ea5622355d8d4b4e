// Speed prints the cost of a counter's Up and of a histogram's Record of the speed library,
// in nanoseconds. It is a program of its own, so that no package of the tree uses that
// library for this.
package main

import (
	"fmt"
	"log"

	"github.com/performancecopilot/speed/v4"

	"github.com/pcp-rtime/rtime/bench/arm/internal/fastest"
)

func main() {
	log.SetFlags(0)
	speed.EraseFileOnStop = true
	c, err := speed.NewPCPClient("rtimebencharm")
	if err != nil {
		log.Fatal(err)
	}
	n, err := speed.NewPCPCounter(0, "rtimebencharm.count")
	if err != nil {
		log.Fatal(err)
	}
	h, err := speed.NewPCPHistogram("rtimebencharm.time", 0, 1000000, 2, speed.MicrosecondUnit)
	if err != nil {
		log.Fatal(err)
	}
	c.MustRegister(n)
	c.MustRegister(h)
	if err := c.Start(); err != nil {
		log.Fatal(err)
	}
	defer c.Stop()
	up := fastest.Each(200, 1000, func(n0 int) {
		for range n0 {
			n.Up()
		}
	})
	record := fastest.Each(50, 10, func(n int) {
		for i := range n {
			h.MustRecord(int64(i))
		}
	})
	fmt.Printf("%.2f %.2f\n", up[0], record[0])
}
