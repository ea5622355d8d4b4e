package agent

import (
	"time"

	"github.com/pcp-rtime/rtime/pmdas/dds/internal/segdir"
)

// What nobody has a use for is looked for each time that the directory is listed, and
// dealt with little by little.
const (
	strayAge     = 10 * time.Minute // unchanged for so long
	straysAtOnce = 100              // in a second
)

// refusal is why a file is not taken, and what it was then.
type refusal struct {
	why  string
	mark segdir.Mark
}

// findStrays notes all files that may be nobody's: those that are no suppliers.
func (a *Agent) findStrays(segments, others []string) {
	if a.trying || len(a.strays) > 0 {
		return
	}
	a.strays = append(a.dir.Claims(), others...)
	for _, name := range segments {
		if a.suppliers[name] == nil {
			a.strays = append(a.strays, name)
		}
	}
}

// clean removes some of the strays.
func (a *Agent) clean() {
	if a.dir == nil {
		a.strays = nil
		return
	}
	removed, first := uint64(0), ""
	for n := 0; n < straysAtOnce && len(a.strays) > 0; n++ {
		name := a.strays[0]
		if a.strays = a.strays[1:]; a.suppliers[name] != nil {
			continue
		}
		gone, err := a.dir.RemoveStray(name, a.now().Add(-strayAge))
		if err != nil {
			a.complain("%v", err)
		}
		if gone {
			if removed++; removed == 1 {
				first = name
			}
			delete(a.refused, name)
		}
	}
	if a.counts.removed += removed; removed > 0 {
		a.complain("removed %d files that nobody holds, the first of them %s", removed, a.dir.Path(first))
	}
}

// mend makes what is missing of the directory, as far as the agent may: below a folder
// of root's it cannot, since it is not root any more.
func (a *Agent) mend() {
	if a.trying {
		return
	}
	text := ""
	if err := makeDir(a.dirPath); err != nil {
		text = err.Error()
	}
	if text != "" && text != a.mendError {
		a.server.Logf("%s", text)
	}
	a.mendError = text
}
