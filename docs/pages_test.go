// Package docs_test checks the pages of the tree: their links, the width of their lines, the
// tables that repeat what a configuration file says, and their code.
package docs_test

import (
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"unicode"
	"unicode/utf8"
)

// width is the number of characters that a line of prose may have.
const width = 120

// page is a text in Markdown, by lines.
type page struct {
	prose   []string        // the lines; those of code blocks are empty
	anchors map[string]bool // what a link can name behind '#'
}

// parse splits a page and lists the anchors of its headings, as GitHub names them.
func parse(text string) page {
	p := page{anchors: make(map[string]bool)}
	fenced := false
	for line := range strings.SplitSeq(text, "\n") {
		code := fenced || strings.HasPrefix(line, "    ")
		if strings.HasPrefix(strings.TrimSpace(line), "```") {
			fenced, code = !fenced, true
		}
		if code {
			line = ""
		}
		p.prose = append(p.prose, line)
		title := strings.TrimLeft(line, "#")
		if title == line || !strings.HasPrefix(title, " ") {
			continue
		}
		name := anchor(title[1:])
		for n := 1; p.anchors[name]; n++ {
			name = fmt.Sprintf("%s-%d", anchor(title[1:]), n)
		}
		p.anchors[name] = true
	}
	return p
}

// anchor is a heading in lower case with hyphens for spaces and without punctuation.
func anchor(title string) string {
	return strings.Map(func(r rune) rune {
		switch {
		case r == ' ':
			return '-'
		case r == '-' || r == '_' || unicode.IsLetter(r) || unicode.IsDigit(r):
			return unicode.ToLower(r)
		}
		return -1
	}, title)
}

var (
	link = regexp.MustCompile(`\]\(([^)\s]+)\)`)
	span = regexp.MustCompile("`[^`]*`")
)

// check returns what is wrong with the pages below root: links that lead nowhere, and
// lines of prose that are too long. Rows of tables may have any length.
func check(root string) (links int, wrong []string, err error) {
	pages := make(map[string]page)
	err = filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if d.IsDir() && path != root && (strings.HasPrefix(d.Name(), ".") || d.Name() == "bin") {
			return filepath.SkipDir
		}
		if d.IsDir() || filepath.Ext(path) != ".md" {
			return nil
		}
		text, err := os.ReadFile(path)
		pages[path] = parse(string(text))
		return err
	})
	for path, p := range pages {
		for i, line := range p.prose {
			at := fmt.Sprintf("%s:%d", path, i+1)
			if n := utf8.RuneCountInString(line); n > width && !strings.HasPrefix(strings.TrimSpace(line), "|") {
				wrong = append(wrong, fmt.Sprintf("%s: the line has %d characters; wrap it at %d", at, n, width))
			}
			for _, m := range link.FindAllStringSubmatch(span.ReplaceAllString(line, "code"), -1) {
				target, name, named := strings.Cut(m[1], "#")
				if strings.Contains(target, ":") { // another site's
					continue
				}
				links++
				file := filepath.Join(filepath.Dir(path), target)
				if target == "" {
					file = path
				}
				if _, err := os.Stat(file); err != nil {
					wrong = append(wrong, fmt.Sprintf("%s: there is no file %s", at, m[1]))
				} else if named && !pages[file].anchors[name] {
					wrong = append(wrong, fmt.Sprintf("%s: there is no heading %s", at, m[1]))
				}
			}
		}
	}
	slices.Sort(wrong)
	return links, wrong, err
}

// TestPages: every relative link and anchor leads somewhere, and lines are wrapped.
func TestPages(t *testing.T) {
	links, wrong, err := check("..")
	if err != nil {
		t.Fatal(err)
	}
	for _, w := range wrong {
		t.Error(w)
	}
	if links < 100 {
		t.Errorf("only %d links were found", links)
	}
}

// TestCheck: the check finds what it is there for, and nothing else.
func TestCheck(t *testing.T) {
	root := t.TempDir()
	long := strings.Repeat("long ", 25)
	good := "# One `two` (three)\n## One `two` (three)\n[a](b.md#x-1) [a](#one-two-three) [a](#one-two-three-1) " +
		"[a](https://a.example/b#c)\n| " + long + "|\n```\n" + long + "[a](none)\n```\n    " + long + "\n`[a](none)`\n"
	bad := "# X\n# X\n[a](c.md)\n[a](a.md#two)\n[a](#y)\n" + long + "\n"
	for name, text := range map[string]string{"a.md": good, "b.md": bad} {
		if err := os.WriteFile(filepath.Join(root, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	links, wrong, err := check(root)
	if err != nil {
		t.Fatal(err)
	}
	if links != 6 {
		t.Errorf("%d links were checked, 6 are there", links)
	}
	b := filepath.Join(root, "b.md")
	want := []string{
		b + ":3: there is no file c.md",
		b + ":4: there is no heading a.md#two",
		b + ":5: there is no heading #y",
		b + ":6: the line has 125 characters; wrap it at 120",
	}
	if strings.Join(wrong, "\n") != strings.Join(want, "\n") {
		t.Errorf("found\n%s\nwant\n%s", strings.Join(wrong, "\n"), strings.Join(want, "\n"))
	}
}

// TestKeywords: each keyword of a configuration that is installed has a row, with the
// same default, in its agent's section of configuration.md.
func TestKeywords(t *testing.T) {
	text, err := os.ReadFile("configuration.md")
	if err != nil {
		t.Fatal(err)
	}
	row := regexp.MustCompile(`(?m)^\| (\w+) \| ([^|]+) \|`)
	keyword := regexp.MustCompile(`(?m)^#?(\w+)\t(.+)$`)
	examples := map[string]bool{"host": true, "hosts": true, "allow": true, "deny": true, "reserve": true} // lists without a default
	for _, agent := range []struct {
		name, file string
		least      int
	}{
		{"rtlan", "../pmdas/lan/rtlan.conf", 15},
		{"rtarm", "../pmdas/arm/rtarm.conf", 9},
		{"dds", "../pmdas/dds/dds.conf", 9},
	} {
		_, section, ok := strings.Cut(string(text), "\n## "+agent.name+"\n")
		if !ok {
			t.Fatalf("configuration.md has no section %s", agent.name)
		}
		section, _, _ = strings.Cut(section, "\n## ")
		rows := make(map[string]string)
		for _, m := range row.FindAllStringSubmatch(section, -1) {
			rows[m[1]] = m[2]
		}
		file, err := os.ReadFile(agent.file)
		if err != nil {
			t.Fatal(err)
		}
		lines := keyword.FindAllStringSubmatch(string(file), -1)
		if len(lines) < agent.least {
			t.Errorf("only %d keywords in %s", len(lines), agent.file)
		}
		for _, l := range lines {
			value, ok := rows[l[1]]
			if !ok {
				t.Errorf("%s: no row for the keyword %s", agent.name, l[1])
			} else if !examples[l[1]] && value != l[2] {
				t.Errorf("%s: the default of %s is %s, in the table %s", agent.name, l[1], l[2], value)
			}
		}
	}
}
