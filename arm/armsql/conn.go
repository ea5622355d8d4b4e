package armsql

import (
	"context"
	"database/sql/driver"
	"errors"
)

// conn measures a connection. What a driver may lack and database/sql can tell is left to
// queryer and execer; all else is answered as database/sql does for a driver without it.
type conn struct {
	driver.Conn
	names   *names
	skipped *call // what the driver has not done without a prepared statement
}

// newConn returns a connection that runs statements without preparing them if inner does.
func newConn(inner driver.Conn, n *names) driver.Conn {
	c := &conn{Conn: inner, names: n}
	q, queries := queryOf(inner)
	e, execs := execOf(inner)
	switch {
	case queries && execs:
		return struct {
			*conn
			queryer
			execer
		}{c, queryer{c, q}, execer{c, e}}
	case queries:
		return struct {
			*conn
			queryer
		}{c, queryer{c, q}}
	case execs:
		return struct {
			*conn
			execer
		}{c, execer{c, e}}
	}
	return c
}

func (c *conn) unwrap() driver.Conn { return c.Conn }

// Ping implements driver.Pinger.
func (c *conn) Ping(ctx context.Context) error {
	p, ok := c.Conn.(driver.Pinger)
	if !ok {
		return nil
	}
	call := c.names.start(ctx, Ping, "")
	err := p.Ping(call.ctx)
	call.stop(err)
	return err
}

// Prepare implements driver.Conn.
func (c *conn) Prepare(query string) (driver.Stmt, error) {
	return c.PrepareContext(context.Background(), query)
}

// PrepareContext implements driver.ConnPrepareContext. What is prepared because the driver
// has skipped a query is a part of that.
func (c *conn) PrepareContext(ctx context.Context, query string) (driver.Stmt, error) {
	skipped := c.skipped
	c.skipped = nil
	if skipped != nil {
		inner, err := c.prepare(skipped.ctx, query)
		if err != nil {
			skipped.stop(err)
			return nil, err
		}
		return newStmt(inner, c, query, skipped), nil
	}
	call := c.names.start(ctx, Prepare, query)
	inner, err := c.prepare(call.ctx, query)
	call.stop(err)
	if err != nil {
		return nil, err
	}
	return newStmt(inner, c, query, nil), nil
}

func (c *conn) prepare(ctx context.Context, query string) (driver.Stmt, error) {
	if p, ok := c.Conn.(driver.ConnPrepareContext); ok {
		return p.PrepareContext(ctx, query)
	}
	s, err := c.Conn.Prepare(query)
	if err == nil && ctx.Err() != nil {
		s.Close()
		return nil, ctx.Err()
	}
	return s, err
}

// BeginTx implements driver.ConnBeginTx.
func (c *conn) BeginTx(ctx context.Context, opts driver.TxOptions) (driver.Tx, error) {
	call := c.names.start(ctx, Begin, "")
	inner, err := c.begin(call.ctx, opts)
	call.stop(err)
	if err != nil {
		return nil, err
	}
	return &tx{inner, ctx, c.names}, nil
}

func (c *conn) begin(ctx context.Context, opts driver.TxOptions) (driver.Tx, error) {
	if b, ok := c.Conn.(driver.ConnBeginTx); ok {
		return b.BeginTx(ctx, opts)
	}
	switch {
	case opts.Isolation != 0:
		return nil, errors.New("sql: driver does not support non-default isolation level")
	case opts.ReadOnly:
		return nil, errors.New("sql: driver does not support read-only transactions")
	}
	t, err := c.Conn.(interface{ Begin() (driver.Tx, error) }).Begin()
	if err == nil && ctx.Err() != nil {
		_ = t.Rollback()
		return nil, ctx.Err()
	}
	return t, err
}

// ResetSession implements driver.SessionResetter.
func (c *conn) ResetSession(ctx context.Context) error {
	if r, ok := c.Conn.(driver.SessionResetter); ok {
		return r.ResetSession(ctx)
	}
	return nil
}

// IsValid implements driver.Validator.
func (c *conn) IsValid() bool {
	v, ok := c.Conn.(driver.Validator)
	return !ok || v.IsValid()
}

// CheckNamedValue implements driver.NamedValueChecker.
func (c *conn) CheckNamedValue(v *driver.NamedValue) error {
	if n, ok := c.Conn.(driver.NamedValueChecker); ok {
		return n.CheckNamedValue(v)
	}
	return driver.ErrSkip
}

type queryFunc func(ctx context.Context, query string, args []driver.NamedValue) (driver.Rows, error)

// queryOf returns how a connection queries without preparing, in the newer or the older way.
func queryOf(inner driver.Conn) (queryFunc, bool) {
	if q, ok := inner.(driver.QueryerContext); ok {
		return q.QueryContext, true
	}
	q, ok := inner.(interface {
		Query(query string, args []driver.Value) (driver.Rows, error)
	})
	return func(ctx context.Context, query string, args []driver.NamedValue) (driver.Rows, error) {
		values, err := unnamed(ctx, args)
		if err != nil {
			return nil, err
		}
		return q.Query(query, values)
	}, ok
}

type execFunc func(ctx context.Context, query string, args []driver.NamedValue) (driver.Result, error)

func execOf(inner driver.Conn) (execFunc, bool) {
	if e, ok := inner.(driver.ExecerContext); ok {
		return e.ExecContext, true
	}
	e, ok := inner.(interface {
		Exec(query string, args []driver.Value) (driver.Result, error)
	})
	return func(ctx context.Context, query string, args []driver.NamedValue) (driver.Result, error) {
		values, err := unnamed(ctx, args)
		if err != nil {
			return nil, err
		}
		return e.Exec(query, values)
	}, ok
}

// unnamed is what the older interfaces take, which know neither names nor contexts.
func unnamed(ctx context.Context, args []driver.NamedValue) ([]driver.Value, error) {
	values := make([]driver.Value, len(args))
	for i, arg := range args {
		if arg.Name != "" {
			return nil, errors.New("sql: driver does not support the use of Named Parameters")
		}
		values[i] = arg.Value
	}
	return values, ctx.Err()
}

type queryer struct {
	conn  *conn
	query queryFunc
}

// QueryContext implements driver.QueryerContext.
func (q queryer) QueryContext(ctx context.Context, query string, args []driver.NamedValue) (driver.Rows, error) {
	call := q.conn.names.start(ctx, Query, query)
	inner, err := q.query(call.ctx, query, args)
	if err == driver.ErrSkip {
		q.conn.skipped = &call
		return nil, driver.ErrSkip
	}
	return call.rows(inner, err)
}

type execer struct {
	conn *conn
	exec execFunc
}

// ExecContext implements driver.ExecerContext.
func (e execer) ExecContext(ctx context.Context, query string, args []driver.NamedValue) (driver.Result, error) {
	call := e.conn.names.start(ctx, Exec, query)
	result, err := e.exec(call.ctx, query, args)
	if err == driver.ErrSkip {
		e.conn.skipped = &call
		return nil, driver.ErrSkip
	}
	call.stop(err)
	return result, err
}

// tx measures how a transaction of the database ends.
type tx struct {
	driver.Tx
	ctx   context.Context // of its begin, for the parent
	names *names
}

// Commit implements driver.Tx.
func (t *tx) Commit() error {
	call := t.names.start(t.ctx, Commit, "")
	err := t.Tx.Commit()
	call.stop(err)
	return err
}

// Rollback implements driver.Tx.
func (t *tx) Rollback() error {
	call := t.names.start(t.ctx, Rollback, "")
	err := t.Tx.Rollback()
	call.stop(err)
	return err
}
