//go:build linux

package armsql_test

import (
	"context"
	"database/sql/driver"
	"errors"
	"fmt"
	"io"
	"reflect"
	"strings"

	"github.com/pcp-rtime/rtime/arm"
)

// The databases of the tests keep a log of what their driver is asked. A statement says
// what becomes of it: "fail" is an error, "break" an error of the second row, "wait" waits
// for the context's end.

var errFake = errors.New("the database says no")

// database is what connections of a driver share.
type database struct {
	log []string
	ctx []context.Context // that the driver was given

	waiting func() // is called when a statement waits
}

func (d *database) note(format string, args ...any) {
	d.log = append(d.log, fmt.Sprintf(format, args...))
}

func (d *database) noteWith(ctx context.Context, format string, args ...any) {
	d.note(format, args...)
	d.ctx = append(d.ctx, ctx)
}

// oldConn has only what every driver has.
type oldConn struct{ d *database }

func (c oldConn) Prepare(query string) (driver.Stmt, error) {
	c.d.note("prepare %s", query)
	if strings.HasPrefix(query, "bad") {
		return nil, errFake
	}
	return oldStmt{c.d, query}, nil
}
func (c oldConn) Close() error { c.d.note("close"); return nil }
func (c oldConn) Begin() (driver.Tx, error) {
	c.d.note("begin")
	return fakeTx(c), nil
}

type fakeTx oldConn

func (t fakeTx) Commit() error   { t.d.note("commit"); return nil }
func (t fakeTx) Rollback() error { t.d.note("rollback"); return nil }

type oldStmt struct {
	d     *database
	query string
}

func (s oldStmt) Close() error  { s.d.note("close statement"); return nil }
func (s oldStmt) NumInput() int { return strings.Count(s.query, "?") }
func (s oldStmt) Exec(args []driver.Value) (driver.Result, error) {
	s.d.note("exec statement %s %v", s.query, args)
	return result(s.query)
}
func (s oldStmt) Query(args []driver.Value) (driver.Rows, error) {
	s.d.note("query statement %s %v", s.query, args)
	return answer(context.Background(), s.d, s.query)
}

// ColumnConverter turns what only this driver knows into a text.
func (s oldStmt) ColumnConverter(int) driver.ValueConverter { return converts{} }

type odd struct{ n int }

type converts struct{}

func (converts) ConvertValue(v any) (driver.Value, error) {
	if o, ok := v.(odd); ok {
		return fmt.Sprint("odd ", o.n), nil
	}
	return driver.DefaultParameterConverter.ConvertValue(v)
}

func result(query string) (driver.Result, error) {
	if strings.HasPrefix(query, "fail") {
		return nil, errFake
	}
	return driver.RowsAffected(3), nil
}

func answer(ctx context.Context, d *database, query string) (driver.Rows, error) {
	switch {
	case strings.HasPrefix(query, "fail"):
		return nil, errFake
	case strings.HasPrefix(query, "wait"):
		d.waiting()
		<-ctx.Done()
		return nil, ctx.Err()
	}
	return &fakeRows{d: d, breaks: strings.HasPrefix(query, "break")}, nil
}

// fakeRows are two rows of one column.
type fakeRows struct {
	d      *database
	n      int
	breaks bool
}

func (r *fakeRows) Columns() []string { return []string{"column"} }
func (r *fakeRows) Close() error      { r.d.note("close rows"); return nil }
func (r *fakeRows) Next(dest []driver.Value) error {
	r.n++
	if r.n == 2 && r.breaks {
		return errFake
	}
	if r.n > 2 {
		return io.EOF
	}
	dest[0] = int64(r.n)
	return nil
}

// newConn has what a driver can have.
type newConn struct{ oldConn }

func (c newConn) Ping(ctx context.Context) error { c.d.noteWith(ctx, "ping"); return nil }
func (c newConn) PrepareContext(ctx context.Context, query string) (driver.Stmt, error) {
	c.d.noteWith(ctx, "prepare with context %s", query)
	if strings.HasPrefix(query, "bad") {
		return nil, errFake
	}
	return newStmt{c.d, query}, nil
}
func (c newConn) BeginTx(ctx context.Context, opts driver.TxOptions) (driver.Tx, error) {
	c.d.noteWith(ctx, "begin with context %v", opts)
	return fakeTx(c.oldConn), nil
}
func (c newConn) QueryContext(ctx context.Context, query string, args []driver.NamedValue) (driver.Rows, error) {
	c.d.noteWith(ctx, "query %s %v", query, args)
	if strings.HasPrefix(query, "skip") {
		return nil, driver.ErrSkip
	}
	rows, err := answer(ctx, c.d, query)
	if err != nil {
		return nil, err
	}
	return &newRows{rows.(*fakeRows), 1}, nil
}
func (c newConn) ExecContext(ctx context.Context, query string, args []driver.NamedValue) (driver.Result, error) {
	c.d.noteWith(ctx, "exec %s %v", query, args)
	if strings.HasPrefix(query, "skip") {
		return nil, driver.ErrSkip
	}
	return result(query)
}
func (c newConn) ResetSession(ctx context.Context) error { c.d.note("reset"); return nil }
func (c newConn) IsValid() bool                          { c.d.note("valid?"); return true }
func (c newConn) CheckNamedValue(v *driver.NamedValue) error {
	if o, ok := v.Value.(odd); ok {
		v.Value = fmt.Sprint("new odd ", o.n)
		return nil
	}
	return driver.ErrSkip
}

