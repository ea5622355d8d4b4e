//go:build linux

package armsql_test

import (
	"context"
	"database/sql"
	"database/sql/driver"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/pcp-rtime/rtime/arm"
	"github.com/pcp-rtime/rtime/arm/armsql"
	"github.com/pcp-rtime/rtime/internal/armseg/measured"
)

var ctx = context.Background()

func application(t *testing.T) (*arm.Application, string) {
	t.Helper()
	dir := t.TempDir()
	app := arm.NewApplication("bank", arm.Dir(dir))
	t.Cleanup(func() { app.Close() })
	if err := app.Err(); err != nil {
		t.Fatal(err)
	}
	return app, dir
}

func open(t *testing.T, c driver.Connector) *sql.DB {
	t.Helper()
	db := sql.OpenDB(c)
	t.Cleanup(func() { db.Close() })
	db.SetMaxOpenConns(1) // calls come in one order
	return db
}

// visit does with a database all that a program can do, and tells what it saw.
func visit(db *sql.DB) []string {
	var saw []string
	see := func(what string, values ...any) { saw = append(saw, what+": "+fmt.Sprint(values...)) }
	rows := func(what string, r *sql.Rows, err error) {
		if err != nil {
			see(what, err)
			return
		}
		defer r.Close()
		types, err := r.ColumnTypes()
		for _, c := range types {
			length, hasLength := c.Length()
			nullable, hasNullable := c.Nullable()
			precision, scale, hasScale := c.DecimalSize()
			see(what, c.ScanType(), c.DatabaseTypeName(), length, hasLength, nullable, hasNullable, precision, scale, hasScale, err)
		}
		for sets := 0; sets == 0 || r.NextResultSet(); sets++ {
			for r.Next() {
				var n int
				see(what, r.Scan(&n), n)
			}
		}
		see(what, r.Err())
	}
	exec := func(what string, r sql.Result, err error) {
		if err == nil {
			n, err := r.RowsAffected()
			see(what, n, err)
			return
		}
		see(what, err)
	}
	see("ping", db.PingContext(ctx))
	for _, query := range []string{"good ?", "fail ?", "break ?", "skip ?", "bad ?", "skip bad"} {
		for _, args := range [][]any{{7}, {odd{1}}, {}, {sql.Named("a", 1)}} {
			r, err := db.QueryContext(ctx, query, args...)
			rows("query "+query, r, err)
			result, err := db.ExecContext(ctx, query, args...)
			exec("exec "+query, result, err)
		}
	}
	for _, query := range []string{"good ?", "fail ?", "bad"} {
		s, err := db.PrepareContext(ctx, query)
		see("prepare", err)
		if err != nil {
			continue
		}
		for _, args := range [][]any{{7}, {odd{1}}, {}, {sql.Named("a", 1)}} {
			r, err := s.QueryContext(ctx, args...)
			rows("prepared "+query, r, err)
			result, err := s.ExecContext(ctx, args...)
			exec("prepared "+query, result, err)
		}
		see("close", s.Close())
	}
	for _, opts := range []*sql.TxOptions{nil, {ReadOnly: true}, {Isolation: sql.LevelSerializable}} {
		for _, end := range []func(*sql.Tx) error{(*sql.Tx).Commit, (*sql.Tx).Rollback} {
			tx, err := db.BeginTx(ctx, opts)
			if err != nil {
				see("begin", err)
				continue
			}
			var n int
			see("in transaction", tx.QueryRowContext(ctx, "good ?", 1).Scan(&n), n)
			see("end", end(tx))
		}
	}
	see("close", db.Close())
	return saw
}

// TestTransparent: the program sees the same with and without the measurement, and so does
// the driver, of whatever kind its connections are. Every context that the driver gets is
// that of a transaction.
func TestTransparent(t *testing.T) {
	for kind, conn := range kinds {
		var plain, wrapped database
		app, dir := application(t)
		want := visit(open(t, fakeConnector{fakeDriver{&plain, conn}}))
		got := visit(open(t, armsql.Connector(app, fakeConnector{fakeDriver{&wrapped, conn}})))
		if !slices.Equal(got, want) {
			t.Errorf("%s: the program sees\n%s\nand without measurement\n%s", kind, strings.Join(got, "\n"), strings.Join(want, "\n"))
		}
		if !slices.Equal(wrapped.log, plain.log) {
			t.Errorf("%s: the driver sees\n%s\nand without measurement\n%s", kind, strings.Join(wrapped.log, "\n"), strings.Join(plain.log, "\n"))
		}
		if !wrapped.correlated() {
			t.Errorf("%s: a context that is no transaction's", kind)
		}
		if len(want) < 80 || len(plain.log) < 50 {
			t.Errorf("%s: only %d lines, %d of the driver", kind, len(want), len(plain.log))
		}
		if n := measured.Running(t, dir); n != 0 {
			t.Errorf("%s: %d still run", kind, n)
		}
	}
}

