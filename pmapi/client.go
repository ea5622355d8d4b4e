package pmapi

import (
	"context"
	"errors"
	"math/rand/v2"
	"sync"
	"time"
)

// Client makes connections to a pmcd as they are needed: it connects at the first request, and
// again when the connection has been lost. Then it restores what the old connection had: the
// container, and the profile of each fetch. If a request finds its old connection broken, and
// MayRetry says that this does no harm, it is sent once more on a new one.
//
// Any number of goroutines may use a Client; they take turns. A goroutine that waits for its
// turn stops waiting when its context ends.
//
// If no connection can be made, requests fail at once with the reason, and MayRetry is true
// for it. The first request after a pause makes the next attempt. The pause begins at 50 ms
// and doubles up to 2 s; requests during the pause fail with the same reason.
type Client struct {
	requests
	host Host
	opts Options

	turn chan struct{} // holds one element while a goroutine has its turn
	over context.Context
	end  context.CancelFunc

	mu   sync.Mutex // for Close, which does not wait for a turn
	conn *Conn      // nil if there is none

	// The goroutine that has its turn owns these.
	changes Changes
	before  bool  // there has been a connection before
	failed  error // the error of the last attempt to connect
	pause   time.Duration
	until   time.Time // the end of the pause
}

// Pauses between attempts to connect.
const (
	firstPause = 50 * time.Millisecond
	lastPause  = 2 * time.Second
)

// NewClient returns a Client of the pmcd of a host. The host has the notation of ParseHost; ""
// means "local:". NewClient does not connect; the first request or Connect does. The error
// says what is wrong with the notation. Close the Client when it is not needed any more.
func NewClient(host string, o *Options) (*Client, error) {
	h, err := ParseHost(host)
	if err != nil {
		return nil, err
	}
	return newClient(h, o.resolve()), nil
}

func newClient(h Host, o Options) *Client {
	c := &Client{host: h, opts: o, turn: make(chan struct{}, 1)}
	c.over, c.end = context.WithCancel(context.Background())
	c.via = c
	return c
}

// Local returns a Client of this machine's pmcd, with default options.
func Local() *Client {
	h, _ := ParseHost("local:")
	return newClient(h, (*Options)(nil).resolve())
}

// Host returns what the Client connects to.
func (c *Client) Host() Host { return c.host }

// Close closes the connection for good. Requests that are under way fail with ErrClosed.
func (c *Client) Close() error {
	c.end()
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.conn != nil {
		return c.conn.Close()
	}
	return nil
}

// Connect connects if there is no connection. A program can use it to find out early that a
// host cannot be reached; other requests connect by themselves.
func (c *Client) Connect(ctx context.Context) error {
	if err := c.take(ctx, "connection"); err != nil {
		return err
	}
	defer c.give()
	_, err := c.connected(ctx)
	return err
}

// take waits for a turn.
func (c *Client) take(ctx context.Context, op string) error {
	err := ctx.Err()
	if err == nil {
		select {
		case c.turn <- struct{}{}:
			if c.over.Err() == nil {
				return nil
			}
			c.give()
			err = ErrClosed
		case <-ctx.Done():
			err = ctx.Err()
		}
	}
	return &Error{Op: op, Host: c.host.String(), Err: err, again: err != ErrClosed}
}

func (c *Client) give() { <-c.turn }

// exchange carries out a request, on a new connection if the old one is lost.
func (c *Client) exchange(ctx context.Context, x exchange) error {
	if err := c.take(ctx, x.name()); err != nil {
		return err
	}
	defer c.give()
	for {
		fresh, err := c.connected(ctx)
		if err != nil {
			return err
		}
		err = c.conn.exchange(ctx, x)
		if c.conn.broken == nil {
			return err
		}
		c.drop()
		if fresh || !MayRetry(err) || ctx.Err() != nil || errors.Is(err, ErrTimeout) || c.over.Err() != nil {
			return err
		}
	}
}

// connected makes a connection if there is none, and reports whether it is a new one.
func (c *Client) connected(ctx context.Context) (fresh bool, err error) {
	if c.conn != nil {
		return false, nil
	}
	if c.failed != nil && time.Now().Before(c.until) {
		return false, c.failed
	}
	limited, cancel := context.WithCancel(ctx)
	defer cancel()
	defer context.AfterFunc(c.over, cancel)()
	conn, err := dial(limited, c.host, c.opts)
	switch {
	case err == nil:
	case c.over.Err() != nil:
		return false, &Error{Op: "connection", Host: c.host.String(), Err: ErrClosed}
	case ctx.Err() != nil:
		return false, err // this error says nothing about pmcd
	default:
		c.pause = min(max(2*c.pause, firstPause), lastPause)
		c.until = time.Now().Add(c.pause/2 + rand.N(c.pause/2))
		c.failed = err
		return false, err
	}
	c.failed, c.pause = nil, 0
	if c.before {
		c.changes.reconnected()
	}
	c.before = true
	conn.changes = c.changes
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.over.Err() != nil {
		conn.Close()
		return false, &Error{Op: "connection", Host: c.host.String(), Err: ErrClosed}
	}
	c.conn = conn
	return true, nil
}

// drop forgets a closed connection.
func (c *Client) drop() {
	c.changes = c.conn.changes
	c.mu.Lock()
	c.conn = nil
	c.mu.Unlock()
}
