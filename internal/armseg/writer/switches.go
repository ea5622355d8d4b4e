package writer

import (
	"sync/atomic"
	"time"

	"github.com/pcp-rtime/rtime/internal/armseg/layout"
)

// switchesEvery is the shortest time between two readings of the agent's file.
const switchesEvery = time.Second

// switches are the transactions that the agent wants traced whenever they run. They are a
// copy of what the agent's file said last. If the file is missing or not well-formed,
// nothing is traced.
type switches struct {
	path  string       // of the file, below the directory
	next  atomic.Int64 // when to read it again, on the writer's clock
	trace [layout.TranMax / 32]atomic.Uint32
}

func (s *switches) on(tran uint32) bool {
	return s.trace[(tran-1)/32].Load()>>((tran-1)%32)&1 != 0
}

// readSwitches reads the agent's file, unless it is too early or another goroutine is
// doing so.
func (w *Writer) readSwitches(now int64) {
	s := &w.switches
	if next := s.next.Load(); now < next || !s.next.CompareAndSwap(next, now+int64(switchesEvery)) {
		return
	}
	var b [layout.SwitchesLen]byte
	var said layout.Switches
	if readAgent(w.dir, s.path, b[:]) {
		said.Decode(b[:], w.names.nonce)
	}
	for i, word := range said {
		if s.trace[i].Load() != word {
			s.trace[i].Store(word)
		}
	}
}
