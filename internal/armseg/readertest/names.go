//go:build linux

package readertest

import (
	"strconv"
	"testing"

	"github.com/pcp-rtime/rtime/internal/armseg"
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
	AppsOff  = armseg.NamesLen + 4*(armseg.AppHashLen+armseg.TranHashLen)
	TransOff = AppsOff + armseg.AppMax*armseg.AppLen
	namesLen = TransOff + armseg.TranMax*armseg.TranLen
)

// NewNames publishes a user's empty file of names.
func NewNames(t testing.TB, dir string, uid uint32, nonce uint64) *Names {
	t.Helper()
	n := &Names{File: create(t, dir, strconv.Itoa(int(uid))+armseg.NamesSuffix, uid, namesLen), UID: uid, Nonce: nonce}
	n.Text(armseg.NamesMagic, armseg.MagicNames)
	for off, v := range map[uint64]uint32{
		armseg.NamesOrder: armseg.ByteOrder, armseg.NamesMajor: armseg.Major, armseg.NamesHeaderLen: armseg.NamesLen,
		armseg.NamesAppLen: armseg.AppLen, armseg.NamesTranLen: armseg.TranLen, armseg.NamesState: armseg.StateReady,
		armseg.NamesUID: uid, armseg.NamesAppMax: armseg.AppMax, armseg.NamesTranMax: armseg.TranMax,
		armseg.NamesAppHashLen: armseg.AppHashLen, armseg.NamesTranHashLen: armseg.TranHashLen, armseg.NamesLanguage: armseg.LanguageC,
	} {
		n.Put32(off, v)
	}
	n.Put16(armseg.NamesMajor, armseg.Major)
	n.Put16(armseg.NamesMinor, 0)
	n.Put16(armseg.NamesAddrFormat, 2)
	n.Put16(armseg.NamesAddrLen, 6)
	copy(n.B[armseg.NamesAddress:], []byte{192, 0, 2, 1, 0xac, 0xbc})
	for off, v := range map[uint64]uint64{
		armseg.NamesNonce: nonce, armseg.NamesAppHashOff: armseg.NamesLen,
		armseg.NamesTranHashOff: armseg.NamesLen + 4*armseg.AppHashLen,
		armseg.NamesAppsOff:     AppsOff, armseg.NamesTransOff: TransOff, armseg.NamesSize: namesLen,
	} {
		n.Put64(off, v)
	}
	n.publish()
	return n
}

// AppOff returns where an application's record is.
func AppOff(id uint32) uint64 { return AppsOff + uint64(id-1)*armseg.AppLen }

// TranOff returns where a transaction's record is.
func TranOff(id uint32) uint64 { return TransOff + uint64(id-1)*armseg.TranLen }

// App adds an application and returns its id.
func (n *Names) App(key string) uint32 {
	n.apps++
	off := AppOff(n.apps)
	n.Text(off+armseg.AppKey, key)
	n.Text(off+armseg.AppDescr, "the application "+key)
	n.Put64(off+armseg.AppUse, 1<<32)
	n.Put32(off+armseg.AppState, armseg.RecordPublished)
	n.Put32(armseg.NamesAppNext, n.apps)
	return n.apps
}

// Tran adds a transaction and returns its id.
func (n *Names) Tran(app uint32, key string) uint32 {
	n.trans++
	off := TranOff(n.trans)
	n.Put32(off+armseg.TranApp, app)
	n.Put32(off+armseg.TranEpoch, 1)
	n.Text(off+armseg.TranKey, key)
	n.Text(off+armseg.TranDescr, "the transaction "+key)
	n.Put32(off+armseg.TranState, armseg.RecordPublished)
	n.Put32(armseg.NamesTranNext, n.trans)
	return n.trans
}

// Describe says what a transaction's i-th metric is, from 0 on; 6 is the string.
func (n *Names) Describe(tran uint32, i int, typ uint32, name string) {
	off := TranOff(tran)
	n.Put32(off+armseg.TranDescs+uint64(i)*armseg.DescLen, typ)
	n.Text(off+armseg.TranDescs+uint64(i)*armseg.DescLen+armseg.DescName, name)
	n.Put32(off+armseg.TranMetaFlags, n.Get32(off+armseg.TranMetaFlags)|0x80>>i)
	n.Put32(off+armseg.TranMeta, armseg.RecordPublished)
}
