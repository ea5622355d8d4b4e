// Package armgrpc measures calls of gRPC as transactions, of servers and of clients. In a
// server it takes
//
//	server := grpc.NewServer(
//		grpc.ChainUnaryInterceptor(armgrpc.UnaryServerInterceptor(app)),
//		grpc.ChainStreamInterceptor(armgrpc.StreamServerInterceptor(app)),
//	)
//
// and in a client
//
//	conn, err := grpc.NewClient(target,
//		grpc.WithChainUnaryInterceptor(armgrpc.UnaryClientInterceptor(app)),
//		grpc.WithChainStreamInterceptor(armgrpc.StreamClientInterceptor(app)),
//		grpc.WithTransportCredentials(credentials),
//	)
//
// Transactions are named after methods, such as "bank.Accounts/Get"; Naming has a function
// name them. Of a name with more than 31 bytes the package goes first, from its beginning,
// and then a hash stands for the middle; the transaction's detail is the whole method. A
// method's transaction is looked up once. A program that is a server and a client of the
// same methods gives each side an application of its own.
//
// A call is good with the status OK and with those that say that the caller asked for
// something wrong: InvalidArgument, NotFound, AlreadyExists, PermissionDenied,
// Unauthenticated, FailedPrecondition and OutOfRange. It is aborted with Canceled,
// DeadlineExceeded, Unavailable, ResourceExhausted and Aborted, and failed with all others,
// and when a handler panics. StatusOf says it of an error. Judging has a function judge.
//
// A call lasts until its answer is there, that of a stream until its status is: a client
// reads a stream until there is an error, of which io.EOF is one, or cancels its context,
// as gRPC asks of it.
//
// The trace context of W3C goes through: a client sends traceparent with the metadata, and
// a server's transaction is the child of whoever sent it.
//
// The package is a module of its own, so that only its users depend on gRPC:
//
//	$ go get github.com/pcp-rtime/rtime/arm/armgrpc
package armgrpc
