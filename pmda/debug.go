package pmda

import (
	"slices"
	"strconv"
	"strings"
)

// debugWords are the words that -D of PCP's programs knows, in the order of pmdbg(1). The
// place of each of the first debugBits is the bit that stands for it in a number.
var debugWords = strings.Fields("pdu fetch profile value context indom pdubuf log logmeta optfetch af " +
	"appl0 appl1 appl2 pmns libpmda timecontrol pmc derive lock interp config pmapi fault auth discovery attr http " +
	"- - desperate deprecated exec labels series libweb alloc services appl3 appl4 appl5 access qa search query " +
	"compress dev0 dev1 dev2 pmlc appl6 appl7 appl8 appl9 tls")

// debugBits is how many of debugWords a number can name.
const debugBits = 31

// parseDebug takes the words of -D: those of PCP's programs, "all", and the sum of bits
// that PCP once had in place of words. It returns the known words and the unknown ones.
func parseDebug(list []string) (on map[string]bool, unknown []string) {
	on = make(map[string]bool)
	set := func(words []string) {
		for _, w := range words {
			if w != "-" {
				on[w] = true
			}
		}
	}
	for _, word := range strings.Split(strings.Join(list, ","), ",") {
		bits, err := strconv.ParseUint(word, 10, 31)
		switch {
		case word == "":
		case word == "all":
			set(debugWords)
		case word == "pmda":
			on["libpmda"] = true
		case err == nil:
			for i := range debugBits {
				if bits>>i&1 != 0 {
					set(debugWords[i : i+1])
				}
			}
		case word != "-" && slices.Contains(debugWords, word):
			on[word] = true
		default:
			unknown = append(unknown, word)
		}
	}
	return on, unknown
}
