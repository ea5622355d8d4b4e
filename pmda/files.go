package pmda

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/pcp-rtime/rtime/help"
	"github.com/pcp-rtime/rtime/pcp"
	"github.com/pcp-rtime/rtime/pmns"
)

// WriteFiles writes what PCP's installation scripts want to find beside the program, into
// dir: domain.h, the name space in root, pmns and, if the agent's names lie in several
// places, pmns.NODE for each, the help text, and the scripts Install and Remove. Put the
// program pmdaNAME there, in a folder .../pmdas/NAME, and run Install. Each file is written
// beside the old one and then renamed to its name. WriteFiles does not replace files that
// this agent has not written; the error names one.
func WriteFiles(a *Agent, dir string) error {
	t, err := build(a, a.Domain)
	if err != nil {
		return err
	}
	tops := a.tops(t)
	files := map[string]func(io.Writer) error{
		"domain.h": func(w io.Writer) error {
			_, err := fmt.Fprintf(w, "/* domain number of the agent %s, unless -d says otherwise */\n#define %s %d\n",
				a.Name, a.symbol(), a.Domain)
			return err
		},
		"root":    func(w io.Writer) error { return a.writeRoot(w, t) },
		"help":    func(w io.Writer) error { return a.writeHelp(w, t) },
		"Install": func(w io.Writer) error { return a.writeScript(w, tops, "pmdaInstall") },
		"Remove":  func(w io.Writer) error { return a.writeScript(w, tops, "pmdaRemove") },
	}
	for _, top := range tops {
		files[nameSpaceFile(a.Name, top, tops)] = func(w io.Writer) error { return a.writeNames(w, t, top) }
	}
	text := make(map[string][]byte)
	for name, write := range files {
		var b bytes.Buffer
		if err := write(&b); err != nil {
			return fmt.Errorf("pmda: %s: %w", name, err)
		}
		text[name] = b.Bytes()
	}
	names := slices.Sorted(maps.Keys(text))
	if err := a.mayWrite(dir, names, text["domain.h"]); err != nil {
		return err
	}
	for _, name := range names {
		mode := os.FileMode(0o644)
		if name == "Install" || name == "Remove" {
			mode = 0o755
		}
		if err := replace(filepath.Join(dir, name), text[name], mode); err != nil {
			return err
		}
	}
	return nil
}

// mayWrite returns an error if a file in the folder must not be replaced. This agent wrote
// the files if it wrote the domain.h beside them. The number in that may be another.
func (a *Agent) mayWrite(dir string, names []string, domain []byte) error {
	there := ""
	for _, name := range names {
		path := filepath.Join(dir, name)
		info, err := os.Lstat(path)
		switch {
		case errors.Is(err, os.ErrNotExist):
			continue
		case err != nil:
			return err
		case !info.Mode().IsRegular():
			return fmt.Errorf("%s is not a regular file, so pmda%s did not write it: use a folder of this agent's own", path, a.Name)
		}
		there = path
	}
	if there == "" {
		return nil
	}
	mark, _, _ := bytes.Cut(domain, []byte("\n"))
	old, err := os.ReadFile(filepath.Join(dir, "domain.h"))
	if err != nil || !bytes.HasPrefix(old, append(mark, '\n')) {
		return fmt.Errorf("%s belongs to another agent, because pmda%s did not write the domain.h beside it: "+
			"use a folder of this agent's own", there, a.Name)
	}
	return nil
}

// replace writes a file beside the one of that name and renames it over that, so that
// nothing is written through a link, and a reader sees the old text or the new.
func replace(path string, text []byte, mode os.FileMode) (err error) {
	f, err := os.CreateTemp(filepath.Dir(path), "."+filepath.Base(path)+".*")
	if err != nil {
		return err
	}
	defer func() {
		if err != nil {
			os.Remove(f.Name())
		}
	}()
	_, err = f.Write(text)
	if err = errors.Join(err, f.Chmod(mode), f.Close()); err != nil {
		return err
	}
	return os.Rename(f.Name(), path)
}

// symbol is the name of the domain number in PCP's files.
func (a *Agent) symbol() string {
	return strings.ToUpper(strings.Map(func(r rune) rune {
		if r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' {
			return r
		}
		return '_'
	}, a.Name))
}

// tops returns the nodes of the name space below which all the agent's names lie:
// the dynamic subtrees, and the deepest node above all other metrics.
func (a *Agent) tops(t *table) []string {
	var common []string
	for i, m := range t.list() {
		if a.dynamic(m.Name) {
			continue
		}
		parts := strings.Split(m.Name, ".")
		parts = parts[:max(1, len(parts)-1)]
		if common == nil || i == 0 {
			common = parts
			continue
		}
		n := 0
		for n < len(common) && n < len(parts) && common[n] == parts[n] {
			n++
		}
		common = common[:n]
	}
	tops := slices.Clone(a.Roots)
	if len(common) > 0 {
		tops = append(tops, strings.Join(common, "."))
	}
	return tops
}

