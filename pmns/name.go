package pmns

import (
	"fmt"
	"strings"
)

// CheckName reports what is wrong with a metric name, or nil. A name has one or
// more parts between dots; each is a letter followed by letters, digits and
// underscores, all of them ASCII (PMNS(5)). The name "root" is the top node itself
// and names nothing below it.
func CheckName(name string) error {
	if name == "" {
		return fmt.Errorf("pmns: empty name")
	}
	if name == "root" || strings.HasPrefix(name, "root.") {
		return fmt.Errorf("pmns: name %q: \"root\" is the name of the top node", name)
	}
	for rest, more := name, true; more; {
		var part string
		part, rest, more = strings.Cut(rest, ".")
		if err := checkPart(part); err != nil {
			return fmt.Errorf("pmns: name %q: %w", name, err)
		}
	}
	return nil
}

func checkPart(part string) error {
	if part == "" {
		return fmt.Errorf("empty part")
	}
	for i := 0; i < len(part); i++ {
		c := part[i]
		switch {
		case c|0x20 >= 'a' && c|0x20 <= 'z':
		case i == 0:
			return fmt.Errorf("part %q does not begin with a letter", part)
		case c >= '0' && c <= '9', c == '_':
		default:
			return fmt.Errorf("part %q holds %q; letters, digits and underscores are allowed", part, c)
		}
	}
	return nil
}
