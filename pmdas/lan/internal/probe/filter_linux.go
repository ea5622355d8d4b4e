package probe

import (
	"golang.org/x/net/bpf"
	"golang.org/x/sys/unix"
)

// A raw ICMP socket gets a copy of every ICMP message that comes to the machine.
// The filters here are run before a copy is queued: what is not for this engine
// takes no room in the receive buffer and no time in the process.
//
// What passes: echo replies with the engine's identifier or, so that a reply with
// a wrong identifier can be counted, with its magic; and errors that quote an echo
// request with the identifier. Reading beyond the packet refuses it.

// filter4 is run over the IPv4 packet.
func filter4(e *echoer) []bpf.Instruction {
	const icmp = 0 // X is the length of the IP header
	return []bpf.Instruction{
		bpf.LoadMemShift{Off: 0},
		bpf.LoadIndirect{Off: icmp, Size: 1},
		bpf.JumpIf{Cond: bpf.JumpEqual, Val: icmpEchoReply, SkipFalse: 4},
		bpf.LoadIndirect{Off: icmp + 4, Size: 2},
		bpf.JumpIf{Cond: bpf.JumpEqual, Val: uint32(e.id), SkipTrue: 14},
		bpf.LoadIndirect{Off: icmp + 8, Size: 4},
		bpf.JumpIf{Cond: bpf.JumpEqual, Val: e.magic, SkipTrue: 12, SkipFalse: 11},
		// An error: the quoted packet begins behind the ICMP header.
		bpf.LoadIndirect{Off: icmpHeaderLen + 9, Size: 1},
		bpf.JumpIf{Cond: bpf.JumpEqual, Val: protocolICMP, SkipFalse: 9},
		bpf.LoadIndirect{Off: icmpHeaderLen, Size: 1},
		bpf.ALUOpConstant{Op: bpf.ALUOpAnd, Val: 0xf},
		bpf.ALUOpConstant{Op: bpf.ALUOpShiftLeft, Val: 2},
		bpf.ALUOpX{Op: bpf.ALUOpAdd},
		bpf.TAX{},
		bpf.LoadIndirect{Off: icmpHeaderLen, Size: 1},
		bpf.JumpIf{Cond: bpf.JumpEqual, Val: icmpEcho, SkipFalse: 2},
		bpf.LoadIndirect{Off: icmpHeaderLen + 4, Size: 2},
		bpf.JumpIf{Cond: bpf.JumpEqual, Val: uint32(e.id), SkipTrue: 1},
		bpf.RetConstant{Val: 0},
		bpf.RetConstant{Val: 1 << 16},
	}
}

// filter6 is run over the ICMPv6 message.
func filter6(e *echoer) []bpf.Instruction {
	const quoted = icmpHeaderLen
	return []bpf.Instruction{
		bpf.LoadAbsolute{Off: 0, Size: 1},
		bpf.JumpIf{Cond: bpf.JumpEqual, Val: icmp6EchoReply, SkipFalse: 4},
		bpf.LoadAbsolute{Off: 4, Size: 2},
		bpf.JumpIf{Cond: bpf.JumpEqual, Val: uint32(e.id), SkipTrue: 9},
		bpf.LoadAbsolute{Off: 8, Size: 4},
		bpf.JumpIf{Cond: bpf.JumpEqual, Val: e.magic, SkipTrue: 7, SkipFalse: 6},
		bpf.LoadAbsolute{Off: quoted + 6, Size: 1},
		bpf.JumpIf{Cond: bpf.JumpEqual, Val: protocolICMP6, SkipFalse: 4},
		bpf.LoadAbsolute{Off: quoted + ipv6HeaderLen, Size: 1},
		bpf.JumpIf{Cond: bpf.JumpEqual, Val: icmp6Echo, SkipFalse: 2},
		bpf.LoadAbsolute{Off: quoted + ipv6HeaderLen + 4, Size: 2},
		bpf.JumpIf{Cond: bpf.JumpEqual, Val: uint32(e.id), SkipTrue: 1},
		bpf.RetConstant{Val: 0},
		bpf.RetConstant{Val: 1 << 16},
	}
}

// attachFilter makes the kernel run prog over what comes to the socket.
func attachFilter(fd int, prog []bpf.Instruction) error {
	raw, err := bpf.Assemble(prog)
	if err != nil {
		return err
	}
	f := make([]unix.SockFilter, len(raw))
	for i, in := range raw {
		f[i] = unix.SockFilter{Code: in.Op, Jt: in.Jt, Jf: in.Jf, K: in.K}
	}
	return unix.SetsockoptSockFprog(fd, unix.SOL_SOCKET, unix.SO_ATTACH_FILTER,
		&unix.SockFprog{Len: uint16(len(f)), Filter: &f[0]})
}

// passTypes4 makes the kernel look at ICMP messages of four types only, before
// the filter is run.
func passTypes4(fd int) error {
	const pass = 1<<icmpEchoReply | 1<<icmpUnreachable | 1<<icmpTimeExceeded | 1<<icmpParameterProblem
	mask := uint32(pass)
	return unix.SetsockoptInt(fd, unix.SOL_RAW, unix.ICMP_FILTER, int(^mask))
}

// passTypes6 does the same for ICMPv6; a set bit blocks a type.
func passTypes6(fd int) error {
	var f unix.ICMPv6Filter
	for i := range f.Data {
		f.Data[i] = ^uint32(0)
	}
	for _, t := range []int{icmp6EchoReply, icmp6Unreachable, icmp6PacketTooBig, icmp6TimeExceeded, icmp6ParameterProblem} {
		f.Data[t/32] &^= 1 << (t % 32)
	}
	return unix.SetsockoptICMPv6Filter(fd, unix.IPPROTO_ICMPV6, unix.ICMPV6_FILTER, &f)
}
