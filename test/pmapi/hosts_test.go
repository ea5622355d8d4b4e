package pmapi

import (
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"encoding/pem"
	"errors"
	"fmt"
	"math/big"
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/pcp-rtime/rtime/pcp"
	"github.com/pcp-rtime/rtime/pmapi"
	"github.com/pcp-rtime/rtime/test/pcptest"
)

// TestHosts: every notation of a host leads to the pmcd that it means.
func TestHosts(t *testing.T) {
	t.Parallel()
	p := start(t)
	proxy := pcptest.FreePort(t)
	conf := p.WriteFile("pmproxy.conf", "[pmproxy]\npcp.enabled = true\nhttp.enabled = false\nredis.enabled = false\n")
	p.Spawn("pmproxy", "-f", "-i", "127.0.0.1", "-p", fmt.Sprint(proxy), "-s", p.Path("run/pmproxy.socket"), "-c", conf, "-l", p.Path("log/pmproxy.log"))
	pcptest.Eventually(t, "pmproxy listens", func() error {
		c, err := net.Dial("tcp", fmt.Sprintf("127.0.0.1:%d", proxy))
		if err == nil {
			c.Close()
		}
		return err
	})
	nobody := pcptest.FreePort(t)
	for _, host := range []string{
		"unix:" + p.Socket(),
		"local:" + p.Socket(),
		fmt.Sprintf("localhost:%d", p.Port()),
		fmt.Sprintf("127.0.0.1:%d", p.Port()),
		fmt.Sprintf("pcp://localhost:%d,%d", nobody, p.Port()),
		fmt.Sprintf("localhost:%d?secure=relaxed", p.Port()),
		fmt.Sprintf("127.0.0.1:%d@127.0.0.1:%d", p.Port(), proxy),
	} {
		list, err := clientOf(t, host).Read(context.Background(), "test.color")
		if err != nil || len(list[0].Values) != 2 {
			t.Errorf("%s: %v, %v", host, list, err)
		}
	}
	for host, want := range map[string]error{
		fmt.Sprintf("pcps://localhost:%d", p.Port()): pmapi.ErrNotOffered,
		"unix:" + p.Path("run/no.socket"):            os.ErrNotExist,
	} {
		if _, err := clientOf(t, host).Read(context.Background(), "test.color"); !errors.Is(err, want) {
			t.Errorf("%s: %v, want %v", host, err, want)
		}
	}
}

// TestLocal: local: is the pmcd that the environment names, and TCP where its socket is not
// there.
func TestLocal(t *testing.T) {
	p := start(t)
	t.Setenv("PMCD_SOCKET", p.Socket())
	t.Setenv("PMCD_PORT", fmt.Sprint(p.Port()))
	for _, socket := range []string{p.Socket(), p.Path("run/no.socket")} {
		t.Setenv("PMCD_SOCKET", socket)
		c := pmapi.Local()
		defer c.Close()
		list, err := c.Read(context.Background(), "test.color", "pmcd.client.whoami")
		if err != nil || len(list[0].Values) != 2 {
			t.Errorf("with the socket %s: %v, %v", socket, list, err)
		}
	}
}

// TestContainer: pmcd and its agents are told of the container that the client asks for.
func TestContainer(t *testing.T) {
	t.Parallel()
	p := start(t)
	for _, host := range []string{"unix:" + p.Socket() + "?container=web-7", fmt.Sprintf("localhost:%d?container=web-7", p.Port())} {
		list, err := clientOf(t, host).Read(context.Background(), "pmcd.client.container", "test.color")
		if err != nil || len(list[1].Values) != 2 {
			t.Fatalf("%s: %v, %v", host, list, err)
		}
		found := false
		for _, v := range list[0].Values {
			found = found || v.Value.String() == "web-7"
		}
		if !found {
			t.Errorf("%s: containers of pmcd's clients: %v, %v", host, list[0].Values, list[0].Err)
		}
	}
}

