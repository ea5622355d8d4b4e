package writer

import (
	"sync/atomic"

	"github.com/pcp-rtime/rtime/internal/ddsseg/layout"
)

// Update tells readers that several values of a context change together. Updates of one
// context must not overlap.
type Update struct {
	word *uint32 // odd while the update is under way
	used *uint32 // word of the segment that says that there was an update
}

// NewUpdate returns an Update that no reader sees, for values in private memory.
func NewUpdate() Update { return Update{new(uint32), new(uint32)} }

// Begin is called before the stores, End after them.
func (u Update) Begin() {
	if atomic.LoadUint32(u.used) == 0 { // storing it each time would slow others down
		atomic.StoreUint32(u.used, 1)
	}
	atomic.AddUint32(u.word, 1)
}

// End says that the values belong together again.
func (u Update) End() { atomic.AddUint32(u.word, 1) }

// update returns the Update of the context whose record is at off.
func (w *Writer) update(off uint64) Update {
	return Update{w.at32(off + layout.CtxUpdate), w.at32(layout.HdrUpdates)}
}
