// Speed prints the cost of an increment of a counter of the speed library, in nanoseconds
// of CPU. It is a program of its own because that library reads PCP_TMP_DIR when a program
// starts.
package main

import (
	"fmt"
	"log"

	"github.com/performancecopilot/speed/v4"
	"golang.org/x/sys/unix"
)

// cpuTime is the processor time of this program in nanoseconds.
func cpuTime() int64 {
	var t unix.Timespec
	_ = unix.ClockGettime(unix.CLOCK_PROCESS_CPUTIME_ID, &t)
	return t.Nano()
}

func main() {
	log.SetFlags(0)
	speed.EraseFileOnStop = true
	c, err := speed.NewPCPClient("rtimebenchspeed")
	if err != nil {
		log.Fatal(err)
	}
	n, err := speed.NewPCPCounter(0, "rtimebench.problems")
	if err != nil {
		log.Fatal(err)
	}
	c.MustRegister(n)
	if err := c.Start(); err != nil {
		log.Fatal(err)
	}
	defer c.Stop()
	const times = 1000000
	begin := cpuTime()
	for range times {
		n.Up()
	}
	fmt.Printf("%.3f\n", float64(cpuTime()-begin)/times)
	if n.Val() != times {
		log.Fatal("counting failed")
	}
}
