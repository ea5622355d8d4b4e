package layout

import "hash/fnv"

// Key makes a key of a name: it removes blanks and keeps the first 31 bytes of the rest.
// ok is false if nothing is left, if the name has a NUL, or if it has more than 127
// bytes.
func Key(name string) (key string, ok bool) {
	if len(name) > NameMax {
		return "", false
	}
	var b [KeyMax]byte
	n := 0
	for i := range len(name) {
		switch c := name[i]; {
		case c == 0:
			return "", false
		case c != ' ' && n < KeyMax:
			b[n] = c
			n++
		}
	}
	return string(b[:n]), n > 0
}

func HashApp(key string) uint32 {
	h := fnv.New32a()
	h.Write([]byte(key))
	return h.Sum32()
}

func HashTran(app uint32, key string) uint32 {
	h := fnv.New32a()
	h.Write([]byte{byte(app), byte(app >> 8), byte(app >> 16), byte(app >> 24)})
	h.Write([]byte(key))
	return h.Sum32()
}
