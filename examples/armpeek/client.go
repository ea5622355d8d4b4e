package main

import (
	"context"
	"fmt"

	"github.com/pcp-rtime/rtime/pmapi"
)

// greeting connects and asks nothing.
func greeting(ctx context.Context, c *pmapi.Client) ([]string, error) {
	if err := c.Connect(ctx); err != nil {
		return nil, err
	}
	return []string{fmt.Sprintf("pmcd of %s answers", c.Host())}, nil
}

// metrics returns the names of all metrics.
func metrics(ctx context.Context, c *pmapi.Client) ([]string, error) { return c.Traverse(ctx, "") }

// agents returns the names of the agents, which are instances of a metric of pmcd's.
func agents(ctx context.Context, c *pmapi.Client) ([]string, error) {
	status, err := c.Metrics(ctx, "pmcd.agent.status")
	if err != nil {
		return nil, err
	}
	list, err := c.Instances(ctx, status[0].InDom)
	var names []string
	for _, i := range list {
		names = append(names, i.Name)
	}
	return names, err
}
