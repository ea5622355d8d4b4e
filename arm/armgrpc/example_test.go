package armgrpc_test

import (
	"log"
	"net"

	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"

	"github.com/pcp-rtime/rtime/arm"
	"github.com/pcp-rtime/rtime/arm/armgrpc"
)

func ExampleUnaryServerInterceptor() {
	app := arm.NewApplication("Bank")
	server := grpc.NewServer(
		grpc.ChainUnaryInterceptor(armgrpc.UnaryServerInterceptor(app)),
		grpc.ChainStreamInterceptor(armgrpc.StreamServerInterceptor(app)),
	)
	listener, err := net.Listen("tcp", "localhost:8080")
	if err != nil {
		log.Fatal(err)
	}
	log.Fatal(server.Serve(listener))
}

func ExampleUnaryClientInterceptor() {
	app := arm.NewApplication("Bank's customers")
	target, credentials := "localhost:8080", insecure.NewCredentials()
	conn, err := grpc.NewClient(target,
		grpc.WithChainUnaryInterceptor(armgrpc.UnaryClientInterceptor(app)),
		grpc.WithChainStreamInterceptor(armgrpc.StreamClientInterceptor(app)),
		grpc.WithTransportCredentials(credentials),
	)
	if err != nil {
		log.Fatal(err)
	}
	defer conn.Close()
}
