//go:build linux

package armseg

import (
	"github.com/pcp-rtime/rtime/internal/shm"
)

// maxNames bounds the size of a file of names: twice what the layout makes it.
const maxNames = 2 * (NamesLen + AppHashLen*4 + TranHashLen*4 + AppMax*AppLen + TranMax*TranLen)

// NamesReader reads a user's file of names. What it returns is copied, checked and good
// for ever. Its methods belong to one goroutine at a time. Errors of its methods mean
// that the file was cut off: it is of no use any more.
type NamesReader struct {
	UID        uint32
	Nonce      uint64
	Language   uint32
	AddrFormat uint16
	Address    []byte // of this host in correlators, as the user's programs put it

	m     *shm.Map
	apps  recordTable
	trans recordTable
}

// recordTable is one of the two arrays of records. Those that were handed out and not yet
// published are waiting.
type recordTable struct {
	off, length uint64
	max, seen   uint32
	next        uint64 // where the header counts
	state       uint64 // in a record
	waiting     []uint32
}

// App is a published application.
type App struct {
	Key   string // not empty; without blanks, control characters or slashes
	Descr string
	User  string
}

// TranInfo is a published transaction.
type TranInfo struct {
	App    uint32 // id of its application
	Key    string // not empty; without blanks or control characters
	Descr  string
	Detail string
}

// OpenNames opens and checks a user's file of names.
func OpenNames(path string, uid uint32) (*NamesReader, error) {
	n := &NamesReader{}
	var err error
	n.m, err = openFile(path, shm.Options{Min: NamesLen, Max: maxNames, Write: true}, uid, n.load)
	if err != nil {
		return nil, err
	}
	return n, nil
}

func (n *NamesReader) load(m *shm.Map) error {
	h := make(record, NamesLen)
	m.CopyWords(h, 0)
	if err := checkHeader(h, MagicNames); err != nil {
		return err
	}
	n.apps = recordTable{off: h.u64(NamesAppsOff), length: AppLen, max: h.u32(NamesAppMax), next: NamesAppNext, state: AppState}
	n.trans = recordTable{off: h.u64(NamesTransOff), length: TranLen, max: h.u32(NamesTranMax), next: NamesTranNext, state: TranState}
	switch {
	case h.u32(NamesHeaderLen) != NamesLen || h.u32(NamesAppLen) != AppLen || h.u32(NamesTranLen) != TranLen:
		return badFormat("lengths of records %d, %d, %d", h.u32(NamesHeaderLen), h.u32(NamesAppLen), h.u32(NamesTranLen))
	case n.apps.max > AppMax || n.trans.max > TranMax || !n.apps.fits(m) || !n.trans.fits(m):
		return badFormat("%d applications at %d, %d transactions at %d", n.apps.max, n.apps.off, n.trans.max, n.trans.off)
	case h.u32(NamesState) != StateReady && h.u32(NamesState) != StateRetired:
		return ErrNotReady
	}
	n.UID, n.Nonce, n.Language = h.u32(NamesUID), h.u64(NamesNonce), h.u32(NamesLanguage)
	n.AddrFormat = h.u16(NamesAddrFormat)
	n.Address = h[NamesAddress:][:min(h.u16(NamesAddrLen), 24)]
	return checkUser(m, n.UID)
}

// checkUser compares the user that a header names with the file's owner.
func checkUser(m *shm.Map, uid uint32) error {
	st, err := m.Stat()
	if err == nil && st.UID != uid {
		return ErrOwner
	}
	return err
}

func (t *recordTable) fits(m *shm.Map) bool {
	return t.off%8 == 0 && t.off >= NamesLen && m.Has(t.off, uint64(t.max)*t.length)
}

// at returns where a record is. ids begin with 1.
func (t *recordTable) at(id uint32) (off uint64, ok bool) {
	return t.off + uint64(id-1)*t.length, id != 0 && id <= t.max
}

// each calls f for records that were published since the last call, in the order of
// their ids; m is guarded.
func (t *recordTable) each(m *shm.Map, f func(id uint32, off uint64)) {
	for n, _ := m.Load32(t.next); t.seen < min(n, t.max); {
		t.seen++
		t.waiting = append(t.waiting, t.seen)
	}
	kept := t.waiting[:0]
	for _, id := range t.waiting {
		off, _ := t.at(id)
		switch state, _ := m.Load32(off + t.state); state {
		case RecordPublished:
			f(id, off)
		case RecordDead:
		default:
			kept = append(kept, id)
		}
	}
	t.waiting = kept
}

