package writer

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"io/fs"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strconv"
	"sync/atomic"
	"unsafe"

	"github.com/pcp-rtime/rtime/internal/armseg/layout"
)

// Where the parts of a file of names lie. A process that joins a file checks that they lie
// there.
const (
	namesAppHash  = layout.NamesLen
	namesTranHash = namesAppHash + 4*layout.AppHashLen
	namesApps     = namesTranHash + 4*layout.TranHashLen
	namesTrans    = namesApps + layout.AppMax*layout.AppLen
	namesSize     = namesTrans + layout.TranMax*layout.TranLen

	namesStep = 64 << 10 // records are allocated in steps of this many bytes
)

// names is a user's file of names.
type names struct {
	f    *segFile
	base unsafe.Pointer

	// Copies of fields of the header, in which other processes can write.
	nonce      uint64
	uid        uint32
	addrFormat uint16
	address    []byte // of this host, as correlators carry it

	// zeroed says that the file system cannot allocate. The process that made the file
	// has then written all of it.
	zeroed atomic.Bool
}

// openNames opens this user's file of names in dir, or makes it. Any user can put something
// else in its place that the process cannot use. Then the process gets a file of names of
// its own.
func openNames(dir string) (*names, error) {
	path := filepath.Join(dir, strconv.Itoa(os.Geteuid())+layout.NamesSuffix)
	n, err := joinNames(path)
	if errors.Is(err, fs.ErrNotExist) {
		if err = makeNames(dir, filepath.Base(path)); err == nil || errors.Is(err, fs.ErrExist) {
			n, err = joinNames(path) // made by this process or by one that was quicker
		}
	}
	if err == nil {
		return n, nil
	}
	if _, there := os.Lstat(path); there != nil {
		return nil, err
	}
	nonce := rand.Uint64()
	path = filepath.Join(dir, layout.AsidePath(uint32(os.Geteuid()), nonce))
	if err := makeNamesOf(dir, filepath.Base(path), nonce); err != nil {
		return nil, err
	}
	return joinNames(path)
}

func joinNames(path string) (*names, error) {
	f, err := openOwn(path)
	if err != nil {
		return nil, err
	}
	if f.size < namesSize {
		f.close()
		return nil, fmt.Errorf("%s has %d bytes in place of %d", path, f.size, namesSize)
	}
	if err := f.mapAll(namesSize, namesSize); err != nil {
		f.close()
		return nil, err
	}
	n := &names{f: f, base: f.base}
	if err := n.check(); err != nil {
		f.close()
		return nil, err
	}
	n.copyHeader()
	return n, nil
}

func (n *names) copyHeader() {
	n.nonce, n.uid = get64(n.base, layout.NamesNonce), uint32(os.Geteuid())
	word := bytesAt(n.base, layout.NamesAddrFormat, 4)
	n.addrFormat = binary.NativeEndian.Uint16(word)
	length := binary.NativeEndian.Uint16(word[2:])
	if length <= 24 {
		n.address = bytes.Clone(bytesAt(n.base, layout.NamesAddress, uint64(length)))
	}
}

// makeNames makes an empty file of names and publishes it.
func makeNames(dir, name string) error { return makeNamesOf(dir, name, rand.Uint64()) }

func makeNamesOf(dir, name string, nonce uint64) error {
	f, err := makeFile(dir)
	if err != nil {
		return err
	}
	err = f.lengthen(namesSize)
	if err == nil {
		err = f.reserve(0, namesApps)
		if unsupported(err) {
			err = f.zero(0, namesSize)
		}
	}
	if err == nil {
		err = f.mapAll(namesSize, namesSize)
	}
	if err == nil {
		fillNames(f.base, nonce)
		err = f.publish(name)
	}
	if err != nil {
		f.remove()
		return err
	}
	f.close()
	return nil
}

// fillNames writes the header.
func fillNames(base unsafe.Pointer, nonce uint64) {
	copy(bytesAt(base, layout.NamesMagic, 8), layout.MagicNames)
	put32(base, layout.NamesOrder, layout.ByteOrder)
	put16(base, layout.NamesMajor, layout.Major)
	put16(base, layout.NamesMinor, layout.Minor)
	put64(base, layout.NamesNonce, nonce)
	put32(base, layout.NamesUID, uint32(os.Geteuid()))
	put32(base, layout.NamesLanguage, layout.LanguageGo)
	format, address := hostAddress()
	put16(base, layout.NamesAddrFormat, format)
	put16(base, layout.NamesAddrLen, uint16(len(address)))
	copy(bytesAt(base, layout.NamesAddress, 24), address)
	for _, w := range namesPlan {
		if w.size == 8 {
			put64(base, w.off, w.want)
		} else {
			put32(base, w.off, uint32(w.want))
		}
	}
}

// namesPlan lists the words of the header that are the same in every file.
var namesPlan = []struct {
	off, size, want uint64
}{
	{layout.NamesHeaderLen, 4, layout.NamesLen}, {layout.NamesAppLen, 4, layout.AppLen}, {layout.NamesTranLen, 4, layout.TranLen},
	{layout.NamesAppMax, 4, layout.AppMax}, {layout.NamesTranMax, 4, layout.TranMax},
	{layout.NamesAppHashLen, 4, layout.AppHashLen}, {layout.NamesTranHashLen, 4, layout.TranHashLen},
	{layout.NamesAppHashOff, 8, namesAppHash}, {layout.NamesTranHashOff, 8, namesTranHash},
	{layout.NamesState, 4, layout.StateReady},
	{layout.NamesAppsOff, 8, namesApps}, {layout.NamesTransOff, 8, namesTrans}, {layout.NamesSize, 8, namesSize},
}

// check compares the header of a file that another process made with the one that this
// process would make.
func (n *names) check() error {
	if string(bytesAt(n.base, layout.NamesMagic, 8)) != layout.MagicNames || get32(n.base, layout.NamesOrder) != layout.ByteOrder ||
		*(*uint16)(unsafe.Add(n.base, layout.NamesMajor)) != layout.Major {
		return fmt.Errorf("%s is no file of names of version %d", n.f.path, layout.Major)
	}
	for _, w := range namesPlan {
		have := uint64(get32(n.base, w.off))
		if w.size == 8 {
			have = get64(n.base, w.off)
		}
		if have != w.want {
			return fmt.Errorf("%s: the word at %d is %d in place of %d", n.f.path, w.off, have, w.want)
		}
	}
	if uid := get32(n.base, layout.NamesUID); uid != uint32(os.Geteuid()) {
		return fmt.Errorf("%s is of user %d", n.f.path, uid)
	}
	return nil
}

// back makes sure that size bytes at off are allocated.
func (n *names) back(off, size uint64) error {
	if n.zeroed.Load() {
		return nil
	}
	start := off / namesStep * namesStep
	end := min((off+size+namesStep-1)/namesStep*namesStep, namesSize)
	err := n.f.reserve(start, end-start)
	if unsupported(err) {
		n.zeroed.Store(true)
		return nil
	}
	return err
}

// tranWords points to the words of a transaction and of its application that a start looks
// at.
type tranWords struct {
	use   *uint64
	epoch *uint32
}

func (n *names) words(app, tran uint32) tranWords {
	at := n.tranAt(tran)
	return tranWords{
		use:   word64(n.base, n.appAt(app)+layout.AppUse),
		epoch: word32(n.base, at+layout.TranEpoch),
	}
}

func (n *names) appAt(id uint32) uint64  { return namesApps + uint64(id-1)*layout.AppLen }
func (n *names) tranAt(id uint32) uint64 { return namesTrans + uint64(id-1)*layout.TranLen }
