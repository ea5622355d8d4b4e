package docs_test

import (
	"go/doc/comment"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// piece is code that a page, a manual or the comment of a package shows.
type piece struct {
	at, language, text string
}

// pieces returns the Go and C on the pages and in the examples of the manuals below root, and
// in the comments of packages.
func pieces(root string) (all []piece, err error) {
	err = walk(root, func(path string) error {
		text, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		switch {
		case filepath.Ext(path) == ".md":
			all = append(all, fenced(path, string(text))...)
		case manual.MatchString(path):
			for _, m := range example.FindAllStringSubmatch(string(text), -1) {
				all = append(all, piece{path, "c", m[1]})
			}
		case filepath.Ext(path) == ".go" && !strings.HasSuffix(path, "_test.go"):
			shown, err := commented(path, text)
			all = append(all, shown...)
			return err
		}
		return nil
	})
	return all, err
}

var (
	manual  = regexp.MustCompile(`\.3$`)
	example = regexp.MustCompile(`(?s)\n\.SH EXAMPLE\n.*?\n\.nf\n(.*?)\.fi\n`)
)

// walk calls a function for each file below root that belongs to the tree.
func walk(root string, do func(path string) error) error {
	return filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if d.IsDir() && path != root && (strings.HasPrefix(d.Name(), ".") || d.Name() == "bin") {
			return filepath.SkipDir
		}
		if d.IsDir() {
			return nil
		}
		return do(path)
	})
}

// fenced returns the blocks of a page that name a language, and those without one that look
// like Go or C.
func fenced(path, text string) (all []piece) {
	var block []string
	language, inside := "", false
	add := func() {
		code := strings.Join(block, "\n") + "\n"
		if language == "" {
			language = guess(code)
		}
		if language == "go" || language == "c" {
			all = append(all, piece{path, language, code})
		}
		block, language = nil, ""
	}
	for line := range strings.SplitSeq(text, "\n") {
		mark := strings.TrimSpace(line)
		switch {
		case strings.HasPrefix(mark, "```"):
			add()
			inside = !inside
			if inside {
				language = mark[3:]
			}
		case inside || strings.HasPrefix(line, "    "):
			block = append(block, line)
		case mark == "":
			block = append(block, "")
		default:
			add()
		}
	}
	add()
	return all
}

// commented returns the Go in the comment on a file's package.
func commented(path string, text []byte) (all []piece, err error) {
	f, err := parser.ParseFile(token.NewFileSet(), path, text, parser.ParseComments|parser.PackageClauseOnly)
	if err != nil || f.Doc == nil {
		return nil, err
	}
	for _, b := range new(comment.Parser).Parse(f.Doc.Text()).Content {
		if c, ok := b.(*comment.Code); ok && guess(c.Text) == "go" {
			all = append(all, piece{path, "go", c.Text})
		}
	}
	return all, nil
}

// guess tells Go and C from each other, and from commands, tables and the text of files.
func guess(code string) string {
	for line := range strings.Lines(code) {
		line = strings.TrimSpace(line)
		switch {
		case strings.HasPrefix(line, "$ "), strings.HasPrefix(line, "# "):
			return ""
		case strings.Contains(line, ":= "), strings.HasPrefix(line, "func "), strings.HasPrefix(line, "var "):
			return "go"
		case strings.HasPrefix(line, "#include <"), strings.HasSuffix(line, ");"):
			return "c"
		}
	}
	return ""
}

// whole reports whether a piece of C is a translation unit.
func (p piece) whole() bool { return strings.HasPrefix(strings.TrimSpace(p.text), "#include") }

