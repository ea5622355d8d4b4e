package layout

import (
	"encoding/binary"
	"fmt"
)

// Switches is a set of ids: those of the transactions that the agent wants traced whenever
// they run.
type Switches [TranMax / 32]uint32

// Set puts a transaction in or takes it out, and reports whether that changed anything. An
// id out of range changes nothing.
func (s *Switches) Set(id uint32, on bool) (changed bool) {
	if id == 0 || id > TranMax {
		return false
	}
	word, bit := &s[(id-1)/32], uint32(1)<<((id-1)%32)
	if *word&bit != 0 == on {
		return false
	}
	*word ^= bit
	return true
}

// Encode returns the contents of the file that asks programs to trace these transactions.
// nonce is that of their file of names.
func (s *Switches) Encode(nonce uint64) []byte {
	b := make([]byte, SwitchesLen)
	copy(b, MagicSwitches)
	ne := binary.NativeEndian
	ne.PutUint32(b[SwitchesOrder:], ByteOrder)
	ne.PutUint16(b[SwitchesMajor:], Major)
	ne.PutUint16(b[SwitchesMinor:], Minor)
	ne.PutUint64(b[SwitchesNonce:], nonce)
	for i, word := range s {
		ne.PutUint32(b[SwitchesTrace+4*i:], word)
	}
	return b
}

// Decode reads a file that Encode made for the same nonce. ok is false for anything else;
// then s stays as it is.
func (s *Switches) Decode(b []byte, nonce uint64) (ok bool) {
	ne := binary.NativeEndian
	if len(b) != SwitchesLen || string(b[:8]) != MagicSwitches || ne.Uint32(b[SwitchesOrder:]) != ByteOrder ||
		ne.Uint16(b[SwitchesMajor:]) != Major || ne.Uint64(b[SwitchesNonce:]) != nonce {
		return false
	}
	for i := range s {
		s[i] = ne.Uint32(b[SwitchesTrace+4*i:])
	}
	return true
}

// SwitchesPath is the path, below the directory, of the file with the trace switches for a
// file of names.
func SwitchesPath(uid uint32, nonce uint64) string {
	return fmt.Sprintf("%s/%d-%016x", SwitchesDir, uid, nonce)
}
