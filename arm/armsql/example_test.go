package armsql_test

import (
	"context"
	"database/sql"
	"database/sql/driver"
	"log"

	"github.com/pcp-rtime/rtime/arm"
	"github.com/pcp-rtime/rtime/arm/armsql"
)

func ExampleConnector() {
	var connector driver.Connector // as the database's driver makes it
	app := arm.NewApplication("Bank database")
	db := sql.OpenDB(armsql.Connector(app, connector))
	defer db.Close()
}

// Programs whose driver has no connector register it under another name.
func ExampleDriver() {
	var inner driver.Driver // such as &sqlite.Driver{}
	app := arm.NewApplication("Bank database")
	sql.Register("measured", armsql.Driver(app, inner))
	db, err := sql.Open("measured", "bank.db")
	if err != nil {
		log.Fatal(err)
	}
	defer db.Close()
}

type nameKey struct{}

// A program that puts names into its contexts has its queries named after them.
func ExampleNaming() {
	var connector driver.Connector // as the database's driver makes it
	naming := armsql.Naming(func(ctx context.Context, op armsql.Operation, statement string) string {
		if name, ok := ctx.Value(nameKey{}).(string); ok && (op == armsql.Query || op == armsql.Exec) {
			return name
		}
		return string(op)
	})
	db := sql.OpenDB(armsql.Connector(arm.NewApplication("Bank database"), connector, naming))
	defer db.Close()

	ctx := context.WithValue(context.Background(), nameKey{}, "Last orders")
	if _, err := db.ExecContext(ctx, "delete from last_orders"); err != nil {
		log.Print(err)
	}
}