type newStmt struct {
	d     *database
	query string
}

func (s newStmt) Close() error                               { s.d.note("close statement"); return nil }
func (s newStmt) NumInput() int                              { return strings.Count(s.query, "?") }
func (s newStmt) Exec([]driver.Value) (driver.Result, error) { panic("the older way") }
func (s newStmt) Query([]driver.Value) (driver.Rows, error)  { panic("the older way") }
func (s newStmt) CheckNamedValue(v *driver.NamedValue) error {
	if o, ok := v.Value.(odd); ok {
		v.Value = fmt.Sprint("statement's odd ", o.n)
		return nil
	}
	return driver.ErrSkip
}
func (s newStmt) ExecContext(ctx context.Context, args []driver.NamedValue) (driver.Result, error) {
	s.d.noteWith(ctx, "exec statement with context %s %v", s.query, args)
	return result(s.query)
}
func (s newStmt) QueryContext(ctx context.Context, args []driver.NamedValue) (driver.Rows, error) {
	s.d.noteWith(ctx, "query statement with context %s %v", s.query, args)
	rows, err := answer(ctx, s.d, s.query)
	if err != nil {
		return nil, err
	}
	return &newRows{rows.(*fakeRows), 1}, nil
}

// newRows have another result, and know their columns.
type newRows struct {
	*fakeRows
	more int
}

func (r *newRows) HasNextResultSet() bool { return r.more > 0 }
func (r *newRows) NextResultSet() error {
	if r.more == 0 {
		return io.EOF
	}
	r.more--
	r.n = 0
	return nil
}
func (r *newRows) ColumnTypeScanType(int) reflect.Type               { return reflect.TypeFor[int64]() }
func (r *newRows) ColumnTypeDatabaseTypeName(int) string             { return "BIGINT" }
func (r *newRows) ColumnTypeLength(int) (int64, bool)                { return 8, true }
func (r *newRows) ColumnTypeNullable(int) (bool, bool)               { return true, true }
func (r *newRows) ColumnTypePrecisionScale(int) (int64, int64, bool) { return 19, 2, true }

// middleConn runs statements without preparing them in the older way.
type middleConn struct{ oldConn }

func (c middleConn) Query(query string, args []driver.Value) (driver.Rows, error) {
	c.d.note("query %s %v", query, args)
	return answer(context.Background(), c.d, query)
}
func (c middleConn) Exec(query string, args []driver.Value) (driver.Result, error) {
	c.d.note("exec %s %v", query, args)
	return result(query)
}

// Connections that only query or only execute without preparing.
type (
	queryConn struct {
		oldConn
		driver.QueryerContext
	}
	execConn struct {
		oldConn
		driver.ExecerContext
	}
)

// kinds are connections of all kinds.
var kinds = map[string]func(*database) driver.Conn{
	"old":    func(d *database) driver.Conn { return oldConn{d} },
	"middle": func(d *database) driver.Conn { return middleConn{oldConn{d}} },
	"new":    func(d *database) driver.Conn { return newConn{oldConn{d}} },
	"query":  func(d *database) driver.Conn { return queryConn{oldConn{d}, newConn{oldConn{d}}} },
	"exec":   func(d *database) driver.Conn { return execConn{oldConn{d}, newConn{oldConn{d}}} },
}

// fakeDriver opens connections by name, without a connector.
type fakeDriver struct {
	d    *database
	conn func(*database) driver.Conn
}

func (f fakeDriver) Open(name string) (driver.Conn, error) {
	f.d.note("open %s", name)
	if name == "fail" {
		return nil, errFake
	}
	return f.conn(f.d), nil
}

// fakeConnector connects with a context.
type fakeConnector struct{ fakeDriver }

func (f fakeConnector) Connect(ctx context.Context) (driver.Conn, error) {
	f.d.noteWith(ctx, "connect")
	return f.conn(f.d), nil
}
func (f fakeConnector) Driver() driver.Driver { return f.fakeDriver }
func (f fakeConnector) Close() error          { f.d.note("close connector"); return nil }

// contextDriver makes connectors.
type contextDriver struct{ fakeDriver }

func (c contextDriver) OpenConnector(name string) (driver.Connector, error) {
	c.d.note("connector %s", name)
	if name == "fail" {
		return nil, errFake
	}
	return fakeConnector(c), nil
}

// correlated reports whether all contexts that the driver was given carry a correlator.
func (d *database) correlated() bool {
	for _, ctx := range d.ctx {
		if arm.CorrelatorFromContext(ctx).IsZero() {
			return false
		}
	}
	return len(d.ctx) > 0
}
