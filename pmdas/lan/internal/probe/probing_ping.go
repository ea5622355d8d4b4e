package probe

import (
	"context"
	"errors"
	"net"
	"net/netip"
	"runtime"
	"sync"
	"syscall"
	"time"

	probing "github.com/prometheus-community/pro-bing"
)

// ping is one request of the portable engine.
type ping struct {
	engine *probingEngine
	pinger *probing.Pinger
	addr   netip.Addr
	token  uint64
	id     uint16
	sent   time.Time
	end    *time.Timer

	outcome chan error // of the sending
	once    sync.Once  // for outcome

	prev, next *ping // in order of sending; guarded by the engine's lock
}

func newPing(e *probingEngine, addr netip.Addr, token uint64) *ping {
	p := &ping{engine: e, addr: addr, token: token, outcome: make(chan error, 1)}
	g := probing.New("")
	g.SetIPAddr(&net.IPAddr{IP: addr.AsSlice(), Zone: addr.Zone()})
	g.SetLogger(probing.NoopLogger{})
	g.SetPrivileged(e.raw(addr))
	g.RecordRtts, g.RecordTTLs = false, false
	g.Interval = 2*e.late + time.Hour // never comes: one request
	g.Timeout = e.late
	g.OnSend = func(*probing.Packet) { p.done(nil) }
	g.OnSendError = func(_ *probing.Packet, err error) { p.failed(err) }
	g.OnRecv = p.received
	g.OnDuplicateRecv = p.received
	p.pinger = g
	return p
}

// raw says whether addr is asked through a raw socket.
func (e *probingEngine) raw(addr netip.Addr) bool {
	if addr.Is6() {
		return e.raw6
	}
	return e.raw4
}

// run sends the request and waits for answers until the ping is stopped.
func (p *ping) run() {
	defer p.engine.running.Done()
	p.sent = time.Now()
	err := p.pinger.RunWithContext(context.Background())
	if err == nil {
		err = errors.New("stopped before it was sent")
	}
	p.done(errnoOf(err))
	p.engine.mu.Lock()
	p.engine.giveUp(p)
	p.engine.mu.Unlock()
}

// done tells Send how the sending went; the first call counts.
func (p *ping) done(err error) {
	p.once.Do(func() { p.outcome <- err })
}

// failed is called when the request could not be sent. Where there is no buffer space
// pro-bing would go on trying, and the request would leave after it was reported as failed.
// So failed ends the goroutine that tries.
func (p *ping) failed(err error) {
	p.done(errnoOf(err))
	if errors.Is(err, syscall.ENOBUFS) {
		runtime.Goexit()
	}
}

// received is called for every reply with the identifier and the UUID of the ping.
func (p *ping) received(pkt *probing.Packet) {
	now := time.Now()
	e := p.engine
	from, _ := netip.AddrFromSlice(pkt.IPAddr.IP)
	from = from.Unmap()
	e.mu.Lock()
	defer e.mu.Unlock()
	if from != p.addr.WithZone("") {
		e.strays++
		return
	}
	e.events = append(e.events, Event{
		Token: p.token, Kind: Reply, From: p.addr, At: now,
		RTT: p.rtt(pkt.Rtt, now), Stamps: StampsUser, TTL: max(pkt.TTL, 0),
	})
	if p.end == nil {
		p.end = time.AfterFunc(e.linger, p.stop)
	}
}

// rtt checks what pro-bing measured, with a clock that may be set meanwhile,
// against the monotonic clock.
func (p *ping) rtt(shown time.Duration, now time.Time) time.Duration {
	if most := now.Sub(p.sent); shown < 0 || shown > most {
		return most
	}
	return shown
}

func (p *ping) stop() { p.pinger.Stop() }
