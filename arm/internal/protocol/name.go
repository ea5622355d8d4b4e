package protocol

import (
	"fmt"
	"hash/fnv"
	"strings"

	"github.com/pcp-rtime/rtime/internal/armseg/layout"
)

const keepEnd = 16

// Fits reports whether a name counts whole: its first layout.KeyMax bytes do, without blanks.
func Fits(name string) bool { return len(keyed(name)) <= layout.KeyMax }

func keyed(name string) string { return strings.ReplaceAll(name, " ", "") }

// Name keeps names apart that do not fit: a hash stands for the middle.
func Name(name string) string {
	if Fits(name) {
		return Detail(name)
	}
	key := keyed(name)
	h := fnv.New32a()
	h.Write([]byte(key))
	hash := fmt.Sprintf("~%04x~", h.Sum32()&0xffff)
	return key[:layout.KeyMax-keepEnd-len(hash)] + hash + key[len(key)-keepEnd:]
}

// Detail is as much of a text as a transaction's detail holds.
func Detail(text string) string { return text[:min(len(text), layout.NameMax)] }
