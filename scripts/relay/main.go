// Relay is an HTTP proxy between two network namespaces: it listens in one and fetches
// from where it was started. A machine without a network, such as the one that
// scripts/fresh makes, reaches its package archive through it.
//
//	relay [-via PROXY] NAMESPACE ADDRESS
//
// NAMESPACE is a file that stands for a network namespace, such as /run/netns/NAME;
// ADDRESS is where to listen there. PROXY is the URL of the proxy that the machine
// itself uses. Relay prints a line once it listens, and runs until it is killed.
package main

import (
	"flag"
	"fmt"
	"log"
	"net"
	"net/http"
	"net/http/httputil"
	"net/url"
	"os"
	"runtime"

	"golang.org/x/sys/unix"
)

func main() {
	log.SetFlags(0)
	log.SetPrefix("relay: ")
	via := flag.String("via", "", "the `URL` of the proxy that the machine uses")
	flag.Parse()
	if flag.NArg() != 2 {
		flag.Usage()
		os.Exit(2)
	}
	h, err := handler(*via)
	if err != nil {
		log.Fatal(err)
	}
	l, err := listenIn(flag.Arg(0), flag.Arg(1))
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println("listening on", l.Addr())
	log.Fatal(http.Serve(l, h))
}

// listenIn listens on a TCP address in another network namespace, in which a socket stays
// once it is made.
func listenIn(namespace, address string) (net.Listener, error) {
	type result struct {
		l   net.Listener
		err error
	}
	made := make(chan result)
	go func() {
		// Never unlocked: the thread that changed its namespace ends with the goroutine.
		runtime.LockOSThread()
		fd, err := unix.Open(namespace, unix.O_RDONLY|unix.O_CLOEXEC, 0)
		if err == nil {
			err = unix.Setns(fd, unix.CLONE_NEWNET)
			unix.Close(fd)
		}
		if err != nil {
			made <- result{nil, fmt.Errorf("network namespace %s: %w", namespace, err)}
			return
		}
		l, err := net.Listen("tcp", address)
		made <- result{l, err}
	}()
	r := <-made
	return r.l, r.err
}

// handler answers requests for http URLs, through another proxy unless via is empty.
func handler(via string) (http.Handler, error) {
	transport := &http.Transport{DisableCompression: true}
	if via != "" {
		u, err := url.Parse(via)
		if err != nil {
			return nil, err
		}
		transport.Proxy = http.ProxyURL(u)
	}
	forward := &httputil.ReverseProxy{Transport: transport, Rewrite: func(*httputil.ProxyRequest) {}}
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Scheme != "http" || r.URL.Host == "" {
			http.Error(w, "only URLs that begin with http:// are relayed", http.StatusBadRequest)
			return
		}
		forward.ServeHTTP(w, r)
	}), nil
}
