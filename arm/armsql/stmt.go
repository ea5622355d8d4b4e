package armsql

import (
	"context"
	"database/sql/driver"

	"github.com/pcp-rtime/rtime/arm"
)

// stmt measures a prepared statement.
type stmt struct {
	driver.Stmt
	conn    *conn
	query   string
	skipped *call // what it was prepared for, until it is run
}

// converter is a statement that converts its arguments in the older way.
type converter interface {
	ColumnConverter(i int) driver.ValueConverter
}

func newStmt(inner driver.Stmt, c *conn, query string, skipped *call) driver.Stmt {
	s := &stmt{inner, c, query, skipped}
	if conv, ok := inner.(converter); ok {
		return struct {
			*stmt
			converter
		}{s, conv}
	}
	return s
}

func (s *stmt) start(ctx context.Context, op Operation) call {
	if skipped := s.skipped; skipped != nil {
		s.skipped = nil
		return *skipped
	}
	return s.conn.names.start(ctx, op, s.query)
}

// Close implements driver.Stmt. What the statement was prepared for has not been run if
// the arguments did not fit.
func (s *stmt) Close() error {
	if s.skipped != nil {
		s.skipped.running.Stop(arm.Failed)
		s.skipped = nil
	}
	return s.Stmt.Close()
}

// QueryContext implements driver.StmtQueryContext.
func (s *stmt) QueryContext(ctx context.Context, args []driver.NamedValue) (driver.Rows, error) {
	call := s.start(ctx, Query)
	if q, ok := s.Stmt.(driver.StmtQueryContext); ok {
		return call.rows(q.QueryContext(call.ctx, args))
	}
	values, err := unnamed(ctx, args)
	if err != nil {
		return call.rows(nil, err)
	}
	return call.rows(s.Stmt.(interface {
		Query(args []driver.Value) (driver.Rows, error)
	}).Query(values))
}

// ExecContext implements driver.StmtExecContext.
func (s *stmt) ExecContext(ctx context.Context, args []driver.NamedValue) (result driver.Result, err error) {
	call := s.start(ctx, Exec)
	defer func() { call.stop(err) }()
	if e, ok := s.Stmt.(driver.StmtExecContext); ok {
		return e.ExecContext(call.ctx, args)
	}
	values, err := unnamed(ctx, args)
	if err != nil {
		return nil, err
	}
	return s.Stmt.(interface {
		Exec(args []driver.Value) (driver.Result, error)
	}).Exec(values)
}

// CheckNamedValue implements driver.NamedValueChecker: the statement's, or else the
// connection's.
func (s *stmt) CheckNamedValue(v *driver.NamedValue) error {
	if n, ok := s.Stmt.(driver.NamedValueChecker); ok {
		return n.CheckNamedValue(v)
	}
	return s.conn.CheckNamedValue(v)
}
