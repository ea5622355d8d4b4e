package pmda_test

import (
	"fmt"
	"io"
	"net"
	"os"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/pcp-rtime/rtime/pcp"
	"github.com/pcp-rtime/rtime/pdu"
	"github.com/pcp-rtime/rtime/pmda"
	"github.com/pcp-rtime/rtime/pmda/pmdatest"
	"github.com/pcp-rtime/rtime/test/pcptest"
)

// claimEnv tells a child, which runs as nobody, where to connect, from which local
// port (0: any), and whether to hang up without waiting: "ADDRESS PORT yes|no", or
// "PATH 0 unix".
const claimEnv = "PMDA_TEST_CLAIM"

// hungUp is what the child prints if the agent hangs up on it.
const hungUp = "hung up"

// claim plays pmcd, says that its client is root, and stores 666. It prints the code
// of the answer.
func claim() error {
	f := strings.Fields(os.Getenv(claimEnv))
	if os.Getuid() != nobody {
		return fmt.Errorf("running as %d", os.Getuid())
	}
	var port int
	fmt.Sscan(f[1], &port)
	network := "tcp"
	if f[2] == "unix" {
		network = f[2]
	}
	c, err := reusing(port).Dial(network, f[0])
	if err != nil {
		return err
	}
	b := (&pdu.Creds{Version: 2}).Append(nil, 1)
	b = (&pdu.Attr{Attr: pcp.AttrUserID, Value: "0"}).Append(b, 1)
	b = (&pdu.Result{Sets: []pdu.ValueSet{{PMID: pcp.MakePMID(400, 0, 0), Values: []pdu.InstValue{
		{Inst: pcp.InstNull, Value: pcp.Num(int32(666))}}}}}).Append(b, 1)
	if _, err := c.Write(b); f[2] == "yes" {
		return err
	} else if err != nil {
		fmt.Println(hungUp)
		return nil
	}
	r := pdu.NewReader(c, 0)
	for {
		b, err := r.Next()
		if err != nil {
			fmt.Println(hungUp)
			return nil
		}
		var e pdu.Error
		if e.Parse(b) == nil {
			fmt.Println(int32(e.Code))
			return c.Close()
		}
	}
}

// reusing connects from a local port that other connections use too.
func reusing(port int) *net.Dialer {
	if port == 0 {
		return &net.Dialer{}
	}
	return &net.Dialer{LocalAddr: &net.TCPAddr{IP: net.IPv4(127, 0, 0, 1), Port: port},
		Control: func(_, _ string, c syscall.RawConn) (err error) {
			c.Control(func(fd uintptr) {
				err = syscall.SetsockoptInt(int(fd), syscall.SOL_SOCKET, syscall.SO_REUSEADDR, 1)
			})
			return err
		}}
}

func claimAt(t *testing.T, address string, port int, hangUp string) string {
	t.Helper()
	out, err := asNobody(t, fmt.Sprintf("%s=%s %d %s", claimEnv, address, port, hangUp)).Output()
	if err != nil {
		t.Fatalf("child: %v: %s", err, out)
	}
	return strings.TrimSpace(string(out))
}

// TestNobodyIsNotPmcd: any user can connect to a port, and say that its client is root.
func TestNobodyIsNotPmcd(t *testing.T) {
	for _, host := range []string{"127.0.0.1", "::1"} {
		l, err := pmda.ListenInet(host, 0)
		if err != nil {
			t.Fatal(err)
		}
		listen(t, guarded(), l)
		address := l.Addr().String()

		if got := claimAt(t, address, 0, "no"); got != hungUp {
			t.Errorf("%s: a store by nobody who claims to be root is answered %s, want %s", host, got, hungUp)
		}

		// When the agent accepts the connection the child has ended, and its socket has no
		// owner.
		first := pmdatest.Connect(t, dial(t, "tcp", address))
		claimAt(t, address, 0, "yes")
		first.Close()
		last := pmdatest.Connect(t, dial(t, "tcp", address))
		if n := value(t, last); n != 1 {
			t.Errorf("%s: nobody stored %d and was gone", host, n)
		}
		last.Close()
	}
}

// TestNobodyOnRootsPort: a local port that root's connections use as well.
func TestNobodyOnRootsPort(t *testing.T) {
	l, err := pmda.ListenInet("127.0.0.1", 0)
	if err != nil {
		t.Fatal(err)
	}
	listen(t, guarded(), l)
	port := pcptest.FreePort(t)
	for range 16 {
		other, err := net.Listen("tcp", "127.0.0.1:0")
		if err != nil {
			t.Fatal(err)
		}
		defer other.Close()
		c, err := reusing(port).Dial("tcp", other.Addr().String())
		if err != nil {
			t.Fatal(err)
		}
		defer c.Close()
	}
	if got := claimAt(t, l.Addr().String(), port, "no"); got != hungUp {
		t.Errorf("a store by nobody from a port of root's is answered %s", got)
	}
}

// TestUnixSocketShutsOthersOut: a user who may not write to the socket cannot connect.
func TestUnixSocketShutsOthersOut(t *testing.T) {
	dir, err := os.MkdirTemp("", "pmdatest")
	if err != nil {
		t.Fatal(err)
	}
	defer os.RemoveAll(dir)
	if err := os.Chmod(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	l, err := pmda.ListenUnix(dir+"/socket", 0, 0)
	if err != nil {
		t.Fatal(err)
	}
	listen(t, guarded(), l)
	out, err := asNobody(t, claimEnv+"="+dir+"/socket 0 unix").CombinedOutput()
	if err == nil || !strings.Contains(string(out), "permission denied") {
		t.Errorf("nobody connects to root's socket: %v: %s", err, out)
	}
	c := dial(t, "unix", dir+"/socket")
	c.SetReadDeadline(time.Now().Add(patience))
	if _, err := io.ReadFull(c, make([]byte, 20)); err != nil {
		t.Error(err)
	}
	c.Close()
}
