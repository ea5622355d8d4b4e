package layout

import "hash/fnv"

// Key makes a name a key: blanks are removed, 31 bytes of the rest are kept. ok is false
// where that leaves nothing, or the name has a NUL or more than 127 bytes.
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
