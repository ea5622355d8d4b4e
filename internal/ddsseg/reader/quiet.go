//go:build linux

package reader

import "github.com/pcp-rtime/rtime/internal/ddsseg/layout"

// quietSince is the first minor version in which suppliers keep HdrUpdates. From this
// version on they also count the removal of a context before they give its area to another
// one.
const quietSince = 1

// Quiet reports whether no slot has changed since the last Scan and the supplier has never
// made an update. If Quiet is still true after calls of Peek, the values that Peek has read
// are as good as those of Read. Peek loads half as much memory, because it does not look at
// records. Call Quiet within Guard.
func (r *Reader) Quiet() bool {
	if !r.scanned || r.later || r.head.u16(layout.HdrMinor) < quietSince {
		return false
	}
	updates, _ := r.m.Load32(layout.HdrUpdates)
	changes, _ := r.m.Load32(layout.HdrChanges)
	return updates == 0 && changes == r.changes
}

// Peek is Read, but it does not look at the words of the slot. Unless Quiet is true
// afterwards, its values may be from the middle of an update, or may be those of another
// context. Call it within Guard.
func (r *Reader) Peek(a *Place, fields []Field, out []uint64) bool {
	return a.data != 0 && r.fields(a.data, fields, out)
}
