package pmapi

import (
	"context"
	"crypto/tls"
	"fmt"
	"io"
	"strings"

	"github.com/pcp-rtime/rtime/pcp"
	"github.com/pcp-rtime/rtime/pdu"
)

// featureSecureAck says that pmcd confirms before TLS begins.
const featureSecureAck uint16 = 0x0010

// Features by which pmcd demands credentials or a certificate of each client.
const (
	featureCredsRequired uint16 = 0x0008
	featureCertRequired  uint16 = 0x0080
)

var (
	errPlain = fmt.Errorf("%w: TLS; with ?secure=relaxed it is done without", ErrNotOffered)
	errLogin = fmt.Errorf("%w: access without a login by SASL, which this package does not speak; use the Unix socket", ErrNotOffered)
)

// greet takes pmcd's greeting and introduces the client.
func (c *Conn) greet(ctx context.Context, t target) error {
	if c.host.Proxy != "" {
		if err := c.askProxy(t); err != nil {
			return err
		}
	}
	c.r = pdu.NewReader(c.rw, c.opts.MaxAnswer)
	b, err := c.r.Next()
	if err != nil {
		return fmt.Errorf("waiting for pmcd's greeting: %w", err)
	}
	var g pdu.Greeting
	if err := g.Parse(b); err != nil {
		return fmt.Errorf("this is not the greeting of a pmcd: %w", err)
	}
	if g.Code < 0 {
		return firstVersion(g.Code)
	}
	if g.Version != 2 {
		return fmt.Errorf("pmcd speaks version %d of the protocol, and this package version 2", g.Version)
	}
	c.features = g.Features
	flags, err := c.flags(t)
	if err != nil {
		return err
	}
	if _, err := c.rw.Write((&pdu.Creds{Version: 2, Flags: flags}).Append(nil, 0)); err != nil {
		return err
	}
	if flags&pcp.FeatureSecure != 0 {
		if err := c.secure(ctx, flags, t); err != nil {
			return err
		}
	}
	if flags&pcp.FeatureContainer != 0 {
		a := pdu.Attr{Attr: pcp.AttrContainer, Value: c.host.Container}
		if _, err := c.rw.Write(a.Append(nil, 0)); err != nil {
			return err
		}
	}
	if t.network == "unix" || flags&pcp.FeatureContainer != 0 {
		return c.skipErrors()
	}
	return nil
}

// skipErrors reads errors that belong to no request. pmcd tells its agents who its clients are:
// the user at the other end of a Unix socket, the container. If an agent is not ready yet, pmcd
// sends the client pcp.ErrAgain, which would be taken for the answer to the first request. So
// the first request is one that pmcd answers without its agents.
func (c *Conn) skipErrors() error {
	request := pdu.Names{Names: []string{"pmcd.version"}}
	if _, err := c.rw.Write(request.Append(nil, 0)); err != nil {
		return err
	}
	for range 4 { // the attributes of a client: process, group, user, container
		b, err := c.r.Next()
		if err != nil {
			return fmt.Errorf("waiting for pmcd's first answer: %w", err)
		}
		switch code, err := refusal(b); {
		case err != nil:
			return err
		case code == pcp.ErrAgain, code > 0:
		case code == pcp.ErrName:
			return nil
		case code < 0:
			return code
		default:
			return new(pdu.IDs).Parse(b)
		}
	}
	return fmt.Errorf("pmcd does not come to its first answer: %w", pcp.ErrAgain)
}

// flags returns the features that the client wants, out of those that pmcd offers.
func (c *Conn) flags(t target) (uint16, error) {
	var flags uint16
	if c.features&featureCredsRequired != 0 {
		if t.network != "unix" {
			return 0, errLogin
		}
		flags |= featureCredsRequired
	}
	if c.host.Secure {
		switch {
		case c.features&pcp.FeatureSecure != 0:
			flags |= pcp.FeatureSecure | c.features&(featureSecureAck|featureCertRequired)
		case !c.host.Relaxed:
			return 0, errPlain
		}
	}
	if c.host.Container != "" {
		if c.features&pcp.FeatureContainer == 0 {
			return 0, fmt.Errorf("containers: %w", ErrNotOffered)
		}
		flags |= pcp.FeatureContainer
	}
	return flags, nil
}

// secure begins TLS.
func (c *Conn) secure(ctx context.Context, flags uint16, t target) error {
	if flags&featureSecureAck != 0 {
		b, err := c.r.Next()
		if err != nil {
			return fmt.Errorf("waiting for pmcd's consent to TLS: %w", err)
		}
		var e pdu.Error
		if err := e.Parse(b); err != nil {
			return err
		}
		if e.Code < 0 {
			return e.Code
		}
	}
	// Bytes that came in the clear must not be taken for bytes that came through TLS.
	if c.r.Buffered() > 0 {
		return fmt.Errorf("before TLS: %w", ErrProtocol)
	}
	conf := c.opts.TLS.Clone()
	if conf == nil {
		conf = new(tls.Config)
	}
	if conf.ServerName == "" {
		conf.ServerName = t.host
	}
	s := tls.Client(c.raw, conf)
	if err := s.HandshakeContext(ctx); err != nil {
		return err
	}
	c.rw, c.secured = s, true
	c.r = pdu.NewReader(s, c.opts.MaxAnswer)
	return nil
}

// askProxy asks pmproxy to connect to pmcd; see pmproxy(1). Each side sends a line that says
// who it is. The client sends a second line with the host and the port.
func (c *Conn) askProxy(t target) error {
	if _, err := io.WriteString(c.rw, "pmproxy-client 1\n"); err != nil {
		return err
	}
	var line []byte
	for b := make([]byte, 1); len(line) < 64; line = append(line, b[0]) {
		if _, err := io.ReadFull(c.rw, b); err != nil {
			return fmt.Errorf("waiting for pmproxy: %w", err)
		}
		if b[0] == '\n' {
			break
		}
	}
	if strings.TrimSuffix(string(line), "\r") != "pmproxy-server 1" {
		return fmt.Errorf("%q is not the greeting of a pmproxy", line)
	}
	_, err := fmt.Fprintf(c.rw, "%s %d\n", t.host, t.port)
	return err
}

// firstVersion translates a code of the first version of the protocol. pmcd uses that version
// to refuse clients whose version it does not know yet.
func firstVersion(code pcp.Error) pcp.Error {
	if code <= -1000 && code > -2000 {
		return code + 1000 + pcp.ErrGeneric
	}
	return code
}