// Update calls app and then tran for every record published since the last Update. A
// record whose name is empty is left out.
func (n *NamesReader) Update(app func(id uint32, a *App), tran func(id uint32, t *TranInfo)) error {
	type numbered struct {
		id uint32
		TranInfo
	}
	var trans []numbered
	err := n.m.Guard(func() {
		// Transactions first: their applications were published before them.
		n.trans.each(n.m, func(id uint32, off uint64) {
			b := make(record, TranDescs)
			n.m.CopyWords(b, off)
			trans = append(trans, numbered{id, TranInfo{App: b.u32(TranApp), Key: readKey(b[TranKey:][:32], 0),
				Descr: Text(b[TranDescr:][:64]), Detail: Text(b[TranDetail:][:128])}})
		})
		n.apps.each(n.m, func(id uint32, off uint64) {
			b := make(record, AppLen)
			n.m.CopyWords(b, off)
			a := App{Key: readKey(b[AppKey:][:32], '/'), Descr: Text(b[AppDescr:][:64]), User: Text(b[AppUser:][:128])}
			if a.Key != "" {
				app(id, &a)
			}
		})
	})
	for i := range trans {
		if trans[i].Key != "" {
			tran(trans[i].id, &trans[i].TranInfo)
		}
	}
	return err
}

// readKey returns a name as it stands in the names of instances: blanks, which no writer
// leaves in, and one more character become underscores.
func readKey(b []byte, other rune) string {
	s := []rune(Text(b))
	for i, r := range s {
		if r == ' ' || r == other {
			s[i] = '_'
		}
	}
	return string(s)
}

// Use returns the use word of an application: the lower 32 bits count arm_init less
// arm_end. 0 for an id that is not there.
func (n *NamesReader) Use(id uint32) (use uint64, err error) {
	off, ok := n.apps.at(id)
	if ok {
		err = n.m.Guard(func() { use, _ = n.m.Load64(off + AppUse) })
	}
	return use, err
}

// Release takes by from the count of an application's users, never below zero.
func (n *NamesReader) Release(id, by uint32) error {
	off, ok := n.apps.at(id)
	if !ok {
		return nil
	}
	return n.m.Guard(func() {
		for range 1000 { // others change it, too; a hostile one may do so for ever
			use, _ := n.m.Load64(off + AppUse)
			left := use&^0xffffffff | uint64(uint32(use)-min(by, uint32(use)))
			if done, _ := n.m.CompareAndSwap64(off+AppUse, use, left); done {
				return
			}
		}
	})
}

// Unuse sets the count of an application's users to 0 if its use word is still use.
func (n *NamesReader) Unuse(id uint32, use uint64) error {
	off, ok := n.apps.at(id)
	if !ok {
		return nil
	}
	return n.m.Guard(func() { n.m.CompareAndSwap64(off+AppUse, use, use&^0xffffffff) })
}

// SetTrace asks that all instances of a transaction be traced, or no longer.
func (n *NamesReader) SetTrace(id uint32, on bool) error {
	off, ok := n.trans.at(id)
	if !ok {
		return nil
	}
	var v uint32
	if on {
		v = 1
	}
	return n.m.Guard(func() {
		if was, _ := n.m.Load32(off + TranTrace); was != v {
			n.m.Store32(off+TranTrace, v)
		}
	})
}

// State returns the state of the file.
func (n *NamesReader) State() (state uint32, err error) {
	err = n.m.Guard(func() { state, _ = n.m.Load32(NamesState) })
	return state, err
}

// SetState changes the state from one to another, and tells whether it was the one.
func (n *NamesReader) SetState(from, to uint32) (done bool, err error) {
	err = n.m.Guard(func() { done, _ = n.m.CompareAndSwap32(NamesState, from, to) })
	return done, err
}

// Is reports whether the file at path is this one.
func (n *NamesReader) Is(path string) bool { return n.m.Is(path) }

// Bytes returns how many bytes are mapped.
func (n *NamesReader) Bytes() int64 { return int64(n.m.Len()) }

// Close gives the file up.
func (n *NamesReader) Close() error { return n.m.Close() }
