package armsql

import (
	"context"
	"database/sql/driver"
	"io"

	"github.com/pcp-rtime/rtime/arm"
)

// Connector returns a connector whose connections are measured, for sql.OpenDB.
func Connector(app *arm.Application, c driver.Connector, opts ...Option) driver.Connector {
	return &connector{c, newNames(app, opts)}
}

// Driver returns a driver whose connections are measured, for sql.Register.
func Driver(app *arm.Application, d driver.Driver, opts ...Option) driver.Driver {
	return &measured{d, newNames(app, opts)}
}

// Unwrap returns the driver's own connection of what sql.Conn.Raw gives, and what is not
// measured as it is.
func Unwrap(driverConn any) any {
	if c, ok := driverConn.(interface{ unwrap() driver.Conn }); ok {
		return c.unwrap()
	}
	return driverConn
}

type connector struct {
	driver.Connector
	names *names
}

// Connect implements driver.Connector.
func (c *connector) Connect(ctx context.Context) (driver.Conn, error) {
	call := c.names.start(ctx, Connect, "")
	inner, err := c.Connector.Connect(call.ctx)
	call.stop(err)
	if err != nil {
		return nil, err
	}
	return newConn(inner, c.names), nil
}

// Close is called when the sql.DB is closed.
func (c *connector) Close() error {
	if closer, ok := c.Connector.(io.Closer); ok {
		return closer.Close()
	}
	return nil
}

type measured struct {
	driver.Driver
	names *names
}

// Open implements driver.Driver.
func (d *measured) Open(name string) (driver.Conn, error) {
	return (&connector{named{d.Driver, name}, d.names}).Connect(context.Background())
}

// OpenConnector implements driver.DriverContext.
func (d *measured) OpenConnector(name string) (driver.Connector, error) {
	if inner, ok := d.Driver.(driver.DriverContext); ok {
		c, err := inner.OpenConnector(name)
		if err != nil {
			return nil, err
		}
		return &connector{c, d.names}, nil
	}
	return &connector{named{d.Driver, name}, d.names}, nil
}

// named connects by a driver that has no connectors.
type named struct {
	driver driver.Driver
	name   string
}

// Connect implements driver.Connector.
func (n named) Connect(context.Context) (driver.Conn, error) { return n.driver.Open(n.name) }

// Driver implements driver.Connector.
func (n named) Driver() driver.Driver { return n.driver }
