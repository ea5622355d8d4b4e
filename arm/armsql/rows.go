package armsql

import (
	"database/sql/driver"
	"errors"
	"io"
	"reflect"

	"github.com/pcp-rtime/rtime/arm"
)

// rows stops a query's transaction when they are closed. What inner lacks is answered as
// database/sql does for rows without it.
type rows struct {
	driver.Rows
	call call
	err  error // of the driver, the first
	done bool  // all rows were read
}

// rows returns what a query answers with.
func (c call) rows(inner driver.Rows, err error) (driver.Rows, error) {
	if err != nil {
		c.stop(err)
		return nil, err
	}
	return &rows{Rows: inner, call: c}, nil
}

// Next implements driver.Rows.
func (r *rows) Next(dest []driver.Value) error { return r.note(r.Rows.Next(dest)) }

// note keeps an error, of which io.EOF is none.
func (r *rows) note(err error) error {
	if errors.Is(err, io.EOF) {
		r.done = true
	} else if err != nil && r.err == nil {
		r.err = err
	}
	return err
}

// Close implements driver.Rows.
func (r *rows) Close() error {
	err := r.Rows.Close()
	r.note(err)
	if r.err == nil && !r.done && r.call.ctx.Err() != nil {
		r.call.running.Stop(arm.Aborted) // nobody waits for the rest
	}
	r.call.stop(r.err) // does nothing the second time
	return err
}

// HasNextResultSet implements driver.RowsNextResultSet.
func (r *rows) HasNextResultSet() bool {
	n, ok := r.Rows.(driver.RowsNextResultSet)
	return ok && n.HasNextResultSet()
}

// NextResultSet implements driver.RowsNextResultSet.
func (r *rows) NextResultSet() error {
	if n, ok := r.Rows.(driver.RowsNextResultSet); ok {
		return r.note(n.NextResultSet())
	}
	return io.EOF
}

// ColumnTypeScanType implements driver.RowsColumnTypeScanType.
func (r *rows) ColumnTypeScanType(i int) reflect.Type {
	if c, ok := r.Rows.(driver.RowsColumnTypeScanType); ok {
		return c.ColumnTypeScanType(i)
	}
	return reflect.TypeFor[any]()
}

// ColumnTypeDatabaseTypeName implements driver.RowsColumnTypeDatabaseTypeName.
func (r *rows) ColumnTypeDatabaseTypeName(i int) string {
	if c, ok := r.Rows.(driver.RowsColumnTypeDatabaseTypeName); ok {
		return c.ColumnTypeDatabaseTypeName(i)
	}
	return ""
}

// ColumnTypeLength implements driver.RowsColumnTypeLength.
func (r *rows) ColumnTypeLength(i int) (length int64, ok bool) {
	if c, has := r.Rows.(driver.RowsColumnTypeLength); has {
		return c.ColumnTypeLength(i)
	}
	return 0, false
}

// ColumnTypeNullable implements driver.RowsColumnTypeNullable.
func (r *rows) ColumnTypeNullable(i int) (nullable, ok bool) {
	if c, has := r.Rows.(driver.RowsColumnTypeNullable); has {
		return c.ColumnTypeNullable(i)
	}
	return false, false
}

// ColumnTypePrecisionScale implements driver.RowsColumnTypePrecisionScale.
func (r *rows) ColumnTypePrecisionScale(i int) (precision, scale int64, ok bool) {
	if c, has := r.Rows.(driver.RowsColumnTypePrecisionScale); has {
		return c.ColumnTypePrecisionScale(i)
	}
	return 0, 0, false
}
