//go:build linux

package reader

import (
	"bytes"
	"fmt"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/pcp-rtime/rtime/internal/armseg/layout"
	"github.com/pcp-rtime/rtime/internal/shm"
)

// maxNames bounds the size of a file of names: twice what the layout makes it.
const maxNames = 2 * (layout.NamesLen + layout.AppHashLen*4 + layout.TranHashLen*4 + layout.AppMax*layout.AppLen + layout.TranMax*layout.TranLen)

// Names reads a user's file of names. What it returns is copied and checked, and stays valid.
// One goroutine at a time may call its methods. If a method returns an error, the file was cut
// off and Names can be used no longer.
type Names struct {
	UID        uint32
	Nonce      uint64
	Language   uint32
	AddrFormat uint16
	Address    []byte // this host's address, as the user's programs put it into correlators

	m     *shm.Map
	apps  recordTable
	trans recordTable
}

// recordTable is one of the two arrays of records. waiting holds the ids of records that were
// handed out and not yet published.
type recordTable struct {
	off, length uint64
	max, seen   uint32
	next        uint64 // offset of the number of records handed out, in the header
	state       uint64 // offset of the state, in a record
	waiting     []uint32
}

// App is a published application.
type App struct {
	Key   string // not empty; without blanks, control characters or slashes
	Descr string
	User  string
}

// Tran is a published transaction.
type Tran struct {
	App    uint32 // id of its application
	Key    string // not empty; without blanks or control characters
	Descr  string
	Detail string
}

// OpenNames opens and checks a user's file of names.
func OpenNames(path string, uid uint32) (*Names, error) {
	n := &Names{}
	var err error
	n.m, err = openFile(path, shm.Options{Min: layout.NamesLen, Max: maxNames}, uid, n.load)
	if err != nil {
		return nil, err
	}
	return n, nil
}

func (n *Names) load(m *shm.Map) error {
	h := make(record, layout.NamesLen)
	m.CopyWords(h, 0)
	if err := checkHeader(h, layout.MagicNames); err != nil {
		return err
	}
	n.apps = recordTable{off: h.u64(layout.NamesAppsOff), length: layout.AppLen, max: h.u32(layout.NamesAppMax), next: layout.NamesAppNext, state: layout.AppState}
	n.trans = recordTable{off: h.u64(layout.NamesTransOff), length: layout.TranLen, max: h.u32(layout.NamesTranMax), next: layout.NamesTranNext, state: layout.TranState}
	switch {
	case h.u32(layout.NamesHeaderLen) != layout.NamesLen || h.u32(layout.NamesAppLen) != layout.AppLen || h.u32(layout.NamesTranLen) != layout.TranLen:
		return badFormat("lengths of records %d, %d, %d", h.u32(layout.NamesHeaderLen), h.u32(layout.NamesAppLen), h.u32(layout.NamesTranLen))
	case n.apps.max > layout.AppMax || n.trans.max > layout.TranMax || !n.apps.fits(m) || !n.trans.fits(m):
		return badFormat("%d applications at %d, %d transactions at %d", n.apps.max, n.apps.off, n.trans.max, n.trans.off)
	case h.u32(layout.NamesState) != layout.StateReady:
		return ErrNotReady
	}
	n.UID, n.Nonce, n.Language = h.u32(layout.NamesUID), h.u64(layout.NamesNonce), h.u32(layout.NamesLanguage)
	n.AddrFormat = h.u16(layout.NamesAddrFormat)
	n.Address = h[layout.NamesAddress:][:min(h.u16(layout.NamesAddrLen), 24)]
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
	return t.off%8 == 0 && t.off >= layout.NamesLen && m.Has(t.off, uint64(t.max)*t.length)
}

// at returns where a record is. ids begin with 1.
func (t *recordTable) at(id uint32) (off uint64, ok bool) {
	return t.off + uint64(id-1)*t.length, id != 0 && id <= t.max
}