// dynamic reports whether a name lies in a dynamic subtree.
func (a *Agent) dynamic(name string) bool {
	return slices.ContainsFunc(a.Roots, func(r string) bool {
		return name == r || strings.HasPrefix(name, r+".")
	})
}

// nameSpaceFile is the file in which pmdaproc.sh looks for a subtree.
func nameSpaceFile(agent, top string, tops []string) string {
	if len(tops) == 1 || top == agent {
		return "pmns"
	}
	return "pmns." + top
}

// tree returns the static name space: metrics, and the roots of dynamic subtrees.
func (a *Agent) tree(t *table) (*pmns.Tree, error) {
	tree := new(pmns.Tree)
	for _, m := range t.list() {
		if a.dynamic(m.Name) {
			continue
		}
		if err := tree.Add(m.Name, m.desc.PMID); err != nil {
			return nil, err
		}
	}
	for _, r := range a.Roots {
		if err := tree.Add(r, pmns.Dynamic(t.domain)); err != nil {
			return nil, err
		}
	}
	return tree, nil
}

func (a *Agent) writeNames(w io.Writer, t *table, top string) error {
	tree, err := a.tree(t)
	if err != nil {
		return err
	}
	return pmns.Write(w, tree, pmns.WriteOptions{Top: top, Symbol: a.symbol(), Domain: a.Domain})
}

// writeRoot writes the name space as it is when nothing else is installed; PCP's
// scripts check the agent's names by it.
func (a *Agent) writeRoot(w io.Writer, t *table) error {
	tree, err := a.tree(t)
	if err != nil {
		return err
	}
	fmt.Fprintf(w, "#ifndef %s\n#define %s\t%d\n#endif\n\n", a.symbol(), a.symbol(), a.Domain)
	return pmns.Write(w, tree, pmns.WriteOptions{Symbol: a.symbol(), Domain: a.Domain})
}

// writeHelp writes the help text in the form of newhelp(1), for PCP's tools and for
// people; the agent itself answers from memory.
func (a *Agent) writeHelp(w io.Writer, t *table) error {
	var entries []help.Entry
	for _, d := range t.domains() {
		one, long := d.help()
		id := pcp.MakeInDom(t.domain, d.serial())
		entries = append(entries, help.Entry{Kind: help.InDom, InDom: id, OneLine: one, Text: long})
	}
	for _, m := range t.list() {
		entries = append(entries, help.Entry{Kind: help.Name, Name: m.Name, OneLine: m.OneLine, Text: m.Help})
	}
	return help.Write(w, entries, help.WriteOptions{Symbol: a.symbol(), Domain: a.Domain})
}

// refuseTaken is the part of Install that looks for another agent with the same domain
// number. PCP's own script would take that agent out of pmcd.
const refuseTaken = `other=$(awk -v n="$iam" -v d="$domain" '/^[ \t]*\[/ { exit }
	/^[^#]/ && $2 == d && $1 != n { print $1; exit }' "$PCP_PMCDCONF_PATH")
[ -z "$other" ] || {
	echo "$iam: the agent $other in $PCP_PMCDCONF_PATH has the domain number $domain: remove that agent or choose another number" >&2
	status=1
	exit
}
`

func (a *Agent) writeScript(w io.Writer, tops []string, action string) error {
	what := "Install the agent " + a.Name + " into the running pmcd"
	if action == "pmdaRemove" {
		what = "Remove the agent " + a.Name + " from the running pmcd"
	}
	names := tops
	if len(tops) == 1 && tops[0] == a.Name {
		names = nil
	}
	var b strings.Builder
	fmt.Fprintf(&b, "#!/bin/sh\n# %s. Written by pmda%s --write.\n", what, a.Name)
	b.WriteString("# shellcheck disable=SC1091,SC2034,SC2154 # PCP's script reads what is set here, and sets what is read\n")
	b.WriteString(". \"${PCP_DIR:-}/etc/pcp.env\"\n. \"$PCP_SHARE_DIR/lib/pmdaproc.sh\"\n\n")
	fmt.Fprintf(&b, "iam=%s\n", a.Name)
	if names != nil {
		fmt.Fprintf(&b, "pmns_name=\"%s\"\n", strings.Join(names, " "))
	}
	if a.Warm != nil && a.Anonymous && action == "pmdaInstall" {
		b.WriteString("ipc_prot=\"binary notready\"\n")
	}
	if action == "pmdaInstall" {
		b.WriteString("# Where systemd is not running, pmcd is started by its own script.\n" +
			"[ -d /run/systemd/system ] || PCPQA_SYSTEMD=no\nexport PCPQA_SYSTEMD\n")
	}
	b.WriteString("\npmdaSetup\n")
	if action == "pmdaInstall" {
		b.WriteString(refuseTaken)
	}
	fmt.Fprintf(&b, "%s\nexit\n", action)
	_, err := io.WriteString(w, b.String())
	return err
}
