package examples_test

import (
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
