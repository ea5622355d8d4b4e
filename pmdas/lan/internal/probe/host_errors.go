package probe

// ErrorClass sorts ICMP and ICMPv6 errors into one small list that serves both.
type ErrorClass uint8

// The classes, in the order in which Counters.Errors counts them.
const (
	NetUnreachable ErrorClass = iota
	HostUnreachable
	ProtocolUnreachable
	PortUnreachable
	AdminProhibited
	PacketTooBig
	TTLExceeded
	ParameterProblem
	OtherError
	NumErrorClasses // how many there are, no class itself
)

var classNames = [NumErrorClasses]string{
	"net-unreachable", "host-unreachable", "protocol-unreachable", "port-unreachable",
	"admin-prohibited", "packet-too-big", "ttl-exceeded", "parameter-problem", "other",
}

func (c ErrorClass) String() string {
	if c < NumErrorClasses {
		return classNames[c]
	}
	return "unknown"
}

// unreachable4 maps the codes of ICMP type 3 (RFC 792, RFC 1122 3.2.2.1, RFC 1812 5.2.7.1).
var unreachable4 = [16]ErrorClass{
	0: NetUnreachable, 1: HostUnreachable, 2: ProtocolUnreachable, 3: PortUnreachable,
	4: PacketTooBig, 5: OtherError, 6: NetUnreachable, 7: HostUnreachable,
	8: HostUnreachable, 9: AdminProhibited, 10: AdminProhibited, 11: NetUnreachable,
	12: HostUnreachable, 13: AdminProhibited, 14: AdminProhibited, 15: AdminProhibited,
}

// unreachable6 maps the codes of ICMPv6 type 1 (RFC 4443 3.1; 7 is RFC 6554's).
var unreachable6 = [8]ErrorClass{
	0: NetUnreachable, 1: AdminProhibited, 2: NetUnreachable, 3: HostUnreachable,
	4: PortUnreachable, 5: AdminProhibited, 6: AdminProhibited, 7: OtherError,
}

// classify names the class of an ICMP (v6: ICMPv6) error. ok is false for messages
// that quote a request without ending it: source quench and redirect.
func classify(v6 bool, typ, code uint8) (class ErrorClass, ok bool) {
	if v6 {
		return classify6(typ, code)
	}
	switch typ {
	case 3:
		if int(code) < len(unreachable4) {
			return unreachable4[code], true
		}
	case 4, 5:
		return OtherError, false
	case 11:
		return TTLExceeded, true
	case 12:
		return ParameterProblem, true
	}
	return OtherError, true
}

func classify6(typ, code uint8) (class ErrorClass, ok bool) {
	switch typ {
	case 1:
		if int(code) < len(unreachable6) {
			return unreachable6[code], true
		}
	case 2:
		return PacketTooBig, true
	case 3:
		return TTLExceeded, true
	case 4:
		return ParameterProblem, true
	case 137:
		return OtherError, false
	}
	return OtherError, true
}