// TestAccess: a client that pmcd does not want is told so, and one that may not store too.
func TestAccess(t *testing.T) {
	t.Parallel()
	o := options(t)
	o.Access = "disallow 127.0.0.9 : all;\ndisallow \"local:*\" : store;\n"
	p := pcptest.Start(t, o)
	c := client(t, p)
	ctx := context.Background()
	list := metrics(t, c, "test.control.add")
	if err := c.Store(ctx, list[0], pcp.InstNull, pcp.Str("x")); !errors.Is(err, pcp.ErrPermission) || pmapi.MayRetry(err) {
		t.Errorf("a store: %v", err)
	}
	stranger := limits
	stranger.Dial = (&net.Dialer{LocalAddr: &net.TCPAddr{IP: net.IPv4(127, 0, 0, 9)}}).DialContext
	// pmcd says so and resets the connection at once, which may overtake what it says.
	pcptest.Eventually(t, "pmcd refuses a client", func() error {
		_, err := pmapi.Dial(ctx, fmt.Sprintf("127.0.0.1:%d", p.Port()), &stranger)
		if !errors.Is(err, pcp.ErrPermission) {
			return fmt.Errorf("not refused: %v", err)
		}
		if pmapi.MayRetry(err) {
			t.Errorf("MayRetry of %v", err)
		}
		return nil
	})
}

// certificate makes a certificate of localhost, and its key, in a folder.
func certificate(t *testing.T, dir string) (cert, key string, pool *x509.CertPool) {
	t.Helper()
	private, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	about := &x509.Certificate{SerialNumber: big.NewInt(1), DNSNames: []string{"localhost"}, IsCA: true, BasicConstraintsValid: true,
		NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(24 * time.Hour), KeyUsage: x509.KeyUsageDigitalSignature | x509.KeyUsageCertSign,
		ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth}}
	der, err := x509.CreateCertificate(rand.Reader, about, about, &private.PublicKey, private)
	if err != nil {
		t.Fatal(err)
	}
	pkcs8, err := x509.MarshalPKCS8PrivateKey(private)
	if err != nil {
		t.Fatal(err)
	}
	cert, key = filepath.Join(dir, "cert.pem"), filepath.Join(dir, "key.pem")
	for path, block := range map[string]*pem.Block{cert: {Type: "CERTIFICATE", Bytes: der}, key: {Type: "PRIVATE KEY", Bytes: pkcs8}} {
		if err := os.WriteFile(path, pem.EncodeToMemory(block), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	pool = x509.NewCertPool()
	parsed, err := x509.ParseCertificate(der)
	if err != nil {
		t.Fatal(err)
	}
	pool.AddCert(parsed)
	return cert, key, pool
}

// TestTLS: values come over TLS from a pmcd with a certificate, and from no other.
func TestTLS(t *testing.T) {
	t.Parallel()
	cert, key, pool := certificate(t, t.TempDir())
	o := options(t)
	o.TLS = fmt.Sprintf("tls-key-file = %s\ntls-cert-file = %s\ntls-ca-cert-file = %s\n", key, cert, cert)
	p := pcptest.Start(t, o)
	ctx := context.Background()
	for _, host := range []string{fmt.Sprintf("pcps://localhost:%d", p.Port()), fmt.Sprintf("localhost:%d?secure=relaxed", p.Port()),
		fmt.Sprintf("pcps://localhost:%d?container=web", p.Port())} {
		secure := limits
		secure.TLS = &tls.Config{RootCAs: pool}
		wire := new(recorder)
		secure.Dial = wire.dial
		c, err := pmapi.NewClient(host, &secure)
		if err != nil {
			t.Fatal(err)
		}
		list, err := c.Read(ctx, "test.color")
		if err != nil || len(list[0].Values) != 2 {
			t.Errorf("%s: %v, %v", host, list, err)
		}
		if strings.Contains(string(wire.sent), "test.color") || len(wire.sent) < 200 {
			t.Errorf("%s: %d bytes in the clear", host, len(wire.sent))
		}
		c.Close()
	}
	var unknown *tls.CertificateVerificationError
	_, err := clientOf(t, fmt.Sprintf("pcps://localhost:%d", p.Port())).Read(ctx, "test.color")
	if !errors.As(err, &unknown) {
		t.Errorf("a certificate that nobody knows: %v", err)
	}
}

// recorder keeps what a client sends.
type recorder struct {
	net.Conn
	sent []byte
}

func (r *recorder) dial(ctx context.Context, network, address string) (net.Conn, error) {
	c, err := new(net.Dialer).DialContext(ctx, network, address)
	r.Conn = c
	return r, err
}

func (r *recorder) Write(b []byte) (int, error) {
	r.sent = append(r.sent, b...)
	return r.Conn.Write(b)
}
