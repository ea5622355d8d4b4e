// Package pmapi reads performance metrics from pmcd, the daemon of Performance Co-Pilot, on
// this machine or another. It speaks pmcd's protocol itself and needs neither libpcp nor cgo.
// It does for Go programs what PMAPI(3) does for C programs.
//
// A value in one line:
//
//	readings, err := pmapi.Fetch(ctx, "farm1", "disk.dev.read")
//
// A program that asks again and again keeps a Client. It looks up its metrics once and fetches
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
// Values come as the agent has declared them: Metric.Units gives the units, and
// pcp.Units.Convert converts. Counters are sums since some moment; Sample.Rate makes rates of
// them. Instance identifiers are 0 to 2^31-1.
//
// # Contexts, errors, and asking again
//
// Each request takes a context. If the context ends, the request returns the context's error,
// and the connection is closed, because an answer may still be under way. A Client then makes a
// new connection at the next request. If the context has already ended, nothing is sent.
// Options limit the time of requests whose context does not end.
//
// Errors are of type *Error and wrap their cause. If pmcd or an agent refuses a request, the
// cause is a pcp.Error, which errors.Is compares. MayRetry says for each error whether the same
// request may be sent again.
//
// # What pmcd sends is not trusted
//
// Every length and number is checked against the bytes that have arrived. An answer that does
// not belong to the request closes the connection. Memory is allocated for bytes that have
// arrived, not for lengths that were announced.
//
// # Not here
//
// There are no archives, no derived metrics that the client defines, and no login by SASL. A
// pmcd that demands a login still serves its own machine over the Unix socket.
//
// Sources: PMAPI(3) and the pages that it names, PCPIntro(1), and docs/wire.md for the messages
// on the wire.
package pmapi
