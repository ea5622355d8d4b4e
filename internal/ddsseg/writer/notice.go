package writer

import (
	"encoding/binary"
	"os"
	"path/filepath"
	"sync"
	"time"

	"github.com/pcp-rtime/rtime/internal/ddsseg/layout"
)

// Notice is what the agent tells a supplier, in a file of the agent. It is read and not
// mapped: whatever happens to the file does not harm this process. Several goroutines may
// call its methods at once.
type Notice struct {
	mu     sync.Mutex
	path   string   // "" if none is expected
	f      *os.File // nil until the file is there
	looked time.Time
	stayed uint32 // the word that Stay has answered
}

// noticePath returns the path of the notice for a segment.
func noticePath(segment string) string {
	dir, name := filepath.Split(segment)
	return filepath.Join(dir, layout.NoticeDir, name)
}

// lookEvery is how often the file is looked for while it is not there or may have been
// replaced.
const lookEvery = time.Second

// word returns one word of the notice, or 0 if there is no notice.
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

// look opens the file if it is there. An agent makes another file only if it has lost its
// directory.
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

// close ends the use of the notice when the supplier ends.
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

// Stay answers that the supplier does not go away. GoAway is false until the agent tells it
// again.
func (n *Notice) Stay() {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.stayed = n.word(layout.NoticeGoAway)
}

// Interval returns the shortest interval at which a client asks, or 0 if none is known.
func (n *Notice) Interval() time.Duration {
	n.mu.Lock()
	defer n.mu.Unlock()
	return time.Duration(n.word(layout.NoticeInterval)) * time.Millisecond
}

// Subscribed returns the number of values that clients ask for.
func (n *Notice) Subscribed() int {
	n.mu.Lock()
	defer n.mu.Unlock()
	return int(n.word(layout.NoticeSubscrib))
}
