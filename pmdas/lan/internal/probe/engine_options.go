package probe

import (
	"errors"
	"fmt"
	"time"
)

// Options says how an engine is opened. The zero value is what an agent wants.
type Options struct {
	// Records is how many sent requests the Linux engine remembers, rounded up to a
	// power of two and at most 65536, which 0 means. A record takes 32 bytes. A reply
	// to a request that is no longer remembered is still a Reply, with a coarser
	// stamp; an ICMP error that quotes one is a stray.
	Records int

	// Buffer is the receive buffer of each socket of the Linux engine in bytes, as
	// the kernel counts them: about 1.5 kB for a reply and its send stamp. 0 means
	// 8 MiB, five seconds of 1,000 probes/s.
	Buffer int

	// Late is how long the portable engine waits for an answer, because it keeps a
	// socket open for each request; 0 means 10 s. The Linux engine needs no limit.
	Late time.Duration

	// Linger is how long the portable engine waits for duplicates after an answer;
	// 0 means 1 s.
	Linger time.Duration

	// Open is how many requests the portable engine has open at once; beyond it the
	// oldest ones are given up. 0 means 512. Each takes a socket and three goroutines.
	Open int

	// Report, if not nil, is told what the engine has to do without: an address family that
	// could not be opened, or a time stamp that the kernel does not give. It is called only
	// while the engine is being opened.
	Report func(error)

	stamps stampLimit // for tests: go without some of the kernel's time stamps
}

// stampLimit withholds kernel time stamps from an engine.
type stampLimit uint8

const (
	allStamps stampLimit = iota
	noSendStamps
	noStamps
)

func (o Options) report(format string, args ...any) {
	if o.Report != nil {
		o.Report(fmt.Errorf("probe: "+format, args...))
	}
}

// Names of engines that Open knows.
const (
	EngineAuto    = "auto"     // EngineLinux if it opens, otherwise EngineProbing
	EngineLinux   = "linux"    // see OpenLinux
	EngineProbing = "pro-bing" // see OpenProbing
)

// Open opens the engine of that name; the empty name is EngineAuto.
func Open(name string, o Options) (Engine, error) {
	switch name {
	case EngineLinux:
		return OpenLinux(o)
	case EngineProbing:
		return OpenProbing(o)
	case EngineAuto, "":
		e, err := OpenLinux(o)
		if err == nil {
			return e, nil
		}
		o.report("engine %s: %w; using %s", EngineLinux, err, EngineProbing)
		p, perr := OpenProbing(o)
		if perr != nil {
			return nil, errors.Join(err, perr)
		}
		return p, nil
	}
	return nil, fmt.Errorf("probe: no engine %q; there are %s, %s and %s", name, EngineAuto, EngineLinux, EngineProbing)
}
