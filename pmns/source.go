package pmns

import (
	"fmt"
	"io"
	"strconv"
	"strings"
)

// Limits of the text form, which keep files out that are not name spaces.
const (
	maxText     = 64 << 20 // bytes in one file
	maxIncludes = 16       // files within files
)

// position is where something stands: what an error begins with.
type position struct {
	file string
	line int
}

func (p position) errorf(format string, args ...any) error {
	return fmt.Errorf("%s:%d: %w", p.file, p.line, fmt.Errorf(format, args...))
}

// word is a name, an identifier with its symbols replaced, or a brace.
type word struct {
	text string
	at   position
}

// reader is the part of pmcpp(1) that name spaces use: it takes out comments, obeys
// directives and hands the rest to emit, word by word.
type reader struct {
	opts   ParseOptions
	macros map[string]string
	depth  int
	skip   []bool // one per open #ifdef: are its lines left out?
	emit   func(word) error
}

func (r *reader) file(src io.Reader, name string) error {
	text, err := io.ReadAll(io.LimitReader(src, maxText+1))
	if err != nil {
		return fmt.Errorf("%s: %w", name, err)
	}
	if len(text) > maxText {
		return fmt.Errorf("%s: more than %d bytes", name, maxText)
	}
	plain, err := stripComments(string(text), name)
	if err != nil {
		return err
	}
	open, line := len(r.skip), 0
	for s := range strings.SplitSeq(plain, "\n") {
		line++
		if err := r.line(s, position{name, line}); err != nil {
			return err
		}
	}
	if len(r.skip) != open {
		return position{name, line}.errorf("#ifdef or #ifndef without #endif")
	}
	return nil
}

// stripComments puts blanks in the place of C comments and keeps the line ends.
func stripComments(text, name string) (string, error) {
	var out strings.Builder
	line := 1
	for {
		before, rest, found := strings.Cut(text, "/*")
		out.WriteString(before)
		if !found {
			return out.String(), nil
		}
		line += strings.Count(before, "\n")
		comment, after, closed := strings.Cut(rest, "*/")
		if !closed {
			return "", position{name, line}.errorf("comment without end")
		}
		lines := strings.Count(comment, "\n")
		line += lines
		out.WriteString(" " + strings.Repeat("\n", lines))
		text = after
	}
}

func (r *reader) line(s string, at position) error {
	if strings.HasPrefix(s, "#") {
		return r.directive(strings.Fields(s[1:]), at)
	}
	if r.skipping() {
		return nil
	}
	s = strings.NewReplacer("{", " { ", "}", " } ").Replace(s)
	for text := range strings.FieldsSeq(s) {
		expanded, err := r.expand(text)
		if err != nil {
			return at.errorf("%w", err)
		}
		if err := r.emit(word{expanded, at}); err != nil {
			return err
		}
	}
	return nil
}

func (r *reader) skipping() bool {
	for _, s := range r.skip {
		if s {
			return true
		}
	}
	return false
}

func (r *reader) directive(f []string, at position) error {
	if len(f) == 0 {
		return at.errorf("# without a directive")
	}
	switch f[0] {
	case "ifdef", "ifndef", "else", "endif":
		return r.conditional(f, at)
	}
	if r.skipping() {
		return nil
	}
	switch f[0] {
	case "define":
		return r.define(f, at)
	case "undef":
		if len(f) != 2 {
			return at.errorf("#undef needs one symbol")
		}
		delete(r.macros, f[1])
		return nil
	case "include":
		return r.include(f, at)
	}
	return at.errorf("unknown directive #%s", f[0])
}

func (r *reader) conditional(f []string, at position) error {
	last := len(r.skip) - 1
	switch {
	case f[0] == "ifdef" || f[0] == "ifndef":
		if len(f) != 2 {
			return at.errorf("#%s needs one symbol", f[0])
		}
		_, defined := r.macros[f[1]]
		r.skip = append(r.skip, defined != (f[0] == "ifdef"))
	case last < 0:
		return at.errorf("#%s without #ifdef or #ifndef", f[0])
	case f[0] == "else":
		r.skip[last] = !r.skip[last]
	default:
		r.skip = r.skip[:last]
	}
	return nil
}

func (r *reader) define(f []string, at position) error {
	if len(f) != 2 && len(f) != 3 {
		return at.errorf("#define needs a symbol and a number")
	}
	if err := checkSymbol(f[1]); err != nil {
		return at.errorf("#define: %w", err)
	}
	value := ""
	if len(f) == 3 {
		value = f[2]
		if known, ok := r.macros[value]; ok {
			value = known
		}
		if _, err := strconv.ParseUint(value, 10, 16); err != nil {
			return at.errorf("#define %s: %q is neither a number nor a symbol that has one", f[1], f[2])
		}
	}
	r.macros[f[1]] = value
	return nil
}

// checkSymbol checks a symbol like a part of a name, except that a symbol may begin with an
// underscore.
func checkSymbol(s string) error {
	if trimmed := strings.TrimLeft(s, "_"); trimmed != "" && checkPart(trimmed) == nil {
		return nil
	}
	return fmt.Errorf("%q is not a symbol", s)
}

func (r *reader) include(f []string, at position) error {
	name := strings.Join(f[1:], " ")
	system := strings.HasPrefix(name, "<") && strings.HasSuffix(name, ">")
	local := strings.HasPrefix(name, `"`) && strings.HasSuffix(name, `"`)
	if len(name) < 3 || !system && !local {
		return at.errorf("#include needs \"file\" or <file>")
	}
	name = name[1 : len(name)-1]
	switch {
	case r.opts.Include == nil:
		return at.errorf("#include of %q is not allowed here", name)
	case r.depth >= maxIncludes:
		return at.errorf("#include of %q: more than %d files within files", name, maxIncludes)
	}
	src, err := r.opts.Include(name, system)
	if err != nil {
		return at.errorf("#include of %q: %w", name, err)
	}
	defer src.Close()
	r.depth++
	defer func() { r.depth-- }()
	return r.file(src, name)
}

// expand replaces the symbols of an identifier by their numbers. The real
// preprocessor would replace parts of names as well, which is never meant.
func (r *reader) expand(text string) (string, error) {
	if !strings.Contains(text, ":") {
		for part := range strings.SplitSeq(text, ".") {
			if _, ok := r.macros[part]; ok {
				return "", fmt.Errorf("name %q: %s is also a #define", text, part)
			}
		}
		return text, nil
	}
	fields := strings.Split(text, ":")
	for i, f := range fields {
		if value, ok := r.macros[f]; ok {
			fields[i] = value
		}
	}
	return strings.Join(fields, ":"), nil
}
