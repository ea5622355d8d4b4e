package pmapi_test

import (
	"context"
	"errors"
	"fmt"
	"log"
	"time"

	"github.com/pcp-rtime/rtime/pcp"
	"github.com/pcp-rtime/rtime/pdu"
	"github.com/pcp-rtime/rtime/pmapi"
)

// The values of a metric in one line, with the names of their instances.
func ExampleFetch() {
	ctx := context.Background()
	readings, err := pmapi.Fetch(ctx, "farm1", "disk.dev.read")
	if err != nil {
		log.Fatal(err)
	}
	for _, v := range readings[0].Values {
		fmt.Println(v.Name, v.Value)
	}
}

// A program that asks again and again looks its metrics up once.
func ExampleClient() {
	ctx := context.Background()
	ticker := time.NewTicker(time.Second)
	c := pmapi.Local()
	defer c.Close()
	metrics, err := c.Metrics(ctx, "kernel.all.load", "disk.dev.read")
	if err != nil {
		log.Fatal(err)
	}
	var s pmapi.Sample
	for range ticker.C {
		if err := c.Fetch(ctx, &s, nil, metrics...); err != nil {
			log.Print(err)
			continue
		}
		for _, v := range s.Sets[0].Values {
			fmt.Println(s.Time, v.Inst, v.Value)
		}
	}
}

// A rate of a counter needs two samples. They change places before each fetch.
func ExampleClient_rates() {
	ctx := context.Background()
	ticker := time.NewTicker(time.Second)
	c := pmapi.Local()
	defer c.Close()
	metrics, err := c.Metrics(ctx, "disk.dev.read")
	if err != nil {
		log.Fatal(err)
	}
	var now, before pmapi.Sample
	for range ticker.C {
		now, before = before, now
		if err := c.Fetch(ctx, &now, nil, metrics...); err != nil {
			log.Print(err)
			continue
		}
		for j, v := range now.Sets[0].Values {
			if rate, err := now.Rate(&before, 0, j); err == nil {
				fmt.Println(v.Inst, rate, metrics[0].RateUnits())
			}
		}
	}
}

// A profile restricts a fetch to some instances.
func ExampleOnly() {
	ctx := context.Background()
	c := pmapi.Local()
	defer c.Close()
	metrics, err := c.Metrics(ctx, "disk.dev.read")
	if err != nil {
		log.Fatal(err)
	}
	sda, err := c.LookupInstance(ctx, metrics[0].InDom, "sda")
	if err != nil {
		log.Fatal(err)
	}
	var s pmapi.Sample
	err = c.Fetch(ctx, &s, pmapi.Only(metrics[0].InDom, sda), metrics...)
	fmt.Println(s.Sets, err)
}

// A request that may be sent again is repeated until its context ends.
func ExampleMayRetry() {
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	c := pmapi.Local()
	defer c.Close()
	for {
		err := c.Connect(ctx)
		if err == nil || !pmapi.MayRetry(err) || ctx.Err() != nil {
			break
		}
		time.Sleep(time.Second)
	}
}

func ExampleParseHost() {
	h, err := pmapi.ParseHost("pcps://farm1:44321?container=web")
	fmt.Println(h.Name, h.Ports, h.Secure, h.Container, err)
	_, err = pmapi.ParseHost("farm1:0")
	fmt.Println(err)
	// Output:
	// farm1 [44321] true web <nil>
	// pmapi: host "farm1:0": port "0" is not within 1..65535
}

// A counter of bytes has wrapped between two samples. Its rate is still right.
func ExampleSample_Rate() {
	m := &pmapi.Metric{Name: "network.interface.in.bytes", Desc: pcp.Desc{PMID: pcp.MakePMID(60, 3, 0),
		Type: pcp.TypeU32, Sem: pcp.SemCounter, Units: pcp.Bytes}}
	sample := func(at int64, bytes uint32) *pmapi.Sample {
		return &pmapi.Sample{Time: time.Unix(at, 0), Metrics: []*pmapi.Metric{m},
			Sets: []pdu.ValueSet{{PMID: m.PMID, Values: []pdu.InstValue{{Inst: 0, Value: pcp.Num(bytes)}}}}}
	}
	before, now, later := sample(0, 4294967000), sample(2, 704), sample(4, 100)
	rate, err := now.Rate(before, 0, 0)
	fmt.Println(rate, m.RateUnits(), err)
	_, err = later.Rate(now, 0, 0)
	fmt.Println(errors.Is(err, pmapi.ErrRestart), err)
	// Output:
	// 500 byte / sec <nil>
	// true no rate: the counter has begun anew since the sample before
}
