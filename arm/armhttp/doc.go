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
// A long pattern loses the names of its parameters first, and then its middle to a hash,
// since 31 bytes of a name count. The transaction's detail is the whole pattern.
//
// A request is good with a status below 500: the client's mistakes are no failure. It is
// aborted with 502, 503 and 504, when the client is gone before the answer is complete,
// and when a client gets no answer or not all of it. It is failed with the others from 500
// on, and when the handler panics. Judging has a function judge the codes instead.
//
// The trace context of W3C goes through: a server's transaction is the child of whoever
// sent the header traceparent, and a client sends one.
package armhttp