// each calls f for the records that were published since the last call, in the order of their
// ids. The caller guards m. each loads nothing from holes, because that would allocate memory
// and charge it to this process.
func (t *recordTable) each(m *shm.Map, f func(id uint32, off uint64)) {
	for n, _ := m.Load32(t.next); t.seen < min(n, t.max); {
		t.seen++
		t.waiting = append(t.waiting, t.seen)
	}
	kept := t.waiting[:0]
	var from, to uint64 // the latest part with data
	for _, id := range t.waiting {
		off, _ := t.at(id)
		word := off + t.state
		if word >= to {
			from, to = m.Data(word)
		}
		if word < from {
			kept = append(kept, id)
			continue
		}
		switch state, _ := m.Load32(word); state {
		case layout.RecordPublished:
			f(id, off)
		case layout.RecordDead:
		default:
			kept = append(kept, id)
		}
	}
	t.waiting = kept
}

// Update calls app and then tran for every record published since the last Update. A
// record whose name is empty is left out.
func (n *Names) Update(app func(id uint32, a *App), tran func(id uint32, t *Tran)) error {
	type numbered struct {
		id uint32
		Tran
	}
	var trans []numbered
	err := n.m.Guard(func() {
		// Transactions first: their applications were published before them.
		n.trans.each(n.m, func(id uint32, off uint64) {
			b := make(record, layout.TranDescs)
			n.m.CopyWords(b, off)
			trans = append(trans, numbered{id, Tran{App: b.u32(layout.TranApp), Key: readKey(b[layout.TranKey:][:32], 0),
				Descr: Text(b[layout.TranDescr:][:64]), Detail: Text(b[layout.TranDetail:][:128])}})
		})
		n.apps.each(n.m, func(id uint32, off uint64) {
			b := make(record, layout.AppLen)
			n.m.CopyWords(b, off)
			a := App{Key: readKey(b[layout.AppKey:][:32], '/'), Descr: Text(b[layout.AppDescr:][:64]), User: Text(b[layout.AppUser:][:128])}
			if a.Key != "" {
				app(id, &a)
			}
		})
	})
	for i := range trans {
		if trans[i].Key != "" {
			tran(trans[i].id, &trans[i].Tran)
		}
	}
	return err
}

// readKey returns a name as it stands in the names of instances. Blanks become underscores,
// although no writer leaves any in; so does the character other. Further characters that cannot
// be printed become question marks. A byte that is not UTF-8 becomes %XX, so that names which
// differ only in such bytes stay apart. A % that could be mistaken for such a byte becomes %25.
func readKey(b []byte, other rune) string {
	if i := bytes.IndexByte(b, 0); i >= 0 {
		b = b[:i]
	}
	var s strings.Builder
	for len(b) > 0 {
		r, n := utf8.DecodeRune(b)
		switch {
		case r == utf8.RuneError && n == 1:
			fmt.Fprintf(&s, "%%%02X", b[0])
		case r == '%' && len(b) > 2 && isHex(b[1]) && isHex(b[2]):
			s.WriteString("%25")
		case r == ' ' || r == other:
			s.WriteByte('_')
		case !unicode.IsPrint(r):
			s.WriteByte('?')
		default:
			s.WriteRune(r)
		}
		b = b[n:]
	}
	return s.String()
}

func isHex(b byte) bool { return b >= '0' && b <= '9' || b >= 'A' && b <= 'F' }

// Full reports whether the file has no room for another application, and for another
// transaction, as of the last Update.
func (n *Names) Full() (apps, trans bool) {
	return n.apps.seen >= n.apps.max, n.trans.seen >= n.trans.max
}

// Use returns the use word of an application. Its lower 32 bits count arm_init less arm_end. It
// is 0 if there is no such id.
func (n *Names) Use(id uint32) (use uint64, err error) {
	off, ok := n.apps.at(id)
	if ok {
		err = n.m.Guard(func() { use, _ = n.m.Load64(off + layout.AppUse) })
	}
	return use, err
}

// Is reports whether the file at path is this one.
func (n *Names) Is(path string) bool { return n.m.Is(path) }

// Bytes returns how many bytes are mapped.
func (n *Names) Bytes() int64 { return int64(n.m.Len()) }

// Close gives the file up.
func (n *Names) Close() error { return n.m.Close() }
