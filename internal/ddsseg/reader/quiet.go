//go:build linux

package reader

import "github.com/pcp-rtime/rtime/internal/ddsseg/layout"

// quietSince is the minor version from which on suppliers keep HdrUpdates, and give an
// area to another context only after the change was counted that took it from the first.
const quietSince = 1

// Quiet reports whether no slot has changed since what Scan has told of, and the supplier
// has never made an update. Where that still holds after any number of calls of Peek,
// their values are as good as Read's, and came from half the memory: no record was looked
// at. Call it within Guard.
func (r *Reader) Quiet() bool {
	if !r.scanned || r.later || r.head.u16(layout.HdrMinor) < quietSince {
		return false
	}
	updates, _ := r.m.Load32(layout.HdrUpdates)
	changes, _ := r.m.Load32(layout.HdrChanges)
	return updates == 0 && changes == r.changes
}

// Peek is Read without a look at the words of the slot: what it gives may be half an
// update or another context's, unless Quiet says afterwards that there were none. Call it
// within Guard.
func (r *Reader) Peek(a *Place, fields []Field, out []uint64) bool {
	return a.data != 0 && r.fields(a.data, fields, out)
}
