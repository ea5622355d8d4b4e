package pmapi

import (
	"bufio"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
)

// The default ports of PCP's programs.
const (
	pmcdPort    = 44321
	pmproxyPort = 44322
)

// Host says where a pmcd is and how to reach it. ParseHost makes a Host from PCP's notation.
type Host struct {
	// Local is true for "local:": the Unix socket of this machine's pmcd or, if that cannot be
	// reached, TCP to localhost.
	Local bool
	// Socket is the path of a Unix socket; it is empty for TCP. "unix:" and "local:" without a
	// path mean the socket that PMCD_SOCKET names, or otherwise pmcd.socket below the
	// PCP_RUN_DIR of pcp.conf(5).
	Socket string
	// Name is a host's name or address. Ports are tried in their order. If there are none, the
	// ports of PMCD_PORT are used, or otherwise 44321.
	Name  string
	Ports []int
	// Proxy is the address, host:port, of a pmproxy that makes the connection; empty if there
	// is none.
	Proxy string
	// Secure asks for TLS. Relaxed goes on without TLS if pmcd does not offer it.
	Secure, Relaxed bool
	// Container is the name of the container whose values are wanted; empty if there is none.
	Container string

	text string
}

// String returns the notation that ParseHost has read.
func (h Host) String() string { return h.text }

// ParseHost reads a host in the notation of PCP, as the section PMCD HOST SPECIFICATION of
// PCPIntro(1) has it:
//
//	local:                      this machine, over a Unix socket, or else over TCP
//	local:/path                 the same with another path of the socket
//	unix:  unix:/path           this machine, over a Unix socket only
//	host  pcp://host            TCP, in the clear
//	pcps://host                 TCP with TLS
//	host:44321,4321             ports, which are tried in this order
//	[fe80::1%eth0]:44321        an IPv6 address
//	host@proxy:44322            through a pmproxy
//	host?container=NAME         the values of one container
//	host?secure=enforce         TLS; "relaxed" does without where pmcd has none
//
// An empty text is "local:". Attributes are separated by "&" or ",". Those that concern a login
// (username, password, method and so on) are refused, because this package does not speak
// SASL.
func ParseHost(text string) (Host, error) {
	h := Host{text: text}
	spec, attrs, _ := strings.Cut(text, "?")
	scheme, rest, ok := strings.Cut(spec, ":")
	var err error
	switch {
	case spec == "", scheme == "local" && ok:
		h.Local = true
		h.Socket = socketPath(rest)
	case scheme == "unix" && ok:
		h.Socket = socketPath(rest)
	case strings.HasPrefix(spec, "pcp://"):
		err = h.network(strings.TrimPrefix(spec, "pcp://"))
	case strings.HasPrefix(spec, "pcps://"):
		h.Secure = true
		err = h.network(strings.TrimPrefix(spec, "pcps://"))
	case strings.Contains(spec, "://"):
		err = fmt.Errorf("%q is not one of local, unix, pcp and pcps", scheme)
	default:
		err = h.network(spec)
	}
	if h.text == "" {
		h.text = "local:"
	}
	if err == nil {
		err = h.attributes(attrs)
	}
	if err != nil {
		return Host{}, fmt.Errorf("pmapi: host %q: %w", text, err)
	}
	return h, nil
}

// network parses host:ports@proxy:port.
func (h *Host) network(spec string) error {
	spec = strings.TrimSuffix(spec, "/")
	own, proxy, via := strings.Cut(spec, "@")
	var err error
	if h.Name, h.Ports, err = hostAndPorts(own); err != nil {
		return err
	}
	if !via {
		return nil
	}
	name, ports, err := hostAndPorts(proxy)
	if err != nil {
		return err
	}
	if len(ports) > 1 {
		return fmt.Errorf("a proxy has one port, not %d", len(ports))
	}
	ports = append(ports, pmproxyPort)
	h.Proxy = net.JoinHostPort(name, strconv.Itoa(ports[0]))
	return nil
}

