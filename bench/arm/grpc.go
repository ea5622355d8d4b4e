package main

import "fmt"

const (
	grpcBare  = "a call"
	grpcArm   = "with armgrpc"
	grpcOTel  = "with otelgrpc"
	grpcArmBy = "armgrpc adds"
	grpcOTBy  = "otelgrpc adds"
)

// grpc measures calls with package armgrpc beside OpenTelemetry's way.
func (b *bench) grpc() error {
	bin, err := b.goProgram("grpcpeers", "bench/arm/peers", "./grpc")
	if err != nil {
		return err
	}
	_, env, err := b.segments("grpc")
	if err != nil {
		return err
	}
	var calls, added table
	for range b.rounds {
		f, err := figures(3, []string{env}, bin)
		if err != nil {
			return err
		}
		for i, row := range []string{grpcBare, grpcArm, grpcOTel} {
			calls.add(row, f[i])
		}
		added.add(grpcOTBy, f[2]-f[0])
		added.add(grpcArmBy, f[1]-f[0])
	}
	calls.print("A call of gRPC, client and server in one process, ns", grpcBare)
	added.print("What measuring adds to a call on both sides, ns", grpcOTBy)
	fmt.Println()
	added.atMost(0.5, grpcArmBy, grpcOTBy)
	return nil
}
