package writer

import (
	"encoding/binary"
	"os"
	"path/filepath"
	"sync"
	"time"

	"github.com/pcp-rtime/rtime/internal/ddsseg/layout"
)

// Notice is what the agent tells a supplier, in a file of the agent's own. It is read and
// not mapped: whatever becomes of the file, nothing of this process depends on it. Its
// methods may be called by several goroutines at once.
type Notice struct {
	mu     sync.Mutex
	path   string   // "" where there is none to come
	f      *os.File // nil until it is there
	looked time.Time
	stayed uint32 // the word that Stay has answered
}

// noticePath returns where the notice of a segment stands.
func noticePath(segment string) string {
	dir, name := filepath.Split(segment)
	return filepath.Join(dir, layout.NoticeDir, name)
}

// lookEvery is how often the file is looked for, while it is not there or may be another.
const lookEvery = time.Second

// word returns one word of the notice, 0 where there is none.
func (n *Notice) word(off int64) uint32 {
	n.look()
	var b [4]byte
	if n.f == nil {
		return 0
	}
	if _, err := n.f.ReadAt(b[:], off); err != nil {
		return 0
	}
	return binary.NativeEndian.Uint32(b[:])
}

// look opens the file if it is there. Only an agent that has lost its directory makes
// another one.
func (n *Notice) look() {
	now := time.Now()
	if n.path == "" || now.Sub(n.looked) < lookEvery {
		return
	}
	n.looked = now
	if n.f != nil && !unlinked(n.f) {
		return
	}
	n.end()
	n.f = openNotice(n.path)
}

func (n *Notice) end() {
	if n.f != nil {
		n.f.Close()
	}
	n.f = nil
}

// close is for a supplier that ends: nothing more is told to it.
func (n *Notice) close() {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.end()
	n.path = ""
}

// GoAway reports whether the agent has told the supplier to go away.
func (n *Notice) GoAway() bool {
	n.mu.Lock()
	defer n.mu.Unlock()
	word := n.word(layout.NoticeGoAway)
	return word != 0 && word != n.stayed
}

// Stay answers that the supplier does not go, so that GoAway is false until it is told anew.
func (n *Notice) Stay() {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.stayed = n.word(layout.NoticeGoAway)
}

// Interval returns the shortest interval at which somebody asks, 0 if none is known.
func (n *Notice) Interval() time.Duration {
	n.mu.Lock()
	defer n.mu.Unlock()
	return time.Duration(n.word(layout.NoticeInterval)) * time.Millisecond
}

// Subscribed returns the number of values that are being asked for.
func (n *Notice) Subscribed() int {
	n.mu.Lock()
	defer n.mu.Unlock()
	return int(n.word(layout.NoticeSubscrib))
}
