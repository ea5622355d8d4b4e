// Package armhttp measures HTTP requests as transactions, of servers and of clients.
//
//	mux := http.NewServeMux()
//	mux.HandleFunc("GET /accounts/{id}", account)
//	handler := armhttp.Handler(app, mux)
//
//	client := &http.Client{Transport: armhttp.Transport(app, nil)}
//
// Transactions get few names: a server's are the patterns of a ServeMux, such as "GET
// /accounts/{id}", whose values have no part in it, and a client's are method and host.
// Who knows better names them with Naming.
//
// A request is good with a status below 400, failed with one from 400 to 499, which is the
// client's fault and an answer all the same, and aborted with one from 500 on, when the
// handler panics, when the client is gone before the answer is complete, and when a client
// gets no answer.
//
// The trace context of W3C goes through: a server's transaction is the child of whoever
// sent the header traceparent, and a client sends one.
package armhttp