// TestCode: a whole program in C compiles. All other code stands, line by line, in code
// that compiles: Go in an example or a test, C in a whole program on a page or in an
// example.
func TestCode(t *testing.T) {
	all, err := pieces("..")
	if err != nil {
		t.Fatal(err)
	}
	compiled := sources(t)
	shown := make(map[string]int)
	for _, p := range all {
		shown[filepath.Dir(p.at)+" "+p.language]++
		if p.language == "c" && p.whole() {
			compiled["c"] += plain(p.text)
			for _, out := range compile(p.text) {
				t.Errorf("%s: %s\n%s", p.at, out, p.text)
			}
		}
	}
	for _, p := range all {
		if !strings.Contains(compiled[p.language], plain(p.text)) {
			t.Errorf("%s: in no example:\n%s", p.at, p.text)
		}
	}
	for _, place := range []string{".. go", ".. c", "../docs go", "../docs c", "../libarm/man c", "../arm go", "../arm/armhttp go",
		"../arm/armsql go", "../arm/armgrpc go", "../arm/otel go", "../spmi go", "../pmns go", "../pmda go", "../pmda/pmdatest go"} {
		if shown[place] == 0 {
			t.Errorf("no code was found in %s", place)
		}
	}
}

// sources is the code that the tests and the makefiles of the tree compile, by language.
func sources(t *testing.T) map[string]string {
	t.Helper()
	code := make(map[string]string)
	err := walk("..", func(path string) error {
		slashed := filepath.ToSlash(path)
		language := ""
		switch {
		case strings.HasSuffix(path, "_test.go"), filepath.Ext(path) == ".go" && strings.HasPrefix(slashed, "../examples/"):
			language = "go"
		case filepath.Ext(path) == ".c" && strings.Contains(slashed, "/examples/"):
			language = "c"
		default:
			return nil
		}
		text, err := os.ReadFile(path)
		code[language] += plain(string(text))
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return code
}

// compile returns what compilers say of a program in C, which is nothing if it is C89 and
// C++, too. The tables of the SPMI leave out the last fields of a structure.
func compile(text string) (said []string) {
	for _, options := range []string{"gcc -std=c89 -pedantic -x c", "clang -x c", "gcc -x c++"} {
		c := strings.Fields(options + " -Wall -Wextra -Wno-missing-field-initializers -Werror -I../libarm/include -I../libSpmi/include -fsyntax-only -")
		cmd := exec.Command(c[0], c[1:]...)
		cmd.Stdin = strings.NewReader(text)
		if out, err := cmd.CombinedOutput(); err != nil || len(out) > 0 {
			said = append(said, options+": "+string(out))
		}
	}
	return said
}

// plain takes the indentation, the alignment of gofmt and empty lines at both ends away.
func plain(code string) string {
	var b strings.Builder
	for line := range strings.Lines(strings.TrimSpace(code) + "\n") {
		b.WriteString(strings.Join(strings.Fields(line), " "))
		b.WriteByte('\n')
	}
	return b.String()
}

// TestCompile: what is wrong is found.
func TestCompile(t *testing.T) {
	const program = "#include <arm.h>\nint main(void)\n{\n\treturn arm_end(1, 0, 0, 0) < 0;\n}\n"
	if said := compile(program); len(said) > 0 {
		t.Errorf("%s", said)
	}
	for name, text := range map[string]string{
		"a function of another name": strings.Replace(program, "arm_end", "arm_stopp", 1),
		"a missing argument":         strings.Replace(program, "1, 0, 0, 0", "1, 0, 0", 1),
		"a declaration within code":  strings.Replace(program, "return", "arm_end(1, 0, 0, 0); int i = 0;\n\treturn i +", 1),
	} {
		if said := compile(text); len(said) == 0 {
			t.Errorf("%s is not found", name)
		}
	}
}

// TestPieces: code is found whether a page marks it or not, and other blocks are left out.
func TestPieces(t *testing.T) {
	const page = "a\n\n    x := 1\n\n    y := 2\n\n- b\n\n  ```c\n  f();\n  ```\n\n```go\npackage a\n```\n" +
		"```go\npackage b\n```\n\n    $ pminfo -f a\n    f();\n\n    | no code |\n"
	var got []string
	for _, p := range fenced("page", page) {
		got = append(got, p.language+": "+strings.ReplaceAll(plain(p.text), "\n", "|"))
	}
	want := []string{"go: x := 1||y := 2|", "c: f();|", "go: package a|", "go: package b|"}
	if strings.Join(got, "\n") != strings.Join(want, "\n") {
		t.Errorf("found\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
}