// hostAndPorts parses a name, or an address in brackets, and ports after a colon.
func hostAndPorts(s string) (name string, ports []int, err error) {
	list, some := "", false
	if inside, bracket := strings.CutPrefix(s, "["); bracket {
		var after string
		var closed bool
		name, after, closed = strings.Cut(inside, "]")
		list, some = strings.CutPrefix(after, ":")
		if !closed || !some && after != "" {
			return "", nil, fmt.Errorf("%q is not an address in brackets", s)
		}
	} else {
		name, list, some = strings.Cut(s, ":")
	}
	if name == "" || strings.ContainsAny(name, "/ \t\n\r") {
		return "", nil, fmt.Errorf("%q is not the name of a host", name)
	}
	if !some {
		return name, nil, nil
	}
	ports, err = parsePorts(list)
	return name, ports, err
}

func parsePorts(list string) ([]int, error) {
	var ports []int
	for f := range strings.SplitSeq(list, ",") {
		n, err := strconv.ParseUint(f, 10, 16)
		if err != nil || n == 0 {
			return nil, fmt.Errorf("port %q is not within 1..65535", f)
		}
		ports = append(ports, int(n))
	}
	return ports, nil
}

// attributes parses name=value&name=value.
func (h *Host) attributes(list string) error {
	for f := range strings.FieldsFuncSeq(list, func(r rune) bool { return r == '&' || r == ',' }) {
		name, value, _ := strings.Cut(f, "=")
		switch {
		case name == "container" && value != "":
			if len(value) >= 4096 {
				return fmt.Errorf("the name of the container has %d bytes; pmcd takes 4095", len(value))
			}
			h.Container = value
		case name == "secure" && (value == "" || value == "enforce"):
			h.Secure = true
		case name == "secure" && value == "relaxed":
			h.Secure, h.Relaxed = true, true
		case slices.Contains(loginAttributes, name):
			return fmt.Errorf("the attribute %q needs a login by SASL, which this package does not speak", name)
		default:
			return fmt.Errorf("the attribute %q is none of container=NAME, secure=enforce and secure=relaxed", f)
		}
	}
	return nil
}

var loginAttributes = []string{"username", "authname", "password", "method", "realm", "userauth"}

// socketPath returns the absolute path after "unix:" or "local:", with any number of slashes
// before it. If there is none, it returns the path of the socket of this machine's pmcd.
func socketPath(rest string) string {
	if rest = strings.TrimLeft(rest, "/"); rest != "" {
		return "/" + rest
	}
	if path := os.Getenv("PMCD_SOCKET"); path != "" {
		return path
	}
	return filepath.Join(runDir(), "pmcd.socket")
}

// runDir returns PCP_RUN_DIR of the environment or of pcp.conf.
func runDir() string {
	if dir := os.Getenv("PCP_RUN_DIR"); dir != "" {
		return dir
	}
	conf := os.Getenv("PCP_CONF")
	if conf == "" {
		conf = "/etc/pcp.conf"
	}
	f, err := os.Open(conf)
	if err != nil {
		return "/run/pcp"
	}
	defer f.Close()
	for s := bufio.NewScanner(f); s.Scan(); {
		if dir, ok := strings.CutPrefix(s.Text(), "PCP_RUN_DIR="); ok && dir != "" {
			return dir
		}
	}
	return "/run/pcp"
}

// ports returns the ports to try.
func (h *Host) ports() []int {
	if len(h.Ports) > 0 {
		return h.Ports
	}
	if ports, err := parsePorts(os.Getenv("PMCD_PORT")); err == nil {
		return ports
	}
	return []int{pmcdPort}
}

// target is one way to reach the pmcd of a host.
type target struct {
	network, address string
	host             string // for TLS, and for the request to a proxy
	port             int
}

// targets returns the ways to reach the pmcd of a host, in the order in which to try them.
func (h *Host) targets() []target {
	var list []target
	name := h.Name
	if h.Socket != "" {
		list = append(list, target{network: "unix", address: h.Socket, host: "localhost"})
		if !h.Local {
			return list
		}
		name = "localhost"
	}
	for _, port := range h.ports() {
		t := target{network: "tcp", address: h.Proxy, host: name, port: port}
		if h.Proxy == "" {
			t.address = net.JoinHostPort(name, strconv.Itoa(port))
		}
		list = append(list, t)
	}
	return list
}