// TestCounts: each operation is counted once, by what came of it.
func TestCounts(t *testing.T) {
	for kind, want := range map[string]map[string]measured.Ended{
		// All that is skipped is prepared and run in one.
		"new": {"connect": {Good: 1}, "ping": {Good: 1}, "query": {Good: 4, Aborted: 2, Failed: 1}, "exec": {Good: 3, Aborted: 1},
			"prepare": {Good: 1, Aborted: 1}, "begin": {Good: 2}, "commit": {Good: 1}, "rollback": {Good: 1}},
		// A driver that cannot do it otherwise has all prepared.
		"old": {"connect": {Good: 1}, "query": {Good: 4, Aborted: 2}, "exec": {Good: 3, Aborted: 1},
			"prepare": {Good: 10, Aborted: 1}, "begin": {Good: 2}, "commit": {Good: 1}, "rollback": {Good: 1}},
	} {
		app, dir := application(t)
		db := open(t, armsql.Connector(app, fakeConnector{fakeDriver{new(database), kinds[kind]}}))
		var n int
		check := func(ok bool) {
			t.Helper()
			if !ok {
				t.Errorf("%s: another answer", kind)
			}
		}
		query := func(text string, args ...any) error {
			r, err := db.QueryContext(ctx, text, args...)
			if err != nil {
				return err
			}
			for r.Next() {
			}
			return errors.Join(r.Err(), r.Close())
		}
		exec := func(text string, args ...any) error {
			_, err := db.ExecContext(ctx, text, args...)
			return err
		}
		check(db.PingContext(ctx) == nil)
		check(db.QueryRowContext(ctx, "good").Scan(&n) == nil && n == 1)
		check(query("good") == nil)
		check(errors.Is(query("fail"), errFake))
		check(errors.Is(query("break"), errFake)) // at the second row
		check(query("skip") == nil)
		check(query("skip", 1) != nil) // it takes no argument
		check(exec("good") == nil)
		check(exec("skip") == nil)
		check(errors.Is(exec("fail"), errFake))
		_, err := db.PrepareContext(ctx, "bad")
		check(errors.Is(err, errFake))
		s, err := db.PrepareContext(ctx, "good ?")
		check(err == nil)
		check(s.QueryRowContext(ctx, 1).Scan(&n) == nil)
		_, err = s.ExecContext(ctx, 1)
		check(err == nil && s.Close() == nil)
		for _, end := range []func(*sql.Tx) error{(*sql.Tx).Commit, (*sql.Tx).Rollback} {
			tx, err := db.BeginTx(ctx, nil)
			check(err == nil && end(tx) == nil)
		}
		if got := measured.Counts(t, dir); !maps.Equal(got, want) {
			t.Errorf("%s: %+v\nwant %+v", kind, got, want)
		}
	}
}

// TestRowsLast: a query lasts until its rows are closed.
func TestRowsLast(t *testing.T) {
	app, dir := application(t)
	db := open(t, armsql.Connector(app, fakeConnector{fakeDriver{new(database), kinds["new"]}}))
	r, err := db.QueryContext(ctx, "good")
	if err != nil || !r.Next() {
		t.Fatal(err)
	}
	if n := measured.Running(t, dir); n != 1 {
		t.Errorf("%d run", n)
	}
	if err := r.Close(); err != nil {
		t.Error(err)
	}
	if n := measured.Running(t, dir); n != 0 {
		t.Errorf("%d run after the end", n)
	}
}

// TestGivenUp: a query whose context ends is aborted, whether or not the driver has rows.
func TestGivenUp(t *testing.T) {
	app, dir := application(t)
	waiting, cancel := context.WithCancel(ctx)
	d := database{waiting: cancel}
	db := open(t, armsql.Connector(app, fakeConnector{fakeDriver{&d, kinds["new"]}}))
	if _, err := db.QueryContext(waiting, "wait"); !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
	reading, cancel := context.WithCancel(ctx)
	r, err := db.QueryContext(reading, "good")
	if err != nil || !r.Next() {
		t.Fatal(err)
	}
	cancel()
	r.Close()
	if got := measured.Counts(t, dir)["query"]; got != (measured.Ended{Aborted: 2}) {
		t.Errorf("%+v", got)
	}
}

