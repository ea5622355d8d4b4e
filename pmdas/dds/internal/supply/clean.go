package supply

import (
	"math/rand/v2"
	"os"
	"time"

	"github.com/pcp-rtime/rtime/internal/ddsseg/layout"
	"github.com/pcp-rtime/rtime/pmdas/internal/kit/segdir"
)

// Each time that the directory is listed, the agent looks for files that no process uses. It
// removes them little by little.
const (
	strayAge     = 10 * time.Minute // must have been unchanged for so long
	StraysAtOnce = 1000             // removed in a second
)

// nobody stands for the user in lines that no single user has caused.
const nobody = ^uint32(0)

// maxStrays bounds how many files are noted. If there are more, chance decides which, so that
// each is noted at some time.
const maxStrays = 10000

// stray notes a file that no process may hold, because it is not a supplier's.
func (p *Supply) stray(name string) {
	switch {
	case p.Trying:
	case len(p.strays) < maxStrays:
		p.strays = append(p.strays, name)
	default:
		p.strays[rand.IntN(maxStrays)] = name
	}
}

// findClaims notes what is in the folder of claims, once in a while. These entries are
// cleaned first, because they may be in the way of a user's suppliers.
func (p *Supply) findClaims() {
	if p.Trying || len(p.claims) > 0 || !p.claimsOn && p.Now().Sub(p.claimsAt) < ListEvery {
		return
	}
	if !p.claimsOn {
		p.claimsAt = p.Now()
	}
	var last bool
	p.claims, last = p.dir.Claims(NamesAtOnce)
	p.claimsOn = !last
}

// clean removes some of the strays.
func (p *Supply) clean() {
	if p.dir == nil {
		p.strays, p.claims, p.claimsOn = nil, nil, false
		return
	}
	p.findClaims()
	removed, first := uint64(0), ""
	for checked := 0; removed < StraysAtOnce && checked < 10*StraysAtOnce && len(p.claims)+len(p.strays) > 0; checked++ {
		from := &p.claims
		if len(p.claims) == 0 {
			from = &p.strays
		}
		name := (*from)[0]
		if *from = (*from)[1:]; p.suppliers[name] != nil {
			continue
		}
		gone, err := p.dir.RemoveStray(name, p.Now().Add(-strayAge))
		if err != nil {
			p.Complain(p.dir.Look(name).UID, "%v", err)
		}
		if gone {
			if removed++; removed == 1 {
				first = name
			}
			delete(p.refused, name)
		}
	}
	if p.Counts.Removed += removed; removed > 0 {
		p.Complain(nobody, "removed %d files that nobody holds, the first of them %s", removed, p.dir.Path(first))
	}
}

// mend makes the missing parts of the directory, as far as the agent may. It cannot do so
// below a folder of root, because the agent is not root any more.
func (p *Supply) mend() {
	if p.Trying {
		return
	}
	text := ""
	if err := p.Dir.Make(os.Geteuid(), os.Getegid()); err != nil {
		text = err.Error()
	}
	if text != "" && text != p.mendError {
		p.Log("%s", text)
	}
	p.mendError = text
}

// Directory returns the directory that suppliers and agent use. Its modes let every user add
// files, and let nobody list or remove the files of others.
func Directory() segdir.Dir {
	d := segdir.Dir{Path: os.Getenv(layout.DirEnv), Mode: layout.DirMode,
		Inside: []segdir.Sub{{Name: layout.ClaimsDir, Mode: layout.ClaimsMode}, {Name: layout.NoticeDir, Mode: layout.NoticeMode}}}
	if d.Path == "" {
		d.Path = layout.DefaultDir
	}
	return d
}
