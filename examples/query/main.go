// Query does something two thousand times and has each time measured: the program of
// docs/measuring-transactions.md.
package main

import (
	"context"
	"math/rand/v2"
	"time"

	"github.com/pcp-rtime/rtime/arm"
)

func main() {
	app := arm.NewApplication("Checking Account Query")
	defer app.Close()
	query := app.Transaction("Last Check Query")
	for i := range 2000 {
		running := query.Start(context.Background())
		time.Sleep(time.Duration(1000+rand.IntN(4000)) * time.Microsecond) // the work
		status := arm.Good
		if i%100 == 0 {
			status = arm.Failed
		}
		running.Stop(status)
	}
}
