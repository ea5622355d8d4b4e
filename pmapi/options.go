package pmapi

import (
	"context"
	"crypto/tls"
	"math"
	"net"
	"os"
	"strconv"
	"time"
)

// Options say how to connect and how long to wait. The zero value is valid, and so is a nil
// pointer.
type Options struct {
	// Dial opens a connection; the networks are "unix" and "tcp". Nil means the Dial of a
	// net.Dialer. The context ends when ConnectTimeout is over.
	Dial func(ctx context.Context, network, address string) (net.Conn, error)
	// TLS is used for pcps://. Nil means the certificates that this system trusts. If
	// ServerName is empty, the host's name is used.
	TLS *tls.Config
	// ConnectTimeout limits how long a connection may take: the look-up of the name,
	// connecting, and pmcd's greeting. 0 means PMCD_CONNECT_TIMEOUT seconds, or 5.
	ConnectTimeout time.Duration
	// RequestTimeout limits a request on an existing connection; a context may end it
	// sooner. 0 means PMCD_REQUEST_TIMEOUT seconds, or 10.
	RequestTimeout time.Duration
	// MaxAnswer is the length in bytes of the longest answer that is accepted. 0 means 256
	// MiB. Memory is allocated for bytes that have arrived, not for lengths that were
	// announced.
	MaxAnswer int
}

// resolve returns the options with defaults filled in.
func (o *Options) resolve() Options {
	var r Options
	if o != nil {
		r = *o
	}
	if r.Dial == nil {
		r.Dial = new(net.Dialer).DialContext
	}
	if r.ConnectTimeout <= 0 {
		r.ConnectTimeout = seconds("PMCD_CONNECT_TIMEOUT", 5*time.Second)
	}
	if r.RequestTimeout <= 0 {
		r.RequestTimeout = seconds("PMCD_REQUEST_TIMEOUT", 10*time.Second)
	}
	if r.MaxAnswer <= 0 {
		r.MaxAnswer = 256 << 20
	}
	return r
}

// seconds returns the duration that a variable of the environment holds, as PCP's programs
// read it.
func seconds(name string, otherwise time.Duration) time.Duration {
	f, err := strconv.ParseFloat(os.Getenv(name), 64)
	if err != nil || !(f > 0) || f > math.MaxInt64/1e10 {
		return otherwise
	}
	return time.Duration(f * float64(time.Second))
}
