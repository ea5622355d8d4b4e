package examples_test

import (
	"go/doc/comment"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// Every piece of Go in the guides and in the README stands in an example, line by line.
func TestSnippetsAreExamples(t *testing.T) {
	var code strings.Builder
	err := filepath.WalkDir(".", func(path string, d fs.DirEntry, err error) error {
		if err != nil || filepath.Ext(path) != ".go" {
			return err
		}
		text, err := os.ReadFile(path)
		code.WriteString(plain(string(text)))
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	for _, page := range []string{"../README.md", "../docs/writing-an-agent.md", "../docs/publishing-statistics.md", "../docs/measuring-transactions.md"} {
		text, err := os.ReadFile(page)
		if err != nil {
			t.Fatal(err)
		}
		blocks := strings.Split(string(text), "```go\n")[1:]
		if len(blocks) == 0 {
			t.Errorf("%s has no Go in it", page)
		}
		for _, b := range blocks {
			b, _, _ = strings.Cut(b, "```")
			if !strings.Contains(code.String(), plain(b)) {
				t.Errorf("%s: not in any example:\n%s", page, b)
			}
		}
	}
}

// TestPackageComments: the Go in the comments of packages stands in an example too, of
// this folder or of the package's own tests, so that it compiles.
func TestPackageComments(t *testing.T) {
	shown := 0
	for _, dir := range []string{"pcp", "pdu", "pmns", "help", "pmda", "pmda/pmdatest"} {
		dir = filepath.Join("..", dir)
		code := plainGo(t, ".") + plainGo(t, dir)
		files, err := filepath.Glob(filepath.Join(dir, "*.go"))
		if err != nil {
			t.Fatal(err)
		}
		for _, file := range files {
			f, err := parser.ParseFile(token.NewFileSet(), file, nil, parser.ParseComments|parser.PackageClauseOnly)
			if err != nil {
				t.Fatal(err)
			}
			if f.Doc == nil || strings.HasSuffix(file, "_test.go") {
				continue
			}
			for _, b := range new(comment.Parser).Parse(f.Doc.Text()).Content {
				c, ok := b.(*comment.Code)
				if !ok || !looksLikeGo(c.Text) {
					continue
				}
				shown++
				if !strings.Contains(code, plain(c.Text)) {
					t.Errorf("%s: not in any example:\n%s", file, c.Text)
				}
			}
		}
	}
	if shown < 3 {
		t.Errorf("only %d pieces of Go in the comments of packages", shown)
	}
}

// looksLikeGo tells Go from commands, tables and the text of other files.
func looksLikeGo(text string) bool {
	return strings.Contains(text, ":=") || strings.Contains(text, "func ") || strings.Contains(text, "var ")
}

// plainGo is all Go code at and below a folder without its comments on packages; of folders
// other than this one only what the tests have, which is what compiles.
func plainGo(t *testing.T, dir string) string {
	t.Helper()
	var code strings.Builder
	err := filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil || filepath.Ext(path) != ".go" || dir != "." && !strings.HasSuffix(path, "_test.go") {
			return err
		}
		text, err := os.ReadFile(path)
		code.WriteString(plain(string(text)))
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return code.String()
}

// plain takes the indentation and the alignment of gofmt away.
func plain(code string) string {
	var b strings.Builder
	for line := range strings.Lines(code) {
		b.WriteString(strings.Join(strings.Fields(line), " "))
		b.WriteByte('\n')
	}
	return b.String()
}

// The C of docs/publishing-statistics.md compiles.
func TestC(t *testing.T) {
	page, err := os.ReadFile("../docs/publishing-statistics.md")
	if err != nil {
		t.Fatal(err)
	}
	_, code, ok := strings.Cut(string(page), "```c\n")
	if !ok {
		t.Fatal("no C on the page")
	}
	code, _, _ = strings.Cut(code, "```")
	c := exec.Command("cc", "-Wall", "-Werror", "-fsyntax-only", "-I../libSpmi/include", "-x", "c", "-")
	c.Stdin = strings.NewReader(code)
	if out, err := c.CombinedOutput(); err != nil {
		t.Errorf("%v\n%s", err, out)
	}
}
