//go:build linux

package reader

import "github.com/pcp-rtime/rtime/internal/ddsseg/layout"

// quietSince is the first minor version in which suppliers keep HdrUpdates. They also count
// the removal of a context before they give its area to another one.
const quietSince = 1

// Quiet reports whether no slot has changed since the last Scan and the supplier has never
// made an update. If that still holds after any number of calls of Peek, their values are as
// good as those of Read. Peek loads half as much memory, because it does not look at
// records. Call Quiet within Guard.
func (r *Reader) Quiet() bool {
	if !r.scanned || r.later || r.head.u16(layout.HdrMinor) < quietSince {
		return false
	}
	updates, _ := r.m.Load32(layout.HdrUpdates)
	changes, _ := r.m.Load32(layout.HdrChanges)
	return updates == 0 && changes == r.changes
}

// Peek is Read without a look at the words of the slot. Its values may be half an update, or
// those of another context, unless Quiet is true afterwards. Call it within Guard.
func (r *Reader) Peek(a *Place, fields []Field, out []uint64) bool {
	return a.data != 0 && r.fields(a.data, fields, out)
}
