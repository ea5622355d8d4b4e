package pdu

import (
	"encoding/binary"
	"testing"
)

// TestProfileStates reads states that are neither of the two.
func TestProfileStates(t *testing.T) {
	b := goldenBytes(t, "profile of two instances")
	binary.BigEndian.PutUint32(b[16:], 2)
	binary.BigEndian.PutUint32(b[32:], 0xffffffff)
	var p Profile
	if err := p.Parse(b); err != nil || p.Default != Exclude || p.InDoms[0].State != Exclude {
		t.Errorf("%+v, %v", p, err)
	}
}

// TestResizeKeeps checks that slices within a slice survive when it grows and shrinks, so
// that their memory is used again.
func TestResizeKeeps(t *testing.T) {
	s := resize([]InDomProfile{{List: make([]int32, 9)}, {List: make([]int32, 7)}}, 1)
	if s = resize(s, 50); len(s) != 50 || cap(s[0].List) != 9 || cap(s[1].List) != 7 {
		t.Errorf("%d elements, lists of %d and %d", len(s), cap(s[0].List), cap(s[1].List))
	}
}
