package help

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"strings"
)

// Limits of newhelp(1), in bytes. A line longer than MaxLine with its newline is cut
// in two, which for the first line of an entry moves words into the long text. An
// entry, from its name to its last newline, longer than MaxEntry loses its end.
const (
	MaxLine  = 127
	MaxEntry = 1024
)

// WriteOptions say how numbers are written. The zero value writes them as they are.
type WriteOptions struct {
	// Symbol stands in place of the number Domain before instance domains and metric
	// identifiers. Install replaces it.
	Symbol string
	Domain int
}

// Write writes entries in the text form, in their order. Lines of long text that are
// longer than newhelp takes are broken between words. A line that would begin with @
// or #, which mean something else there, gets a blank before it. All entries that do
// not fit are reported together, with errors.Join, and then nothing is written.
func Write(w io.Writer, entries []Entry, opts WriteOptions) error {
	var problems []error
	seen := make(map[string]bool)
	texts := make([]string, 0, len(entries))
	for _, e := range entries {
		text, err := format(e, opts)
		if seen[e.Key()] {
			err = fmt.Errorf("help: %s has a text already", e.Key())
		}
		seen[e.Key()] = true
		problems = append(problems, err)
		texts = append(texts, text)
	}
	if err := errors.Join(problems...); err != nil {
		return err
	}
	out := bufio.NewWriter(w)
	for _, text := range texts {
		// An error stays in out until Flush.
		_, _ = out.WriteString(text + "\n")
	}
	return out.Flush()
}

// Check reports why newhelp would refuse an entry or cut it.
func Check(e Entry) error {
	_, err := format(e, WriteOptions{})
	return err
}

// format returns an entry as it stands in the file, without the empty line after it.
func format(e Entry, opts WriteOptions) (string, error) {
	if err := e.checkKey(); err != nil {
		return "", err
	}
	if strings.ContainsAny(e.OneLine, "\n\x00") || strings.Contains(e.Text, "\x00") {
		return "", fmt.Errorf("help: %s: the one-line text has a newline, or a text has NUL", e.Key())
	}
	key := e.Key()
	if domain, rest, _ := strings.Cut(key, "."); e.Kind != Name && opts.Symbol != "" && domain == fmt.Sprint(opts.Domain) {
		key = opts.Symbol + "." + rest
	}
	head := strings.TrimRight("@ "+key+" "+strings.TrimSpace(e.OneLine), " ")
	if len(head) >= MaxLine {
		return "", fmt.Errorf("help: %s: name and one line need %d bytes; newhelp takes %d", e.Key(), len(head), MaxLine-1)
	}
	lines := []string{head}
	for line := range strings.SplitSeq(strings.Trim(e.Text, "\n"), "\n") {
		wrapped, err := wrap(line)
		if err != nil {
			return "", fmt.Errorf("help: %s: %w", e.Key(), err)
		}
		lines = append(lines, wrapped...)
	}
	if e.Text == "" {
		lines = lines[:1]
	}
	text := strings.Join(lines, "\n") + "\n"
	// newhelp counts without the "@ ", and with the empty line that follows.
	if n := len(text) - 2 + 1; n > MaxEntry {
		return "", fmt.Errorf("help: %s: the text needs %d bytes; newhelp takes %d", e.Key(), n, MaxEntry)
	}
	return text, nil
}

// wrap breaks a line between words into lines that newhelp takes.
func wrap(line string) ([]string, error) {
	var lines []string
	line = protect(strings.TrimRight(line, " \t\r"))
	for len(line) >= MaxLine {
		cut := strings.LastIndexAny(line[:MaxLine], " \t")
		// A blank that only indents is no place to break.
		if strings.TrimSpace(line[:max(cut, 0)]) == "" {
			return nil, fmt.Errorf("the word that begins with %[2]q is longer than %[1]d bytes", MaxLine-1, fmt.Sprintf("%.20s", strings.TrimSpace(line)))
		}
		lines = append(lines, strings.TrimRight(line[:cut], " \t"))
		line = protect(strings.TrimLeft(line[cut:], " \t"))
	}
	return append(lines, line), nil
}

func protect(line string) string {
	if strings.HasPrefix(line, "@") || strings.HasPrefix(line, "#") {
		return " " + line
	}
	return line
}
