package help

import (
	"fmt"
	"io"
	"strconv"
	"strings"

	"github.com/pcp-rtime/rtime/pcp"
)

// maxText bounds the size of a help file, in bytes.
const maxText = 64 << 20

// Parse reads the text form. name is what errors call the source; they begin with
// file and line. Lines that begin with # are left out, as are empty lines at the end
// of an entry and before the first one. define gives numbers to the symbols that
// may stand in place of a domain number ("@ RTLAN.0 Hosts"), as Install puts them in;
// it may be nil. Where one thing has two entries, both are returned.
//
// The limits of newhelp on lines and entries are not applied: see Check.
func Parse(r io.Reader, name string, define map[string]int) ([]Entry, error) {
	text, err := io.ReadAll(io.LimitReader(r, maxText+1))
	if err != nil {
		return nil, fmt.Errorf("%s: %w", name, err)
	}
	if len(text) > maxText {
		return nil, fmt.Errorf("%s: more than %d bytes", name, maxText)
	}
	var entries []Entry
	var long []string
	finish := func() {
		if len(entries) > 0 {
			entries[len(entries)-1].Text = strings.TrimRight(strings.Join(long, "\n"), "\n")
		}
		long = nil
	}
	line := 0
	for s := range strings.SplitSeq(string(text), "\n") {
		line++
		switch {
		case strings.HasPrefix(s, "#"):
		case strings.HasPrefix(s, "@"):
			finish()
			e, err := parseHead(s[1:], define)
			if err != nil {
				return nil, fmt.Errorf("%s:%d: %w", name, line, err)
			}
			entries = append(entries, e)
		case len(entries) > 0:
			long = append(long, s)
		case strings.TrimSpace(s) != "":
			return nil, fmt.Errorf("%s:%d: text before the first @", name, line)
		}
	}
	finish()
	return entries, nil
}

// parseHead reads what stands after the @.
func parseHead(s string, define map[string]int) (Entry, error) {
	s = strings.TrimSpace(s)
	key, line := s, ""
	if i := strings.IndexAny(s, " \t\r\v\f"); i >= 0 {
		key, line = s[:i], strings.TrimSpace(s[i:])
	}
	if key == "" {
		return Entry{}, fmt.Errorf("@ without a metric name or a number")
	}
	e, err := parseKey(key, define)
	e.OneLine = line
	return e, err
}

func parseKey(key string, define map[string]int) (Entry, error) {
	domain, rest, _ := strings.Cut(key, ".")
	if n, ok := define[domain]; ok && rest != "" && isDigit(rest[0]) {
		key = strconv.Itoa(n) + "." + rest
	}
	e := Entry{Kind: Name, Name: key}
	if !isDigit(key[0]) {
		return e, e.checkKey()
	}
	e = Entry{}
	var err error
	if strings.Count(key, ".") == 1 {
		e.Kind = InDom
		e.InDom, err = parseInDom(key)
	} else {
		e.Kind = PMID
		e.PMID, err = pcp.ParsePMID(key)
	}
	if err != nil {
		return Entry{}, err
	}
	return e, e.checkKey()
}

func isDigit(c byte) bool { return c >= '0' && c <= '9' }

func parseInDom(s string) (pcp.InDom, error) {
	d, n, _ := strings.Cut(s, ".")
	domain, err1 := strconv.ParseUint(d, 10, 32)
	serial, err2 := strconv.ParseUint(n, 10, 32)
	if err1 != nil || err2 != nil || domain > pcp.MaxDomain || serial > pcp.MaxSerial {
		return pcp.InDomNull, fmt.Errorf("help: instance domain %q: want domain.serial within 0..%d and 0..%d", s, pcp.MaxDomain, pcp.MaxSerial)
	}
	return pcp.MakeInDom(int(domain), int(serial)), nil
}
