package main

import (
	"fmt"
	"io"

	"github.com/pcp-rtime/rtime/pcp"
	"github.com/pcp-rtime/rtime/pdu"
)

// client is a connection to pmcd.
type client struct {
	w       io.Writer
	r       *pdu.Reader
	version uint8
}

// connect takes pmcd's greeting and answers it.
func connect(conn io.ReadWriter) (*client, error) {
	c := &client{w: conn, r: pdu.NewReader(conn, 1<<24)}
	b, err := c.r.Next()
	if err != nil {
		return nil, err
	}
	var g pdu.Greeting
	if err := g.Parse(b); err != nil {
		return nil, err
	}
	if g.Code < 0 {
		return nil, g.Code
	}
	c.version = g.Version
	return c, c.send(&pdu.Creds{Version: 2})
}

func (c *client) send(p pdu.PDU) error {
	_, err := c.w.Write(p.Append(nil, 0))
	return err
}

// ask sends a request and parses the answer.
func (c *client) ask(request, answer pdu.PDU) error {
	if err := c.send(request); err != nil {
		return err
	}
	b, err := c.r.Next()
	if err != nil {
		return err
	}
	var refused pdu.Error
	if refused.Parse(b) == nil && refused.Code < 0 {
		return refused.Code
	}
	return answer.Parse(b)
}

func (c *client) greeting() ([]string, error) {
	return []string{fmt.Sprintf("pmcd answers, in version %d of the protocol", c.version)}, nil
}

// metrics returns the names of all metrics.
func (c *client) metrics() ([]string, error) {
	var names pdu.Names
	err := c.ask(&pdu.Traverse{}, &names)
	return names.Names, err
}

// agents returns the names of the agents, which are instances of a metric of pmcd's.
func (c *client) agents() ([]string, error) {
	var ids pdu.IDs
	if err := c.ask(&pdu.Names{Names: []string{"pmcd.agent.status"}}, &ids); err != nil {
		return nil, err
	}
	if len(ids.PMIDs) != 1 {
		return nil, pcp.ErrName
	}
	var desc pdu.Desc
	if err := c.ask(&pdu.DescReq{PMID: ids.PMIDs[0]}, &desc); err != nil {
		return nil, err
	}
	var inst pdu.Instance
	if err := c.ask(&pdu.InstanceReq{InDom: desc.Desc.InDom, Inst: pcp.InstNull}, &inst); err != nil {
		return nil, err
	}
	var names []string
	for _, i := range inst.Instances {
		names = append(names, i.Name)
	}
	return names, nil
}