// TestOptions: names, statuses and details are the program's, and parents are the context's.
func TestOptions(t *testing.T) {
	app, dir := application(t)
	db := open(t, armsql.Connector(app, fakeConnector{fakeDriver{new(database), kinds["new"]}},
		armsql.Naming(func(_ context.Context, op armsql.Operation, statement string) string {
			if op == armsql.Query {
				return strings.Fields(statement)[0]
			}
			return ""
		}),
		armsql.Judging(func(err error) arm.Status {
			if errors.Is(err, errFake) {
				return arm.Failed
			}
			return arm.StatusOf(err)
		}),
		armsql.Statements()))
	inside, running := app.Transaction("outer").StartContext(ctx)
	for _, query := range []string{"good 1", "good 2", "fail 1", "good " + strings.Repeat("x", 200)} {
		if r, err := db.QueryContext(inside, query); err == nil {
			r.Close()
		}
	}
	if _, err := db.ExecContext(inside, "good"); err != nil {
		t.Error(err)
	}
	running.Stop(arm.Good)
	want := map[string]measured.Ended{"good": {Good: 3}, "fail": {Failed: 1}, "outer": {Good: 1}}
	if got := measured.Counts(t, dir); !maps.Equal(got, want) {
		t.Errorf("%+v\nwant %+v", got, want)
	}
	if got := measured.Pairs(t, dir)["outer > good"]; got != 3 {
		t.Errorf("%d children", got)
	}
	details := map[string]string{}
	for _, tr := range measured.Names(t, dir) {
		details[tr.Key] = tr.Detail
	}
	if details["good"] != "good 1" || details["fail"] != "fail 1" {
		t.Errorf("%q", details)
	}
}

// TestNoStatements: nothing of a statement is shown unless the program asks for it.
func TestNoStatements(t *testing.T) {
	app, dir := application(t)
	db := open(t, armsql.Connector(app, fakeConnector{fakeDriver{new(database), kinds["new"]}}))
	if _, err := db.ExecContext(ctx, "insert secret"); err != nil {
		t.Error(err)
	}
	for _, tr := range measured.Names(t, dir) {
		if strings.Contains(fmt.Sprintf("%+v", tr), "secret") {
			t.Errorf("%+v", tr)
		}
	}
}

// TestDrivers: drivers with connectors and without are registered, and give up their own connection.
func TestDrivers(t *testing.T) {
	app, dir := application(t)
	var d database
	plain := fakeDriver{&d, kinds["old"]}
	run := len(sql.Drivers()) // a name can be registered once
	byName, byConnector := fmt.Sprint("name", run), fmt.Sprint("connector", run)
	sql.Register(byName, armsql.Driver(app, plain))
	sql.Register(byConnector, armsql.Driver(app, contextDriver{plain}))
	for _, name := range []string{byName, byConnector} {
		db, err := sql.Open(name, "file.db")
		if err != nil {
			t.Fatal(err)
		}
		if _, ok := db.Driver().(fakeDriver); !ok {
			t.Errorf("%s: the driver is a %T", name, db.Driver())
		}
		c, err := db.Conn(ctx)
		if err != nil {
			t.Fatal(err)
		}
		if err := c.Raw(func(c any) error {
			if _, ok := armsql.Unwrap(c).(oldConn); !ok || armsql.Unwrap(armsql.Unwrap(c)) != armsql.Unwrap(c) {
				return fmt.Errorf("%T", armsql.Unwrap(c))
			}
			return nil
		}); err != nil {
			t.Error(err)
		}
		if err := errors.Join(c.Close(), db.Close()); err != nil {
			t.Error(err)
		}
	}
	if _, err := sql.Open(byConnector, "fail"); !errors.Is(err, errFake) {
		t.Error(err)
	}
	db, err := sql.Open(byName, "fail")
	if err != nil {
		t.Fatal(err)
	}
	if err := db.Ping(); !errors.Is(err, errFake) {
		t.Error(err)
	}
	db.Close()
	if c, err := armsql.Driver(app, plain).Open("again"); err != nil || c.Close() != nil {
		t.Error(err)
	}
	if got := measured.Counts(t, dir); !maps.Equal(got, map[string]measured.Ended{"connect": {Good: 3, Aborted: 1}}) {
		t.Errorf("%+v", got)
	}
	want := []string{"open file.db", "close", "connector file.db", "connect", "close", "close connector", "connector fail", "open fail", "open again", "close"}
	if !slices.Equal(d.log, want) {
		t.Errorf("%q\nwant %q", d.log, want)
	}
}
