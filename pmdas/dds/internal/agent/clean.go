package agent

import (
	"math/rand/v2"
	"time"
)

// What nobody has a use for is looked for each time that the directory is listed, and
// dealt with little by little.
const (
	strayAge     = 10 * time.Minute // unchanged for so long
	straysAtOnce = 100              // in a second
)

// maxStrays bounds how many files are noted. Where there are more, chance decides which,
// so that none is passed over for ever.
const maxStrays = 10000

// stray notes a file that may be nobody's: one that is no supplier.
func (a *Agent) stray(name string) {
	switch {
	case a.trying:
	case len(a.strays) < maxStrays:
		a.strays = append(a.strays, name)
	default:
		a.strays[rand.IntN(maxStrays)] = name
	}
}

// findClaims notes what is in the folder of claims, once in a while. That is dealt with
// first: it may be in the way of a user's suppliers.
func (a *Agent) findClaims() {
	if a.trying || len(a.claims) > 0 || !a.claimsOn && a.now().Sub(a.claimsAt) < listEvery {
		return
	}
	if !a.claimsOn {
		a.claimsAt = a.now()
	}
	var last bool
	a.claims, last = a.dir.Claims(namesAtOnce)
	a.claimsOn = !last
}

// clean removes some of the strays.
func (a *Agent) clean() {
	if a.dir == nil {
		a.strays, a.claims, a.claimsOn = nil, nil, false
		return
	}
	a.findClaims()
	removed, first := uint64(0), ""
	for checked := 0; removed < straysAtOnce && checked < 10*straysAtOnce && len(a.claims)+len(a.strays) > 0; checked++ {
		from := &a.claims
		if len(a.claims) == 0 {
			from = &a.strays
		}
		name := (*from)[0]
		if *from = (*from)[1:]; a.suppliers[name] != nil {
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
