// Armpeek asks the pmcd of a host about itself, and measures each question as a
// transaction: the instrumented sample program of the Performance Toolbox guide, for PCP.
//
//	armpeek [-a | -l] [HOST]
//
// Without a flag it says whether pmcd answers; -l lists the agents that it runs, -a all
// metrics. The application is called armpeek, and there is a transaction for each
// combination of host and flag, such as myhost-l; "armpeek" alone is localhost.
package main

import (
	"context"
	"flag"
	"fmt"
	"io"
	"log"
	"os"
	"time"

	"github.com/pcp-rtime/rtime/arm"
	"github.com/pcp-rtime/rtime/pmapi"
)

const timeout = 10 * time.Second

func main() {
	log.SetFlags(0)
	log.SetPrefix("armpeek: ")
	all := flag.Bool("a", false, "list all metrics")
	list := flag.Bool("l", false, "list the agents")
	flag.Parse()
	if flag.NArg() > 1 || *all && *list {
		log.Fatal("usage: armpeek [-a | -l] [HOST]")
	}
	what := plain
	switch {
	case *all:
		what = dashA
	case *list:
		what = dashL
	}
	app := arm.NewApplication("armpeek")
	defer app.Close()
	if err := app.Err(); err != nil {
		log.Print("not measured: ", err)
	}
	if err := peek(app, flag.Arg(0), what, os.Stdout); err != nil {
		log.Fatal(err)
	}
}

// question is what is asked, and the flag that asks it.
type question struct {
	flag string
	ask  func(context.Context, *pmapi.Client) ([]string, error)
}

var (
	plain = question{"", greeting}
	dashL = question{"-l", agents}
	dashA = question{"-a", metrics}
)

// peek asks one question as a transaction.
func peek(app *arm.Application, host string, q question, out io.Writer) error {
	if host == "" {
		host = "localhost"
	}
	lines := arm.NewGauge("lines of the answer")
	running := app.Transaction(host+q.flag, arm.Metrics(lines)).Start(context.Background())
	answer, err := ask(host, q)
	running.Stop(arm.StatusOf(err), lines.Value(int64(len(answer))))
	for _, line := range answer {
		fmt.Fprintln(out, line)
	}
	return err
}

func ask(host string, q question) ([]string, error) {
	ctx, cancel := context.WithTimeout(context.Background(), timeout)
	defer cancel()
	c, err := pmapi.NewClient(host, nil)
	if err != nil {
		return nil, err
	}
	defer c.Close()
	return q.ask(ctx, c)
}
