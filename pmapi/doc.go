// Package pmapi reads performance metrics from pmcd, the daemon of Performance Co-Pilot, on this
// machine or another. It speaks pmcd's protocol itself and needs neither libpcp nor cgo. What
// C programs do by PMAPI(3), Go programs do by this package.
//
// A value in one line:
//
//	readings, err := pmapi.Fetch(ctx, "farm1", "disk.dev.read")
//
// A program that asks again and again keeps a Client, looks its metrics up once and fetches
// them together, so that the values belong to one moment:
//
//	c := pmapi.Local()
//	defer c.Close()
//	metrics, err := c.Metrics(ctx, "kernel.all.load", "disk.dev.read")
//	if err != nil {
//		return err
//	}
//	var s pmapi.Sample
//	for range ticker.C {
//		if err := c.Fetch(ctx, &s, nil, metrics...); err != nil {
//			log.Print(err)
//			continue
//		}
//		log.Print(s.Time, s.Sets)
//	}
//
// There are three layers. Package pdu turns messages into bytes and back. A Conn is one
// connection: it does one thing at a time and is closed whenever there is doubt about what
// comes next. A Client makes connections as it needs them and may be shared by goroutines.
// Most programs want a Client.
//
// # Units and ranges
//
// Values come as the agent has declared them: Metric.Units says in which unit, and
// pcp.Units.Convert converts. Counters are sums since some moment; Rates makes rates of
// them. Instance identifiers are 0 to 2^31-1.
//
// # Contexts, errors, and asking again
//
// Each request takes a context. When it ends the request returns the context's error, and
// the connection is closed, because an answer may still be under way; a Client makes a new
// one at the next request. A context that has ended already sends nothing. Options limit the
// time of requests without a context that ends.
//
// Errors are of type *Error and wrap their cause. What pmcd or an agent refuses is a
// pcp.Error, to be compared by errors.Is. MayRetry says of each error whether the same request
// may be sent again.
//
// # What pmcd sends is not trusted
//
// Every length and number is held against the bytes that have come, answers that do not
// belong to the request close the connection, and memory is used for what has come rather
// than for what was announced.
//
// # Not here
//
// Archives, derived metrics that the client defines, and a login by SASL. A pmcd that demands
// one is still open to its own machine, over the Unix socket.
//
// Sources: PMAPI(3) and the pages that it names, PCPIntro(1), and docs/wire.md for what goes
// over the wire.
package pmapi
