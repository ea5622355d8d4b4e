package pmda

import (
	"bytes"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"

	"github.com/pcp-rtime/rtime/pcp"
	"github.com/spf13/pflag"
)

// WriteDrafts writes into dir what an agent may bring besides the files of WriteFiles, as
// drafts to be edited: a group for pmlogconf(1) in pmlogconf/NAME/NAME, a report for
// pmrep(1) in pmrep/NAME.conf, and a man page pmdaNAME.1. A folder pmlogconf or pmrep that
// is there, or the page, stays as it is.
func WriteDrafts(a *Agent, dir string) error {
	t, err := build(a, a.Domain)
	if err != nil {
		return err
	}
	for _, d := range []struct {
		top, path string
		write     func(io.Writer)
	}{
		{"pmlogconf", "pmlogconf/" + a.Name + "/" + a.Name, func(w io.Writer) { a.draftLog(w, t) }},
		{"pmrep", "pmrep/" + a.Name + ".conf", func(w io.Writer) { a.draftReport(w, t) }},
		{"pmda" + a.Name + ".1", "pmda" + a.Name + ".1", func(w io.Writer) { a.draftManual(w, t) }},
	} {
		if _, err := os.Lstat(filepath.Join(dir, d.top)); err == nil {
			continue
		}
		var b bytes.Buffer
		d.write(&b)
		path := filepath.Join(dir, d.path)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			return err
		}
		if err := replace(path, b.Bytes(), 0o644); err != nil {
			return err
		}
	}
	return nil
}

// loggable are the metrics of the table whose values are worth recording.
func (a *Agent) loggable(t *table) []*metric {
	var list []*metric
	for _, m := range t.list() {
		if m.desc.Type >= pcp.Type32 && m.desc.Type <= pcp.TypeString && !a.dynamic(m.Name) {
			list = append(list, m)
		}
	}
	return list
}

func (a *Agent) draftLog(w io.Writer, t *table) {
	list := a.loggable(t)
	probe := ""
	if len(list) > 0 {
		probe = list[0].Name
	} else if len(a.Roots) > 0 {
		probe = a.Roots[0]
	}
	fmt.Fprintf(w, "#pmlogconf-setup 2.0\nident\tmetrics of the agent %s\nprobe\t%s exists ? include : exclude\n\n", a.Name, probe)
	for _, m := range list {
		fmt.Fprintf(w, "\t%s\n", m.Name)
	}
	for _, r := range a.Roots {
		fmt.Fprintf(w, "\t%s\n", r)
	}
}

func (a *Agent) draftReport(w io.Writer, t *table) {
	fmt.Fprintf(w, "#\n# pmrep(1) configuration file for the agent %s - see pmrep.conf(5)\n#\n#\tpmrep :%s\n#\n\n", a.Name, a.Name)
	fmt.Fprintf(w, "[%s]\nheader = yes\nunitinfo = yes\nglobals = no\ntimestamp = yes\n", a.Name)
	for _, m := range a.loggable(t) {
		if m.desc.Type == pcp.TypeString {
			continue
		}
		label := m.Name[strings.LastIndexByte(m.Name, '.')+1:]
		fmt.Fprintf(w, "%s = %s,,,,%d\n", m.Name, label, max(8, len(label)))
	}
}

func (a *Agent) draftManual(w io.Writer, t *table) {
	page := strings.ToUpper("pmda" + a.Name)
	fmt.Fprintf(w, ".TH %s 1 \"PCP\" \"Performance Co-Pilot\"\n", roff(page))
	fmt.Fprintf(w, ".SH NAME\n%s \\- performance metrics domain agent (PMDA) %s\n", roff("pmda"+a.Name), roff(a.Name))
	fmt.Fprintf(w, ".SH SYNOPSIS\n.B $PCP_PMDAS_DIR/%s/pmda%s\n[\\fIoptions\\fR]\n", roff(a.Name), roff(a.Name))
	fmt.Fprintf(w, ".SH DESCRIPTION\n.B pmda%s\nis an agent of Performance Co-Pilot, with the domain number %d. It exports\n", roff(a.Name), a.Domain)
	for _, m := range t.list() {
		if a.dynamic(m.Name) {
			continue
		}
		fmt.Fprintf(w, ".TP\n.B %s\n%s.\n", roff(m.Name), roff(sentenceCase(m.OneLine)))
	}
	for _, r := range a.Roots {
		fmt.Fprintf(w, ".TP\n.B %s\nThe names below come and go while the agent runs.\n", roff(r+".*"))
	}
	fmt.Fprint(w, ".SH OPTIONS\n")
	c := new(command)
	c.declare(a).VisitAll(func(o *pflag.Flag) {
		name := "\\-\\-" + roff(o.Name)
		if o.Shorthand != "" {
			name = "\\-" + roff(o.Shorthand) + ", " + name
		}
		value, usage := pflag.UnquoteUsage(o)
		if value != "" {
			value = " " + roff(value)
		}
		fmt.Fprintf(w, ".TP\n\\fB%s\\fR\\fI%s\\fR\n%s.\n", name, value, roff(sentenceCase(usage)))
	})
	fmt.Fprintf(w, ".SH INSTALLATION\nAs root:\n.sp\n.in +4n\n.nf\n# cd $PCP_PMDAS_DIR/%s\n# ./Install </dev/null\n.fi\n.in\n", roff(a.Name))
	fmt.Fprint(w, ".PP\n.I ./Remove\nundoes it.\n")
	fmt.Fprintf(w, ".SH FILES\n.TP\n.I $PCP_LOG_DIR/pmcd/%s.log\nThe log.\n", roff(a.Name))
	fmt.Fprint(w, ".SH SEE ALSO\n.BR PCPIntro (1),\n.BR pmcd (1),\n.BR pminfo (1)\n")
}

// roff escapes what has a meaning in roff.
func roff(s string) string {
	s = strings.NewReplacer("\\", "\\e", "-", "\\-").Replace(s)
	if strings.HasPrefix(s, ".") || strings.HasPrefix(s, "'") {
		s = "\\&" + s
	}
	return s
}

// sentenceCase makes the first letter a capital.
func sentenceCase(s string) string { return strings.TrimSuffix(sentence(s), ".") }
