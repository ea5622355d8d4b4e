package layout

import "strings"

// ClaimOffset returns the byte of the claims files that stands for a path. It is the
// FNV-1a hash, cut to the 62 bits that a file offset can hold.
func ClaimOffset(path string) int64 {
	h := uint64(14695981039346656037)
	for i := range len(path) {
		h = (h ^ uint64(path[i])) * 1099511628211
	}
	return int64(h & (1<<62 - 1))
}

// ClaimTurn is the byte that stands for the turn to claim. It is just above the bytes
// of paths.
const ClaimTurn = int64(1) << 62

// ValidName reports whether s may name a statistic or an element of a path: it has 1
// to 31 bytes, no control characters or slashes, and no blank at the beginning or
// end.
func ValidName(s string) bool {
	if s == "" || len(s) >= NameLen || s[0] == ' ' || s[len(s)-1] == ' ' {
		return false
	}
	for i := range len(s) {
		if c := s[i]; c < ' ' || c == 0x7f || c == '/' {
			return false
		}
	}
	return true
}

// ValidPath reports whether s may be the path of a context: valid names with slashes
// between them, at most 63 bytes, and DDS as the first name.
func ValidPath(s string) bool {
	if len(s) >= PathLen {
		return false
	}
	for i, name := range strings.Split(s, "/") {
		if !ValidName(name) || i == 0 && name != "DDS" {
			return false
		}
	}
	return true
}

// Parent returns the path without its last element, or "" for a path of one element.
func Parent(path string) string {
	return path[:max(strings.LastIndexByte(path, '/'), 0)]
}

// Shared reports whether a valid path is one that all suppliers share and none
// claims: DDS itself, or a vendor's DDS/x. These have no statistics.
func Shared(path string) bool { return strings.Count(path, "/") < 2 }
