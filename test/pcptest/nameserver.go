package pcptest

import (
	"encoding/binary"
	"net"
	"net/netip"
	"os"
	"runtime"
	"strings"
	"sync"

	"golang.org/x/sys/unix"
)

// NameServer is the name server of a private PCP with a network namespace. It knows
// the names that it was told, and denies all others.
type NameServer struct {
	conn net.PacketConn

	mu    sync.Mutex
	names map[string][]netip.Addr
	mute  bool
}

// NameServer starts a name server in the namespace. Call it before StartPmcd.
func (p *PCP) NameServer() *NameServer {
	p.t.Helper()
	p.etc("resolv.conf", "nameserver 127.0.0.1\noptions timeout:1 attempts:1\n")
	n := &NameServer{names: make(map[string][]netip.Addr)}
	failed := make(chan error)
	go func() { failed <- n.listen("/run/netns/" + p.namespace) }()
	if err := <-failed; err != nil {
		p.t.Fatalf("name server: %v", err)
	}
	p.t.Cleanup(func() { n.conn.Close() })
	go n.serve()
	return n
}

// listen opens the socket in the namespace. The thread that enters the namespace ends
// with its goroutine.
func (n *NameServer) listen(namespace string) error {
	runtime.LockOSThread()
	f, err := os.Open(namespace)
	if err != nil {
		return err
	}
	defer f.Close()
	if err := unix.Setns(int(f.Fd()), unix.CLONE_NEWNET); err != nil {
		return err
	}
	n.conn, err = net.ListenPacket("udp4", "127.0.0.1:53")
	return err
}

// Set gives a name, without final dot, its addresses. Without addresses the name becomes
// unknown.
func (n *NameServer) Set(name string, addrs ...string) {
	n.mu.Lock()
	defer n.mu.Unlock()
	delete(n.names, name)
	for _, a := range addrs {
		n.names[name] = append(n.names[name], netip.MustParseAddr(a))
	}
}

// Mute has the server leave questions unanswered, or answer them again.
func (n *NameServer) Mute(on bool) {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.mute = on
}

func (n *NameServer) serve() {
	b := make([]byte, 4096)
	for {
		size, from, err := n.conn.ReadFrom(b)
		if err != nil {
			return
		}
		if answer := n.answer(b[:size]); answer != nil {
			_, _ = n.conn.WriteTo(answer, from)
		}
	}
}

// Numbers of RFC 1035 and RFC 3596.
const (
	dnsHeader       = 12
	dnsTypeA        = 1
	dnsTypeAAAA     = 28
	dnsClassIN      = 1
	dnsAnswer       = 0x8580 // response, authoritative, recursion desired and available
	dnsNameError    = 3
	dnsQuestionName = 0xc000 | dnsHeader // a pointer to the name in the question
)

// answer returns the answer to a message with one question, or nil if there is no answer.
func (n *NameServer) answer(question []byte) []byte {
	n.mu.Lock()
	defer n.mu.Unlock()
	name, kind, end := parseQuestion(question)
	if n.mute || end == 0 {
		return nil
	}
	addrs, known := n.names[name]
	flags := uint16(dnsAnswer)
	if !known {
		flags |= dnsNameError
	}
	var records []byte
	count := uint16(0)
	for _, a := range addrs {
		if kind == dnsTypeA && a.Is4() || kind == dnsTypeAAAA && a.Is6() {
			count++
			for _, word := range []uint16{dnsQuestionName, kind, dnsClassIN, 0, 1, uint16(a.BitLen() / 8)} { // for a second
				records = binary.BigEndian.AppendUint16(records, word)
			}
			records = append(records, a.AsSlice()...)
		}
	}
	b := append([]byte(nil), question[:2]...)
	for _, word := range []uint16{flags, 1, count, 0, 0} {
		b = binary.BigEndian.AppendUint16(b, word)
	}
	return append(append(b, question[dnsHeader:end]...), records...)
}

// parseQuestion returns the name and type of the one question of a message, and where
// it ends; 0 if the message is not of that kind.
func parseQuestion(b []byte) (name string, kind uint16, end int) {
	if len(b) < dnsHeader || binary.BigEndian.Uint16(b[4:]) != 1 {
		return "", 0, 0
	}
	var labels []string
	at := dnsHeader
	for at < len(b) && b[at] != 0 {
		next := at + 1 + int(b[at])
		if next > len(b) {
			return "", 0, 0
		}
		labels = append(labels, string(b[at+1:next]))
		at = next
	}
	if at+5 > len(b) {
		return "", 0, 0
	}
	return strings.Join(labels, "."), binary.BigEndian.Uint16(b[at+1:]), at + 5
}
