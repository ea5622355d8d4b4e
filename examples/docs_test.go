package examples_test

import (
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
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
	for _, page := range []string{"../README.md", "../docs/writing-an-agent.md", "../docs/writing-a-supplier.md", "../docs/instrumenting.md"} {
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

// Links between pages lead somewhere.
func TestLinks(t *testing.T) {
	link := regexp.MustCompile(`\]\(([^)#:]+)(#[^)]*)?\)`)
	pages, err := filepath.Glob("../docs/*.md")
	if err != nil {
		t.Fatal(err)
	}
	pages = append(pages, "../README.md", "README.md", "hello/README.md")
	for _, page := range pages {
		text, err := os.ReadFile(page)
		if err != nil {
			t.Fatal(err)
		}
		for _, m := range link.FindAllStringSubmatch(prose(string(text)), -1) {
			if _, err := os.Stat(filepath.Join(filepath.Dir(page), m[1])); err != nil {
				t.Errorf("%s: %v", page, err)
			}
		}
	}
}

// prose returns a page without its fenced code.
func prose(page string) string {
	var b strings.Builder
	for i, part := range strings.Split(page, "```") {
		if i%2 == 0 {
			b.WriteString(part)
		}
	}
	return b.String()
}

// The table of keywords in docs/operations.md has those of the configuration that is
// installed, with the same defaults.
func TestKeywords(t *testing.T) {
	text, err := os.ReadFile("../docs/operations.md")
	if err != nil {
		t.Fatal(err)
	}
	rows := make(map[string]string)
	for _, m := range regexp.MustCompile(`(?m)^\| (\w+) \| ([^|]+) \|`).FindAllStringSubmatch(string(text), -1) {
		rows[m[1]] = m[2]
	}
	file, err := os.ReadFile("../pmdas/lan/rtlan.conf")
	if err != nil {
		t.Fatal(err)
	}
	lines := regexp.MustCompile(`(?m)^#?(\w+)\t(.+)$`).FindAllStringSubmatch(string(file), -1)
	if len(lines) < 15 {
		t.Fatalf("only %d keywords in rtlan.conf", len(lines))
	}
	examples := map[string]bool{"host": true, "hosts": true, "allow": true, "deny": true} // lists without a default
	for _, l := range lines {
		row, ok := rows[l[1]]
		if !ok {
			t.Errorf("no row for the keyword %s", l[1])
		}
		if ok && !examples[l[1]] && row != l[2] {
			t.Errorf("%s: the default is %s, in the table %s", l[1], l[2], row)
		}
	}
}

// So has that of docs/operations-dds.md.
func TestKeywordsDDS(t *testing.T) {
	page, err := os.ReadFile("../docs/operations-dds.md")
	if err != nil {
		t.Fatal(err)
	}
	file, err := os.ReadFile("../pmdas/dds/dds.conf")
	if err != nil {
		t.Fatal(err)
	}
	lines := regexp.MustCompile(`(?m)^#(\w+)\t(.+)$`).FindAllStringSubmatch(string(file), -1)
	if len(lines) < 9 {
		t.Fatalf("only %d keywords in dds.conf", len(lines))
	}
	for _, l := range lines {
		if !strings.Contains(string(page), "\n| "+l[1]+" | "+l[2]+" | ") {
			t.Errorf("no row for %s with the default %s", l[1], l[2])
		}
	}
}

// The C of docs/writing-a-supplier.md compiles.
func TestC(t *testing.T) {
	page, err := os.ReadFile("../docs/writing-a-supplier.md")
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
