// Package armsql measures what a program asks of a database as transactions. It wraps the
// driver that database/sql uses:
//
//	db := sql.OpenDB(armsql.Connector(app, connector))
//
// or, for a driver that has no connector,
//
//	sql.Register("measured", armsql.Driver(app, inner))
//	db, err := sql.Open("measured", "bank.db")
//
// Transactions are named after what is done: connect, ping, prepare, query, exec, begin,
// commit and rollback. Naming has a function name them. Statements hold data, so nothing
// of them is shown, unless Statements asks for it.
//
// A query lasts until its rows are closed, which database/sql does when the last one was
// read. What a driver prepares on its own for a query is part of the query. What
// database/sql repeats on another connection is counted each time.
//
// A transaction is good without an error. What a driver answers with an error is aborted,
// as the ARM 2.0 guide has it for databases, and so is what the program no longer waits
// for. Arguments that do not fit a statement are failed. Judging has a function say it.
//
// A transaction is the child of the one whose correlator the context carries, and the
// driver's context carries its own. database/sql finds in a wrapped driver what it finds in
// the driver itself, and nothing else. What sql.Conn.Raw gives is the wrapper: see Unwrap.
package armsql
