package pcptest

import (
	"net"
	"net/netip"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"sync"

	"golang.org/x/net/dns/dnsmessage"
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
	// Where ip-netns(8) looks for the resolver's configuration in a namespace.
	dir := filepath.Join("/etc/netns", p.namespace)
	if err := os.MkdirAll(dir, 0o755); err != nil {
		p.t.Fatal(err)
	}
	p.t.Cleanup(func() {
		_ = os.RemoveAll(dir)
		_ = os.Remove("/etc/netns") // if it is empty
	})
	conf := "nameserver 127.0.0.1\noptions timeout:1 attempts:1\n"
	if err := os.WriteFile(filepath.Join(dir, "resolv.conf"), []byte(conf), 0o644); err != nil {
		p.t.Fatal(err)
	}
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

// Set gives a name, without final dot, its addresses; none make it unknown.
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
		var m dnsmessage.Message
		if err := m.Unpack(b[:size]); err != nil || len(m.Questions) != 1 {
			continue
		}
		if answer := n.answer(&m); answer != nil {
			_, _ = n.conn.WriteTo(answer, from)
		}
	}
}

// answer returns the answer to a question, nil for none.
func (n *NameServer) answer(m *dnsmessage.Message) []byte {
	n.mu.Lock()
	defer n.mu.Unlock()
	if n.mute {
		return nil
	}
	q := m.Questions[0]
	r := dnsmessage.Message{Questions: m.Questions}
	r.Header = dnsmessage.Header{ID: m.ID, Response: true, RecursionDesired: true, RecursionAvailable: true}
	addrs, known := n.names[strings.TrimSuffix(q.Name.String(), ".")]
	if !known {
		r.RCode = dnsmessage.RCodeNameError
	}
	for _, a := range addrs {
		h := dnsmessage.ResourceHeader{Name: q.Name, Type: q.Type, Class: q.Class, TTL: 1}
		switch {
		case q.Type == dnsmessage.TypeA && a.Is4():
			r.Answers = append(r.Answers, dnsmessage.Resource{Header: h, Body: &dnsmessage.AResource{A: a.As4()}})
		case q.Type == dnsmessage.TypeAAAA && a.Is6():
			r.Answers = append(r.Answers, dnsmessage.Resource{Header: h, Body: &dnsmessage.AAAAResource{AAAA: a.As16()}})
		}
	}
	packed, err := r.Pack()
	if err != nil {
		return nil
	}
	return packed
}
