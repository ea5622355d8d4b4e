package arm_test

import (
	"context"
	"errors"
	"fmt"
	"log"
	"net/http"

	"github.com/pcp-rtime/rtime/arm"
)

func Example() {
	app := arm.NewApplication("Checking Account Query")
	query := app.Transaction("Last Check Query")

	lastCheck := func(ctx context.Context) error {
		running := query.Start(ctx)
		err := ask(ctx)
		running.Stop(arm.StatusOf(err))
		return err
	}
	if err := lastCheck(context.Background()); err != nil {
		log.Print(err)
	}
	app.Close()
}

// ask stands for the work that is measured.
func ask(context.Context) error { return errors.New("no such account") }

// Whether the agent sees what is measured is not the program's concern, but Err tells.
func ExampleApplication_Err() {
	app := arm.NewApplication("Night Batch", arm.Dir("/nonexistent"))
	if err := app.Err(); err != nil {
		fmt.Println("nobody sees it for now:", err)
	}
	// Output: nobody sees it for now: create in /nonexistent: no such file or directory
}

// A status that is found out on the way is best set in a deferred call.
func ExampleRunning_Stop() {
	query := arm.NewApplication("Ledger").Transaction("Post")
	post := func(ctx context.Context) (err error) {
		running := query.Start(ctx)
		defer func() { running.Stop(arm.StatusOf(err)) }()
		return ctx.Err()
	}
	if err := post(context.Background()); err != nil {
		log.Print(err)
	}
}

// Values of metrics are given to Start, Update and Stop.
func ExampleMetrics() {
	rows, depth, table := arm.NewCounter("rows read"), arm.NewGauge("queue length"), arm.NewString("table")
	scan := arm.NewApplication("Ledger").Transaction("Scan", arm.Metrics(rows, depth, table))

	running := scan.Start(context.Background(), rows.Value(0), table.Value("accounts"))
	running.Update(rows.Value(1000), depth.Value(3))
	running.Stop(arm.Good, rows.Value(1700))
}

// What is started with the context that StartContext returns is a child.
func ExampleTransaction_StartContext() {
	app := arm.NewApplication("Orders")
	order, stock := app.Transaction("Order"), app.Transaction("Stock")

	ctx, running := order.StartContext(context.Background())
	inner := stock.Start(ctx)
	inner.Stop(arm.Good)
	running.Stop(arm.Good)
}

// A correlator goes to other processes as bytes, or as a header that others understand,
// too. Package armhttp does this.
func ExampleCorrelatorFromTraceparent() {
	r, _ := http.NewRequest("GET", "/", nil)
	r.Header.Set("Traceparent", "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01")
	ctx := r.Context()
	if c, err := arm.CorrelatorFromTraceparent(r.Header.Get("Traceparent")); err == nil {
		ctx = arm.ContextWithCorrelator(ctx, c)
	}
	header, ok := arm.CorrelatorFromContext(ctx).Traceparent()
	fmt.Println(header, ok)
	// Output: 00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01 true
}
