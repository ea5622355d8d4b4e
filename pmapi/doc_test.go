package pmapi_test

import (
	"context"
	"log"
	"time"

	"github.com/pcp-rtime/rtime/pmapi"
)

// The code in the package comment; go test ./docs looks for it here.
var _ = []func(context.Context, *time.Ticker) error{
	func(ctx context.Context, _ *time.Ticker) error {
		readings, err := pmapi.Fetch(ctx, "farm1", "disk.dev.read")
		log.Print(readings)
		return err
	},
	func(ctx context.Context, ticker *time.Ticker) error {
		c := pmapi.Local()
		defer c.Close()
		metrics, err := c.Metrics(ctx, "kernel.all.load", "disk.dev.read")
		if err != nil {
			return err
		}
		var s pmapi.Sample
		for range ticker.C {
			if err := c.Fetch(ctx, &s, nil, metrics...); err != nil {
				log.Print(err)
				continue
			}
			log.Print(s.Time, s.Sets)
		}
		return nil
	},
}
