//go:build linux

package readertest

import (
	"strconv"
	"testing"

	"github.com/pcp-rtime/rtime/internal/armseg/layout"
)

// Names is a user's file of names.
type Names struct {
	*File
	UID   uint32
	Nonce uint64
	apps  uint32
	trans uint32
}

// Where the records are.
const (
	AppsOff  = layout.NamesLen + 4*(layout.AppHashLen+layout.TranHashLen)
	TransOff = AppsOff + layout.AppMax*layout.AppLen
	namesLen = TransOff + layout.TranMax*layout.TranLen
)

// NewNames publishes a user's empty file of names.
func NewNames(t testing.TB, dir string, uid uint32, nonce uint64) *Names {
	t.Helper()
	n := &Names{File: create(t, dir, strconv.Itoa(int(uid))+layout.NamesSuffix, uid, namesLen), UID: uid, Nonce: nonce}
	n.Text(layout.NamesMagic, layout.MagicNames)
	for off, v := range map[uint64]uint32{
		layout.NamesOrder: layout.ByteOrder, layout.NamesMajor: layout.Major, layout.NamesHeaderLen: layout.NamesLen,
		layout.NamesAppLen: layout.AppLen, layout.NamesTranLen: layout.TranLen, layout.NamesState: layout.StateReady,
		layout.NamesUID: uid, layout.NamesAppMax: layout.AppMax, layout.NamesTranMax: layout.TranMax,
		layout.NamesAppHashLen: layout.AppHashLen, layout.NamesTranHashLen: layout.TranHashLen, layout.NamesLanguage: layout.LanguageC,
	} {
		n.Put32(off, v)
	}
	n.Put16(layout.NamesMajor, layout.Major)
	n.Put16(layout.NamesMinor, 0)
	n.Put16(layout.NamesAddrFormat, 2)
	n.Put16(layout.NamesAddrLen, 6)
	copy(n.B[layout.NamesAddress:], []byte{192, 0, 2, 1, 0xac, 0xbc})
	for off, v := range map[uint64]uint64{
		layout.NamesNonce: nonce, layout.NamesAppHashOff: layout.NamesLen,
		layout.NamesTranHashOff: layout.NamesLen + 4*layout.AppHashLen,
		layout.NamesAppsOff:     AppsOff, layout.NamesTransOff: TransOff, layout.NamesSize: namesLen,
	} {
		n.Put64(off, v)
	}
	n.publish()
	return n
}

// AppOff returns where an application's record is.
func AppOff(id uint32) uint64 { return AppsOff + uint64(id-1)*layout.AppLen }

// TranOff returns where a transaction's record is.
func TranOff(id uint32) uint64 { return TransOff + uint64(id-1)*layout.TranLen }

// App adds an application and returns its id.
func (n *Names) App(key string) uint32 {
	n.apps++
	off := AppOff(n.apps)
	n.Text(off+layout.AppKey, key)
	n.Text(off+layout.AppDescr, "the application "+key)
	n.Put64(off+layout.AppUse, 1<<32)
	n.Put32(off+layout.AppState, layout.RecordPublished)
	n.Put32(layout.NamesAppNext, n.apps)
	return n.apps
}

// Tran adds a transaction and returns its id.
func (n *Names) Tran(app uint32, key string) uint32 {
	n.trans++
	off := TranOff(n.trans)
	n.Put32(off+layout.TranApp, app)
	n.Put32(off+layout.TranEpoch, 1)
	n.Text(off+layout.TranKey, key)
	n.Text(off+layout.TranDescr, "the transaction "+key)
	n.Put32(off+layout.TranState, layout.RecordPublished)
	n.Put32(layout.NamesTranNext, n.trans)
	return n.trans
}

// Describe says what a transaction's i-th metric is, from 0 on; 6 is the string.
func (n *Names) Describe(tran uint32, i int, typ uint32, name string) {
	off := TranOff(tran)
	n.Put32(off+layout.TranDescs+uint64(i)*layout.DescLen, typ)
	n.Text(off+layout.TranDescs+uint64(i)*layout.DescLen+layout.DescName, name)
	n.Put32(off+layout.TranMetaFlags, n.Get32(off+layout.TranMetaFlags)|0x80>>i)
	n.Put32(off+layout.TranMeta, layout.RecordPublished)
}
